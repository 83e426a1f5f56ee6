//! The secrets of `serve` in a build without TLS: none.

use anabranch_security::Keys;

use super::ServeArguments;
use crate::error::{CommandError, Result};

/// Refuses options that name secrets.
pub fn read(arguments: &ServeArguments) -> Result<Keys> {
    let named = [
        ("--host-secret", &arguments.host_secret),
        ("--controller-secret", &arguments.controller_secret),
        ("--tls-key", &arguments.tls_key),
    ];
    match named.iter().find(|(_, file)| file.is_some()) {
        Some((option, _)) => Err(CommandError::wrong_use(format!(
            "{option}: this build has no TLS and no DH-HMAC-CHAP: it was built without the feature `security`"
        ))),
        None => Ok(Keys::default()),
    }
}
