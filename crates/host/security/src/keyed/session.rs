//! External pre-shared keys of TLS 1.3 in OpenSSL, which the `openssl` crate does not wrap: its callback for
//! servers is TLS 1.2's, and of TLS 1.3 has SHA-256 alone.
//!
//! `unsafe`: six functions of OpenSSL (1.1.1 and later) are declared as its headers have them, one callback is
//! handed to it, and the callback's three pointers are OpenSSL's, valid for the call.
#![allow(unsafe_code)]

use std::{
    collections::HashMap,
    ffi::c_int,
    ptr, slice,
    sync::{Arc, LazyLock},
};

use foreign_types::ForeignTypeRef;
use openssl::{
    error::ErrorStack,
    ex_data::Index,
    ssl::{Ssl, SslContext, SslContextBuilder, SslRef},
};
use openssl_sys::{SSL, SSL_CIPHER, SSL_CTX, SSL_SESSION, SSL_SESSION_free, TLS1_3_VERSION};

use super::psk::Psk;
use crate::terms::{Hash, Names};

/// Keys by their identities.
pub(super) type Psks = HashMap<String, Psk>;

type FindSession = unsafe extern "C" fn(*mut SSL, *const u8, usize, *mut *mut SSL_SESSION) -> c_int;

unsafe extern "C" {
    fn SSL_CTX_set_psk_find_session_callback(context: *mut SSL_CTX, find: Option<FindSession>);
    fn SSL_SESSION_new() -> *mut SSL_SESSION;
    fn SSL_SESSION_set1_master_key(
        session: *mut SSL_SESSION,
        key: *const u8,
        length: usize,
    ) -> c_int;
    fn SSL_SESSION_set_cipher(session: *mut SSL_SESSION, cipher: *const SSL_CIPHER) -> c_int;
    fn SSL_SESSION_set_protocol_version(session: *mut SSL_SESSION, version: c_int) -> c_int;
    fn SSL_CIPHER_find(ssl: *mut SSL, identifier: *const u8) -> *const SSL_CIPHER;
}

/// Indexes of a context's keys, and of the names of a connection's key.
type Indexes = (Index<SslContext, Arc<Psks>>, Index<Ssl, Names>);
static INDEXES: LazyLock<Option<Indexes>> = LazyLock::new(|| {
    let keys = SslContext::new_ex_index().ok()?;
    Some((keys, Ssl::new_ex_index().ok()?))
});

/// Lets connections of a context come with these keys.
pub(super) fn offer(context: &mut SslContextBuilder, psks: Psks) -> Result<(), ErrorStack> {
    let (keys, _) = (*INDEXES).ok_or_else(ErrorStack::get)?;
    context.set_ex_data(keys, Arc::new(psks));
    // SAFETY: the context lives, and the callback is a function.
    unsafe { SSL_CTX_set_psk_find_session_callback(context.as_ptr(), Some(find)) };
    Ok(())
}

/// Reads the names of a connection's key, after its handshake.
pub(super) fn identified(ssl: &SslRef) -> Option<Names> {
    let (_, names) = (*INDEXES)?;
    ssl.ex_data(names).cloned()
}

/// Called by OpenSSL for each identity that a client offers: 1, and a session where there is a key for it. The
/// client's proof that it has the key is OpenSSL's to check.
unsafe extern "C" fn find(
    ssl: *mut SSL,
    identity: *const u8,
    length: usize,
    found: *mut *mut SSL_SESSION,
) -> c_int {
    // SAFETY: OpenSSL's own, for as long as this call takes; `found` is to be written.
    let (connection, identity) = unsafe {
        *found = ptr::null_mut();
        if identity.is_null() {
            return 1;
        }
        let connection = SslRef::from_ptr_mut(ssl);
        (connection, slice::from_raw_parts(identity, length))
    };
    let Some((keys, names)) = *INDEXES else {
        return 0;
    };
    let psks = connection.ssl_context().ex_data(keys).cloned();
    let psk = psks.as_ref().and_then(|psks| {
        let identity = std::str::from_utf8(identity).ok()?;
        psks.get(identity)
    });
    let Some(psk) = psk else {
        return 1;
    };
    connection.set_ex_data(names, psk.names.clone());
    // SAFETY: the connection and `found` are OpenSSL's, as above; the session becomes OpenSSL's.
    unsafe {
        *found = session(ssl, psk);
        c_int::from(!(*found).is_null())
    }
}

/// A session of TLS 1.3 as if it had been one of that key and its suite; null where OpenSSL refuses.
///
/// # Safety
/// The connection must live.
unsafe fn session(ssl: *mut SSL, psk: &Psk) -> *mut SSL_SESSION {
    // Two bytes as on the wire (RFC 8446, B.4).
    let suite: [u8; 2] = match psk.hash {
        Hash::Sha256 => [0x13, 0x01],
        Hash::Sha384 | Hash::Sha512 => [0x13, 0x02],
    };
    // SAFETY: `suite` has the two bytes that are read, `key` as many as is said, and a session that is null is
    // neither filled nor freed.
    unsafe {
        let cipher = SSL_CIPHER_find(ssl, suite.as_ptr());
        let session = SSL_SESSION_new();
        if session.is_null() || cipher.is_null() {
            SSL_SESSION_free(session);
            return ptr::null_mut();
        }
        let filled = SSL_SESSION_set1_master_key(session, psk.key.as_ptr(), psk.key.len()) == 1
            && SSL_SESSION_set_cipher(session, cipher) == 1
            && SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
        if !filled {
            SSL_SESSION_free(session);
            return ptr::null_mut();
        }
        session
    }
}
