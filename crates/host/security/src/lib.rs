//! Secrets of hosts and of the drive: DH-HMAC-CHAP (§8.3.4) on a connection, and TLS below it (TCP
//! §3.6.1).
//!
//! Without the feature `openssl` there are names, terms and numbers alone. The types that a drive asks for keys stand for
//! nothing then: it serves hosts in the clear by the same code, and OpenSSL is not built.

#[cfg(feature = "openssl")]
mod keyed;
#[cfg(not(feature = "openssl"))]
mod keyless;
mod name;
mod terms;
pub mod wire;

#[cfg(feature = "openssl")]
pub use keyed::*;
#[cfg(not(feature = "openssl"))]
pub use keyless::*;
pub use name::is_name;
pub use terms::{Demand, DhGroup, Hash, Names};
