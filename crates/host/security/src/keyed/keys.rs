//! Hosts that may connect, each with its secret.

use std::collections::BTreeMap;

use openssl::error::ErrorStack;
use thiserror::Error;

use super::{
    exchange::{Exchange, Pair},
    secret::{BadSecret, Form, Secret},
};
use crate::{
    name::is_name,
    terms::{Demand, Names},
};

/// Secrets, and what is asked of those who have them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Keys {
    /// Secrets of hosts for DH-HMAC-CHAP, by their names; none: nobody authenticates by it.
    pub hosts: Option<BTreeMap<String, Secret>>,
    /// The controller's secret.
    pub controller: Option<Secret>,
    /// Configured pre-shared keys of TLS, by the hosts' names; none: hosts speak in the clear.
    pub tls: Option<BTreeMap<String, Secret>>,
    /// Terms of authentications.
    pub demand: Demand,
}

/// Cause of a host's refusal.
#[derive(Debug, Error)]
pub enum NoExchange {
    /// No secret is kept for it.
    #[error("no secret is kept for it")]
    Unknown,
    /// The library refuses.
    #[error("the authentication cannot begin: {0}")]
    Library(#[from] ErrorStack),
}

impl Keys {
    /// The authentication that a host has to pass, if one is asked for.
    ///
    /// # Errors
    /// When it has no secret here.
    pub fn exchange(&self, host: &str, subsystem: &str) -> Result<Option<Exchange>, NoExchange> {
        let Some(hosts) = &self.hosts else {
            return Ok(None);
        };
        let pair = Pair {
            host: hosts.get(host).ok_or(NoExchange::Unknown)?,
            controller: self.controller.as_ref(),
        };
        let names = Names {
            host: host.to_owned(),
            subsystem: subsystem.to_owned(),
        };
        Ok(Some(Exchange::new(names, self.demand, pair)?))
    }
}

/// Error in a list of secrets. It holds no secret.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadList {
    /// A line does not have a name and a secret.
    #[error("line {0} is not `NQN SECRET`: a host's name, a space, and its secret")]
    Line(usize),
    /// A name is no NQN.
    #[error("line {0}: no name of a host: an NQN has 1 to 223 characters")]
    Name(usize),
    /// A secret is invalid.
    #[error("line {0}: {1}")]
    Secret(usize, BadSecret),
    /// A host is named twice.
    #[error("line {0}: that host was named before; it has one secret")]
    Twice(usize),
    /// Nobody is named.
    #[error("it names no host: a line is `NQN SECRET`, the secret as `{maker}` prints it", maker = .0.maker())]
    Empty(Form),
}

/// Reads secrets of hosts: a line each, its name and its secret; empty lines and those that begin with `#` are
/// passed over.
///
/// # Errors
/// When a line is none of these.
pub fn list(form: Form, text: &str) -> Result<BTreeMap<String, Secret>, BadList> {
    let mut hosts = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        let (line, number) = (line.trim(), index + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let parts = line.split_once(char::is_whitespace);
        let (name, secret) = parts.ok_or(BadList::Line(number))?;
        if !is_name(name) {
            return Err(BadList::Name(number));
        }
        let secret = Secret::of(form, secret.trim_start());
        let secret = secret.map_err(|error| BadList::Secret(number, error))?;
        if hosts.insert(name.to_owned(), secret).is_some() {
            return Err(BadList::Twice(number));
        }
    }
    if hosts.is_empty() {
        Err(BadList::Empty(form))
    } else {
        Ok(hosts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";

    #[test]
    fn a_list_names_hosts_and_their_secrets() {
        let text = format!("# ours\n\nnqn.a {SECRET}\n nqn.b\t{SECRET}\r\n");
        let hosts = list(Form::Dhchap, &text).unwrap();
        assert_eq!(hosts.keys().collect::<Vec<_>>(), ["nqn.a", "nqn.b"]);
    }

    #[test]
    fn a_bad_line_is_named_by_its_number_and_not_repeated() {
        let refused = |text: &str| list(Form::Dhchap, text).unwrap_err();
        assert_eq!(refused("# none\n"), BadList::Empty(Form::Dhchap));
        assert_eq!(refused(&format!("\n{SECRET}")), BadList::Line(2));
        let long = "n".repeat(224);
        assert_eq!(refused(&format!("{long} {SECRET}")), BadList::Name(1));
        let twice = format!("nqn.a {SECRET}\nnqn.a {SECRET}\n");
        assert_eq!(refused(&twice), BadList::Twice(2));
        let cut = refused(&format!("nqn.a {}", &SECRET[..40]));
        assert!(!cut.to_string().contains("AAEC"), "{cut}");
    }
}
