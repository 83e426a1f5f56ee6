//! Hash functions of DH-HMAC-CHAP and TLS, and the message authentication codes made of them.

use std::str::FromStr;

use openssl::{error::ErrorStack, hash::MessageDigest, pkey::PKey, sign::Signer};
use zeroize::Zeroizing;

/// A hash function, by its identifier (§8.3.4.5.3, HashID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Hash {
    /// SHA-256.
    #[default]
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl FromStr for Hash {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Hash, &'static str> {
        Ok(match name {
            "sha256" => Hash::Sha256,
            "sha384" => Hash::Sha384,
            "sha512" => Hash::Sha512,
            _ => return Err("hashes are sha256, sha384 and sha512"),
        })
    }
}

impl Hash {
    /// Its identifier.
    pub fn code(self) -> u8 {
        match self {
            Hash::Sha256 => 1,
            Hash::Sha384 => 2,
            Hash::Sha512 => 3,
        }
    }

    /// Bytes of what it yields.
    pub fn length(self) -> usize {
        match self {
            Hash::Sha256 => 32,
            Hash::Sha384 => 48,
            Hash::Sha512 => 64,
        }
    }

    pub(crate) fn digest(self) -> MessageDigest {
        match self {
            Hash::Sha256 => MessageDigest::sha256(),
            Hash::Sha384 => MessageDigest::sha384(),
            Hash::Sha512 => MessageDigest::sha512(),
        }
    }

    /// HMAC (RFC 2104) of parts, one behind the other.
    pub(crate) fn hmac(
        self,
        key: &[u8],
        parts: &[&[u8]],
    ) -> Result<Zeroizing<Vec<u8>>, ErrorStack> {
        let key = PKey::hmac(key)?;
        let mut signer = Signer::new(self.digest(), &key)?;
        for part in parts {
            signer.update(part)?;
        }
        signer.sign_to_vec().map(Zeroizing::new)
    }
}
