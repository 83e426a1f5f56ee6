//! What a scheme's file gives to the catalogue.

use std::{fmt, sync::Arc};

use anabranch_ssd::{
    Config,
    relocate::{Relocate, RelocationKind},
    victims::VictimRule,
};

use crate::{assign::Assign, future::Future, geometry::HostGeometry, parameter::Parameter};

/// Both halves of a scheme in one: what writing learned, copying knows.
pub trait Whole: Assign + Relocate {}

impl<T: Assign + Relocate> Whole for T {}

/// What a host's half is at work: that alone, or a scheme that does the device's half as well.
pub enum Host {
    /// It leaves copies to a relocation.
    Alone(Box<dyn Assign>),
    /// It can decide about copies too, or leave them to a relocation.
    Whole(Box<dyn Whole>),
}

impl Host {
    /// A host's half that leaves copies to a relocation.
    pub fn alone(assign: impl Assign + 'static) -> Host {
        Host::Alone(Box::new(assign))
    }

    /// A scheme that does both.
    pub fn whole(whole: impl Whole + 'static) -> Host {
        Host::Whole(Box::new(whole))
    }

    /// The host's half, whatever else it could do.
    pub fn into_assign(self) -> Box<dyn Assign> {
        match self {
            Host::Alone(assign) => assign,
            Host::Whole(whole) => whole,
        }
    }
}

/// Who decides about copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceHalf {
    /// One of the device's relocations.
    Relocation(RelocationKind),
    /// The scheme itself.
    Own,
}

/// A parameter's key and the value to give it.
pub type Setting = (&'static str, String);

/// The host's half of a scheme before it meets a drive: its name and its parameters.
pub trait HostScheme: fmt::Debug + Send + Sync {
    /// Its name in the catalogue when copies are mixed with new data.
    fn name(&self) -> &str;

    /// Its parameters, in the order people see them.
    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        Vec::new()
    }

    /// Named sets of values for its parameters, the defaults first; none where there are no others.
    fn presets(&self) -> &'static [Preset] {
        &[]
    }

    /// The scheme at work on a drive.
    ///
    /// # Errors
    /// When a parameter does not fit that drive.
    fn build(&self, geometry: &HostGeometry) -> Result<Host, Unfit>;

    /// The same, where copies are left to a relocation of the drive.
    ///
    /// # Errors
    /// When a parameter does not fit that drive.
    fn build_beside(&self, drive: &Config, _relocation: RelocationKind) -> Result<Host, Unfit> {
        self.build(&HostGeometry::of(drive))
    }

    /// The same, for a scheme that must know when pages will die.
    ///
    /// # Errors
    /// When a parameter does not fit that drive.
    fn build_foreseeing(
        &self,
        geometry: &HostGeometry,
        _future: &Arc<Future>,
    ) -> Result<Host, Unfit> {
        self.build(geometry)
    }

    /// The victim rule the scheme's own device's half needs; `None` leaves it to the drive.
    fn victim_rule(&self) -> Option<VictimRule> {
        None
    }

    /// Whether the scheme must know when pages will die: nothing a drive could do.
    fn needs_future(&self) -> bool {
        false
    }

    /// Whether other schemes are measured against it: how much of the way from `baseline` to it
    /// they go.
    fn is_bound(&self) -> bool {
        false
    }

    /// Whether it goes by the life-time hints the application asked for, granted or not.
    fn goes_by_hints(&self) -> bool {
        false
    }

    /// Whether it goes by requests and their neighbourhood: where they begin and end, whom they continue, how
    /// many come to a stretch of addresses, or who comes first. Of a sampled drive such a scheme is shown every request as
    /// it came, for it learns nothing else of pages.
    fn goes_by_requests(&self) -> bool {
        false
    }

    /// Why it does something else on a drive of which one page of many is kept, in words that follow its
    /// name; `None` for those that do the same.
    fn unsampled(&self) -> Option<&'static str> {
        None
    }

    /// The settings of which a comparison runs every one and keeps the best, where the scheme as
    /// it is set leaves that open; else none.
    fn trials(&self, _geometry: &HostGeometry) -> Vec<Vec<Setting>> {
        Vec::new()
    }
}

/// Values for a scheme's parameters that somebody published together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// What stands behind `preset=`.
    pub name: &'static str,
    /// Where the values come from.
    pub source: &'static str,
    /// Keys and values, as a person would write them; others keep their defaults.
    pub settings: &'static [(&'static str, &'static str)],
}

/// A parameter that no such drive can be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The parameter's key.
    pub key: &'static str,
    /// What it must be on that drive.
    pub expected: String,
}
