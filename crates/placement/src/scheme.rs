//! What a scheme's file gives to the catalogue.

use std::fmt;

use crate::{Assign, Parameter};

/// The drive, as far as the host's half of a scheme must know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostGeometry {
    /// Logical pages of the drive.
    pub logical_pages: u32,
    /// Bytes in a page, at least 1.
    pub page_bytes: u32,
    /// Streams the host may name, at least 1.
    pub host_streams: u16,
}

/// The host's half of a scheme before it meets a drive: its name and its parameters.
pub trait HostScheme: fmt::Debug + Send + Sync {
    /// Its name in the catalogue when copies are mixed with new data.
    fn name(&self) -> &'static str;

    /// Its parameters, in the order people see them.
    fn parameters(&mut self) -> Vec<Parameter<'_>> {
        Vec::new()
    }

    /// The scheme at work on a drive.
    ///
    /// # Errors
    /// When a parameter does not fit that drive.
    fn build(&self, geometry: &HostGeometry) -> Result<Box<dyn Assign>, Unfit>;
}

/// A parameter that no such drive can be given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// The parameter's key.
    pub key: &'static str,
    /// What it must be on that drive.
    pub expected: String,
}
