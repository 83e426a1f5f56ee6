//! Secrets of hosts and of the drive: DH-HMAC-CHAP (§8.3.4) on a connection, and TLS below it (TCP
//! §3.6.1).
//!
//! Hashes, groups, comparisons and TLS are OpenSSL's; what is here are messages, what of them is computed when, and how keys
//! are derived and named.

mod exchange;
mod group;
mod hash;
mod keys;
mod message;
mod name;
mod psk;
mod secret;
mod session;
#[cfg(test)]
mod tests;
mod tls;
pub mod wire;

pub use exchange::{Demand, Exchange, Names, Pair};
pub use group::DhGroup;
pub use hash::Hash;
pub use keys::{BadList, Keys, NoExchange, list};
pub use message::{DHCHAP, Explanation, Message, SECURITY_PROTOCOL, SPECIFIC};
pub use name::is_name;
pub use openssl::error::ErrorStack;
pub use secret::{BadSecret, Form, Secret};
pub use tls::{Tls, TlsError};
