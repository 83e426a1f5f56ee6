//! TLS 1.3 with pre-shared keys, as NVMe/TCP has it (TCP §3.6.1).

use std::{collections::BTreeSet, pin::Pin};

use openssl::{
    error::ErrorStack,
    ssl::{Ssl, SslContext, SslMethod, SslMode, SslOptions, SslSessionCacheMode, SslVersion},
};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_openssl::SslStream;

use super::{
    keys::Keys,
    psk::identities,
    session::{Psks, identified, offer},
};
use crate::terms::{Hash, Names};

/// The suite of a key's hash (TCP §3.6.1.2).
fn suite(hash: Hash) -> &'static str {
    match hash {
        Hash::Sha256 => "TLS_AES_128_GCM_SHA256",
        Hash::Sha384 | Hash::Sha512 => "TLS_AES_256_GCM_SHA384",
    }
}

/// TLS context of connections.
#[derive(Debug)]
pub struct Tls(SslContext);

/// A host that does not get as far as NVMe.
#[derive(Debug, Error)]
pub enum TlsError {
    /// It speaks no TLS 1.3, or has no key that is kept here.
    #[error("it does not speak TLS 1.3 with a key that is kept for it ({0})")]
    Handshake(#[from] openssl::ssl::Error),
    /// The library refuses.
    #[error("TLS cannot begin: {0}")]
    Library(#[from] ErrorStack),
    /// It came without a key.
    #[error("it came without a pre-shared key")]
    NoKey,
}

impl Tls {
    /// Builds the context that the keys ask for, at these subsystems; `None` where hosts speak in the clear.
    ///
    /// # Errors
    /// When the library refuses.
    pub fn new(keys: &Keys, subsystems: &[&str]) -> Result<Option<Tls>, ErrorStack> {
        let Some(hosts) = &keys.tls else {
            return Ok(None);
        };
        let mut psks = Psks::new();
        for (host, secret) in hosts {
            for &subsystem in subsystems {
                let names = Names {
                    host: host.clone(),
                    subsystem: subsystem.to_owned(),
                };
                // An identity that both layouts give is the standard's, which come first.
                for (identity, psk) in identities(secret, &names)? {
                    psks.entry(identity).or_insert(psk);
                }
            }
        }
        let mut context = SslContext::builder(SslMethod::tls_server())?;
        context.set_min_proto_version(Some(SslVersion::TLS1_3))?;
        // Those of keys alone: OpenSSL chooses a suite before it looks at keys.
        let suites: BTreeSet<&str> = psks.values().map(|psk| suite(psk.hash)).collect();
        let suites: Vec<&str> = suites.into_iter().collect();
        context.set_ciphersuites(&suites.join(":"))?;
        // A key is good for every connection; nothing is resumed, and no message follows the handshake.
        context.set_num_tickets(0)?;
        context.set_options(SslOptions::NO_TICKET);
        context.set_session_cache_mode(SslSessionCacheMode::OFF);
        // What buffers hold nothing is given back.
        context.set_mode(SslMode::RELEASE_BUFFERS);
        offer(&mut context, psks)?;
        Ok(Some(Tls(context.build())))
    }

    /// Encrypts a connection, and answers whose key it came with.
    ///
    /// # Errors
    /// When the host has none that is kept here, or speaks something else.
    pub async fn accept(
        &self,
        stream: TcpStream,
    ) -> Result<(SslStream<TcpStream>, Names), TlsError> {
        let mut stream = SslStream::new(Ssl::new(&self.0)?, stream)?;
        Pin::new(&mut stream).accept().await?;
        let names = identified(stream.ssl()).ok_or(TlsError::NoKey)?;
        Ok((stream, names))
    }
}
