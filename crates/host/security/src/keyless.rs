//! Names of a build without OpenSSL: no host has a key, none is asked for one, and nothing is encrypted.

use std::convert::Infallible;

use thiserror::Error;

use crate::terms::Names;

/// Error of a library that is not there.
#[derive(Debug, Clone, Copy, Error)]
#[error("{0}")]
pub struct ErrorStack(Infallible);

/// Secrets that hosts must have: none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keys {
    /// Pre-shared keys of TLS: none.
    pub tls: Option<Infallible>,
}

impl Keys {
    /// The authentication that a host has to pass: none.
    ///
    /// # Errors
    /// Never.
    pub fn exchange(&self, _host: &str, _subsystem: &str) -> Result<Option<Exchange>, ErrorStack> {
        Ok(None)
    }
}

/// An authentication, which never begins.
#[derive(Debug)]
pub struct Exchange(Infallible);

impl Exchange {
    /// Takes a message of the host.
    pub fn take(&mut self, _bytes: &[u8]) {
        match self.0 {}
    }

    /// Hands out a message for the host.
    pub fn give(&mut self) -> Option<Vec<u8>> {
        match self.0 {}
    }

    /// Outcome of the exchange.
    pub fn outcome(&self) -> Option<Result<(), ErrorStack>> {
        match self.0 {}
    }
}

/// TLS, which no connection has.
#[derive(Debug)]
pub struct Tls(Infallible);

impl Tls {
    /// The context that keys ask for: none.
    ///
    /// # Errors
    /// Never.
    pub fn new(_keys: &Keys, _subsystems: &[&str]) -> Result<Option<Tls>, ErrorStack> {
        Ok(None)
    }

    /// Encrypts a connection.
    ///
    /// # Errors
    /// Never.
    #[allow(clippy::unused_async, reason = "TLS that is there waits for the host")]
    pub async fn accept<S>(&self, _stream: S) -> Result<(S, Names), ErrorStack> {
        match self.0 {}
    }
}
