//! Secrets at work, by OpenSSL: hashes, groups, comparisons and TLS are its. Here are messages, what of them is computed
//! when, and how keys are derived and named.

mod exchange;
mod group;
mod hash;
mod keys;
mod message;
mod psk;
mod secret;
mod session;
#[cfg(test)]
mod tests;
mod tls;

pub use exchange::{Exchange, Pair};
pub use keys::{BadList, Keys, NoExchange, list};
pub use message::{DHCHAP, Explanation, Message};
pub use openssl::error::ErrorStack;
pub use secret::{BadSecret, Form, Secret};
pub use tls::{Tls, TlsError};
