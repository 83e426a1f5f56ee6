//! Message authentication codes of DH-HMAC-CHAP and TLS.

use openssl::{error::ErrorStack, hash::MessageDigest, pkey::PKey, sign::Signer};
use zeroize::Zeroizing;

use crate::terms::Hash;

impl Hash {
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
