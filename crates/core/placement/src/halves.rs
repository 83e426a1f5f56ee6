//! The two halves of a scheme at work: host half and device half, separate or in one object.

use anabranch_ssd::relocate::{Relocate, RelocationKind};

use crate::assign::Assign;

/// A scheme that is both halves: what it learns from writes, it uses for copies.
pub trait Whole: Assign + Relocate {}

impl<T: Assign + Relocate> Whole for T {}

/// The two halves of a scheme: separate, or in one object.
pub enum Halves {
    /// A host half with any relocation.
    Apart(Box<dyn Assign>, Box<dyn Relocate>),
    /// A scheme that is both halves.
    Whole(Box<dyn Whole>),
}

impl Halves {
    /// A host half; copies stay in their streams.
    pub fn host(assign: impl Assign + 'static) -> Halves {
        Halves::from(Box::new(assign) as Box<dyn Assign>)
    }

    /// A scheme that is both halves.
    pub fn whole(whole: impl Whole + 'static) -> Halves {
        Halves::Whole(Box::new(whole))
    }

    /// The host half alone, even of a scheme that is both.
    pub fn into_assign(self) -> Box<dyn Assign> {
        match self {
            Halves::Apart(assign, _) => assign,
            Halves::Whole(whole) => whole,
        }
    }

    /// The host half, to be asked what it has learned.
    pub fn assign(&self) -> &dyn Assign {
        match self {
            Halves::Apart(assign, _) => &**assign,
            Halves::Whole(whole) => &**whole,
        }
    }

    /// The host half, to be asked where writes go.
    pub fn assign_mut(&mut self) -> &mut dyn Assign {
        match self {
            Halves::Apart(assign, _) => &mut **assign,
            Halves::Whole(whole) => &mut **whole,
        }
    }

    /// The device half.
    pub fn relocation(&self) -> &dyn Relocate {
        match self {
            Halves::Apart(_, relocation) => &**relocation,
            Halves::Whole(whole) => &**whole,
        }
    }

    /// The device half, to be handed to a device's calls.
    #[inline]
    pub fn relocation_mut(&mut self) -> &mut dyn Relocate {
        match self {
            Halves::Apart(_, relocation) => &mut **relocation,
            Halves::Whole(whole) => &mut **whole,
        }
    }
}

impl From<Box<dyn Assign>> for Halves {
    /// A host half; copies stay in their streams.
    fn from(assign: Box<dyn Assign>) -> Halves {
        Halves::Apart(assign, Box::new(()))
    }
}

/// Relocation of the copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceHalf {
    /// One of the device's relocations decides.
    Relocation(RelocationKind),
    /// The scheme itself decides.
    Own,
}
