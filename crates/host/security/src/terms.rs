//! Terms of authentications, as people name them and as messages number them; and between whom.

use std::str::FromStr;

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
}

/// A group, by its identifier (§8.3.4.5.3, DHgID).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum DhGroup {
    /// None: what goes over the wire suffices to guess at a weak secret.
    Null,
    /// 2048 bits.
    #[default]
    Ffdhe2048,
    /// 3072 bits.
    Ffdhe3072,
    /// 4096 bits.
    Ffdhe4096,
    /// 6144 bits.
    Ffdhe6144,
    /// 8192 bits.
    Ffdhe8192,
}

impl FromStr for DhGroup {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<DhGroup, &'static str> {
        Ok(match name {
            "null" => DhGroup::Null,
            "ffdhe2048" => DhGroup::Ffdhe2048,
            "ffdhe3072" => DhGroup::Ffdhe3072,
            "ffdhe4096" => DhGroup::Ffdhe4096,
            "ffdhe6144" => DhGroup::Ffdhe6144,
            "ffdhe8192" => DhGroup::Ffdhe8192,
            _ => {
                return Err(
                    "groups are ffdhe2048, ffdhe3072, ffdhe4096, ffdhe6144, ffdhe8192 and null",
                );
            }
        })
    }
}

impl DhGroup {
    /// Its identifier.
    pub fn code(self) -> u8 {
        match self {
            DhGroup::Null => 0,
            DhGroup::Ffdhe2048 => 1,
            DhGroup::Ffdhe3072 => 2,
            DhGroup::Ffdhe4096 => 3,
            DhGroup::Ffdhe6144 => 4,
            DhGroup::Ffdhe8192 => 5,
        }
    }
}

/// Terms of an authentication: one hash and one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Demand {
    /// Hash function of challenges and responses.
    pub hash: Hash,
    /// Diffie-Hellman group that augments them, or none.
    pub group: DhGroup,
}

/// Names of both parties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// NQN of the host.
    pub host: String,
    /// NQN of the subsystem.
    pub subsystem: String,
}
