//! Secrets as people hand them on: `DHHC-1:HH:BASE64:` and `NVMeTLSkey-1:HH:BASE64:`.

use std::fmt;

use openssl::base64;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::terms::Hash;

/// Characters of the longest interchange form there is: a key of 64 bytes and its checksum (our reading).
const MOST_TEXT: usize = 160;
/// Bytes of the checksum behind the key.
const CHECKSUM: usize = 4;

/// Purpose of a secret, which decides its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// DH-HMAC-CHAP (§8.3.4.5.7).
    Dhchap,
    /// A configured pre-shared key of TLS (TCP §3.6.1.5).
    Tls,
}

impl Form {
    /// Prefix of its text.
    pub fn prefix(self) -> &'static str {
        match self {
            Form::Dhchap => "DHHC-1",
            Form::Tls => "NVMeTLSkey-1",
        }
    }

    /// The command that makes one.
    pub fn maker(self) -> &'static str {
        match self {
            Form::Dhchap => "nvme gen-dhchap-key",
            Form::Tls => "nvme gen-tls-key",
        }
    }

    /// Whether a key of such secrets may have so many bytes.
    fn may_have(self, bytes: usize) -> bool {
        match self {
            Form::Dhchap => [32, 48, 64].contains(&bytes),
            Form::Tls => [32, 48].contains(&bytes),
        }
    }

    /// Whether such secrets may name that hash.
    fn may_name(self, hash: Hash) -> bool {
        self == Form::Dhchap || hash != Hash::Sha512
    }
}

/// A secret. It is erased where it lay when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    key: Zeroizing<Vec<u8>>,
    hash: Option<Hash>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Secret({} bytes)", self.key.len())
    }
}

/// Error in a secret. It holds nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadSecret {
    /// It does not have the parts.
    #[error("the form is {prefix}:HH:BASE64:, as `{maker}` prints it", prefix = .0.prefix(), maker = .0.maker())]
    Form(Form),
    /// The hash is unknown.
    #[error("its second part names no hash that there is (00, 01, 02{})", if *.0 == Form::Dhchap { ", 03" } else { "" })]
    Hash(Form),
    /// The key has a wrong length.
    #[error("its key is of a length that there is none of (32, 48{} bytes)", if *.0 == Form::Dhchap { ", 64" } else { "" })]
    Length(Form),
    /// The checksum is not that of the key.
    #[error("its checksum is wrong: a character is missing or was changed")]
    Checksum,
}

impl Secret {
    /// Reads the interchange form.
    ///
    /// # Errors
    /// When the text is none, is of the wrong length, or was changed on its way.
    pub fn of(form: Form, text: &str) -> Result<Secret, BadSecret> {
        let rest = text
            .strip_prefix(form.prefix())
            .and_then(|rest| rest.strip_prefix(':'))
            .filter(|_| text.len() <= MOST_TEXT);
        let (hash, rest) = rest
            .and_then(|rest| rest.split_once(':'))
            .ok_or(BadSecret::Form(form))?;
        let coded = rest.strip_suffix(':').ok_or(BadSecret::Form(form))?;
        let hash = match hash {
            "00" => None,
            "01" => Some(Hash::Sha256),
            "02" => Some(Hash::Sha384),
            "03" => Some(Hash::Sha512),
            _ => return Err(BadSecret::Hash(form)),
        };
        if hash.is_some_and(|hash| !form.may_name(hash)) {
            return Err(BadSecret::Hash(form));
        }
        if coded.contains(|one: char| !one.is_ascii_graphic()) {
            return Err(BadSecret::Form(form));
        }
        let bytes = base64::decode_block(coded).map_err(|_| BadSecret::Form(form))?;
        let mut key = Zeroizing::new(bytes);
        let length = key.len().saturating_sub(CHECKSUM);
        if !form.may_have(length) {
            return Err(BadSecret::Length(form));
        }
        // CRC-32 of RFC 1952, little-endian, behind the key.
        let (bytes, checksum) = key.split_at(length);
        if crc32fast::hash(bytes).to_le_bytes() != checksum {
            return Err(BadSecret::Checksum);
        }
        key.truncate(length);
        Ok(Secret { key, hash })
    }

    /// The key as it was configured.
    pub(crate) fn key(&self) -> &[u8] {
        &self.key
    }

    /// The hash by which it is transformed before use; none: it is used as it is.
    pub(crate) fn hash(&self) -> Option<Hash> {
        self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of `nvme gen-dhchap-key` and `nvme gen-tls-key` of nvme-cli 2.13 for these keys.
    const DHCHAP: &str = "DHHC-1:00:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";

    #[test]
    fn a_secret_is_read_and_not_printed() {
        let secret = Secret::of(Form::Dhchap, DHCHAP).unwrap();
        assert_eq!(secret.key(), (0..32).collect::<Vec<u8>>());
        assert_eq!(secret.hash(), None);
        assert_eq!(format!("{secret:?}"), "Secret(32 bytes)");
    }

    #[test]
    fn what_is_no_secret_is_refused_without_repeating_it() {
        let refused = |form, text: &str| Secret::of(form, text).unwrap_err();
        let changed = DHCHAP.replace("AAEC", "AAED");
        assert_eq!(refused(Form::Dhchap, &changed), BadSecret::Checksum);
        assert_eq!(refused(Form::Tls, DHCHAP), BadSecret::Form(Form::Tls));
        let hash = DHCHAP.replace(":00:", ":04:");
        assert_eq!(refused(Form::Dhchap, &hash), BadSecret::Hash(Form::Dhchap));
        let tls = "NVMeTLSkey-1:03:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh+KfiaR:";
        assert_eq!(refused(Form::Tls, tls), BadSecret::Hash(Form::Tls));
        for text in [
            "",
            "DHHC-1",
            "DHHC-1:",
            "DHHC-1:00",
            "DHHC-1:00:",
            "DHHC-1:00::",
            "DHHC-1:00:AAAA",
            "DHHC-1:00:AAAA:",
            "DHHC-1:00:!!!!:",
            "DHHC-1:00:ÄÄÄÄ:",
            "DHHC-1:00: AAA :",
        ] {
            let told = refused(Form::Dhchap, text).to_string();
            assert!(!told.contains("AAAA"), "{told}");
        }
        let long = format!("DHHC-1:00:{}:", "A".repeat(1 << 20));
        assert_eq!(refused(Form::Dhchap, &long), BadSecret::Form(Form::Dhchap));
    }
}
