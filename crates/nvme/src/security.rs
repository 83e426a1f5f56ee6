//! Secrets of hosts and of the drive: DH-HMAC-CHAP (§8.3.4) on a connection.
//!
//! Hashes, groups and comparisons are OpenSSL's; what is here are messages, and what of them is computed when.

mod exchange;
mod group;
mod hash;
mod keys;
mod message;
mod secret;
#[cfg(test)]
mod tests;

pub use exchange::{Exchange, Names};
pub use group::Group;
pub use hash::Hash;
pub use keys::{BadList, Demand, Keys, NoExchange, Pair, list};
pub use message::{DHCHAP, Explanation, Message};
pub(crate) use message::{SECURITY_PROTOCOL, SPECIFIC};
pub use secret::{BadSecret, Form, Secret};
