//! Limits and privileges of an inspector: it reads files, whoever they are of, and can do nothing else.
//!
//! `unsafe` only for system calls that no safe wrapper covers.
#![allow(unsafe_code)]

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod system_calls;

use std::fs;
use std::io;

use nix::errno::Errno;
use nix::libc;
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};

use super::message::Limits;

/// The user and group that own nothing (`nobody`; the kernel's overflow id).
const NOBODY: u32 = 65_534;
/// Descriptors that an inspector has at most. Our choice: twice the files that are open for symbols.
const MAX_DESCRIPTORS: u64 = 1024;
/// `capget(2)` with 64 capabilities: `_LINUX_CAPABILITY_VERSION_3`.
const VERSION: u32 = 0x2008_0522;
/// To read whatever file is mapped: CAP_DAC_READ_SEARCH (2); to look at processes of all users: CAP_SYS_PTRACE (19); to
/// follow `/proc/PID/map_files`: CAP_CHECKPOINT_RESTORE (40; capabilities(7)).
const NEEDED: u64 = 1 << 2 | 1 << 19 | 1 << 40;
/// To become another user, and to end a process of another user: CAP_KILL (5), CAP_SETGID (6), CAP_SETUID (7).
const OTHER_USER: u64 = 1 << 5 | 1 << 6 | 1 << 7;

/// Gives up all that reading of files does not need. IMPORTANT: before the first file is looked at.
pub(super) fn confine(limits: &Limits) -> io::Result<()> {
    // Whatever grows too large is this process.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    for (resource, most) in [
        (Resource::RLIMIT_CORE, 0),
        (Resource::RLIMIT_FSIZE, 0),
        (Resource::RLIMIT_NOFILE, MAX_DESCRIPTORS),
        (Resource::RLIMIT_DATA, limits.heap_bytes),
        (Resource::RLIMIT_AS, limits.address_bytes),
    ] {
        setrlimit(resource, most, most)?;
    }
    // SIGBUS too: the standard library's handler returns once before the process ends.
    for number in [Signal::SIGALRM, Signal::SIGBUS] {
        // SAFETY: the default action is no function.
        unsafe { signal(number, SigHandler::SigDfl) }?;
    }
    let permitted = permitted()?;
    // A service may have fewer capabilities than root has. Without CAP_KILL the recorder could not end an inspector of
    // another user: it stays root's then, without root's capabilities.
    if Uid::effective().is_root() && permitted & OTHER_USER == OTHER_USER {
        prctl::set_keepcaps(true)?;
        setgroups(&[])?;
        let (group, user) = (Gid::from_raw(NOBODY), Uid::from_raw(NOBODY));
        setresgid(group, group, group)?;
        setresuid(user, user, user)?;
    }
    permit(permitted & NEEDED)?;
    prctl::set_no_new_privs()?;
    // No thread or process is begun. A user's limit, so not before the change of user.
    setrlimit(Resource::RLIMIT_NPROC, 0, 0)?;
    permit_system_calls()
}

/// Makes every system call that reading files does not need an error, on architectures whose numbers we know.
fn permit_system_calls() -> io::Result<()> {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    {
        let mut steps = system_calls::filter();
        let program = libc::sock_fprog {
            len: u16::try_from(steps.len()).map_err(io::Error::other)?,
            filter: steps.as_mut_ptr(),
        };
        // SAFETY: the kernel copies the program, which lives until then.
        let result =
            unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) };
        Errno::result(result)?;
    }
    Ok(())
}

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Set {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// The capabilities that this process may have.
fn permitted() -> nix::Result<u64> {
    let mut header = Header {
        version: VERSION,
        pid: 0,
    };
    let mut sets = [Set::default(); 2];
    // SAFETY: of version 3, the kernel writes two sets.
    let result = unsafe { libc::syscall(libc::SYS_capget, &mut header, sets.as_mut_ptr()) };
    Errno::result(result)?;
    Ok(u64::from(sets[1].permitted) << 32 | u64::from(sets[0].permitted))
}

/// Has these capabilities alone from now on.
fn permit(capabilities: u64) -> nix::Result<()> {
    let mut header = Header {
        version: VERSION,
        pid: 0,
    };
    let sets = [capabilities as u32, (capabilities >> 32) as u32].map(|bits| Set {
        effective: bits,
        permitted: bits,
        inheritable: 0,
    });
    // SAFETY: of version 3, the kernel reads two sets.
    let result = unsafe { libc::syscall(libc::SYS_capset, &mut header, sets.as_ptr()) };
    Errno::result(result).map(drop)
}
