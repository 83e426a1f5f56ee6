//! Readiness: the moment from which a command does what it was started for.

use std::{
    env,
    ffi::OsStr,
    io::{self, Read as _, Write as _},
    os::{
        fd::{AsFd as _, OwnedFd},
        linux::net::SocketAddrExt as _,
        unix::{
            ffi::OsStrExt as _,
            net::{SocketAddr, UnixDatagram, UnixStream},
        },
    },
    process::{Child, Command},
};

use nix::unistd::setsid;

use crate::{
    error::{CommandError, Result},
    output::print,
};

/// Variable that names a service manager's socket (sd_notify(3)).
const SOCKET: &str = "NOTIFY_SOCKET";
/// Set for a command in the background: its standard input is a connection to the one that waits.
const IS_AWAITED: &str = "ANABRANCH_IS_AWAITED";

/// Whether this is a command in the background that another one waits for.
pub fn is_awaited() -> bool {
    env::var_os(IS_AWAITED).is_some()
}

/// Tells whoever started this process that it is ready: a service manager, or the command that waits for this one.
///
/// # Errors
/// When the command that waited is gone. A service manager that does not listen is left alone.
pub fn announce() -> Result {
    if let Some(name) = env::var_os(SOCKET) {
        let _ = address(&name)
            .and_then(|manager| UnixDatagram::unbound()?.send_to_addr(b"READY=1\n", &manager));
    }
    if !is_awaited() {
        return Ok(());
    }
    let told = io::stdin()
        .as_fd()
        .try_clone_to_owned()
        .and_then(|input| UnixStream::from(input).write_all(b"ready"));
    told.map_err(|error| CommandError::work(anyhow::anyhow!("nobody waits any more: {error}")))?;
    // A terminal's Ctrl-C is for its own session.
    let _ = setsid();
    Ok(())
}

/// An address as sd_notify(3) writes it: a path, or with `@` a name in the kernel.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    match name.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    }
}

/// Starts this command anew, in the background, and waits until it is ready; prints its process number on standard
/// output. What it prints goes to standard error.
///
/// # Errors
/// The status of a command that ends before it is ready.
pub fn wait() -> Result {
    let (mut child, mut word) = start().map_err(CommandError::work)?;
    if word.read(&mut [0]).map_err(CommandError::work)? > 0 {
        return print(&format!("{}\n", child.id()));
    }
    let status = child.wait().map_err(CommandError::work)?;
    // What it said stands on standard error already. One that ended well has recorded nothing all the same.
    Err(CommandError {
        status: anabranch_disk::status_code(status).max(1),
        error: None,
    })
}

/// The command in the background, and the connection over which it tells.
fn start() -> io::Result<(Child, UnixStream)> {
    let (own, its) = UnixStream::pair()?;
    let child = Command::new("/proc/self/exe")
        .args(env::args_os().skip(1))
        .env(IS_AWAITED, "1")
        .stdin(OwnedFd::from(its))
        .stdout(io::stderr().as_fd().try_clone_to_owned()?)
        .spawn()?;
    Ok((child, own))
}
