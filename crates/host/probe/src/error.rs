//! Errors that keep the probe from working, each with its remedy.

use std::io;
use std::path::PathBuf;

/// Why a device cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The process may not load eBPF programs.
    #[error("capturing needs root (or the capabilities CAP_BPF and CAP_PERFMON); run it with sudo")]
    NotPermitted,
    /// The kernel does not describe its types.
    #[error(
        "this kernel has no BTF at {path}; boot a kernel built with CONFIG_DEBUG_INFO_BTF=y \
         (Debian's and Ubuntu's own kernels are)"
    )]
    NoBtf {
        /// The path where BTF was expected.
        path: PathBuf,
    },
    /// The kernel lacks a tracepoint that nothing can replace.
    #[error(
        "this kernel lacks the tracepoint `{name}`, by which the probe sees requests; \
         boot a kernel of version 6.1 or later with CONFIG_BLOCK and CONFIG_TRACEPOINTS"
    )]
    MissingTracepoint {
        /// The tracepoint's name.
        name: &'static str,
    },
    /// No hierarchy of control groups of version 2 is mounted.
    #[error(
        "no control groups of version 2 are mounted, by which tenants are told apart: `mount -t cgroup2 none DIRECTORY`"
    )]
    NoControlGroups,
    /// The target is not a block device.
    #[error("{} is not a block device; name one such as /dev/loop0 (`lsblk` lists them)", path.display())]
    NotABlockDevice {
        /// The path given.
        path: PathBuf,
    },
    /// A file could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file's path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel refused the programs or their attachment.
    #[error("the kernel refused the probe ({step}): {source}{}", detail(log))]
    Refused {
        /// The step that failed.
        step: &'static str,
        /// The loader's answer.
        source: libbpf_rs::Error,
        /// The loader's last messages.
        log: String,
    },
    /// Kernel side and user side disagree on the layout of a record.
    #[error(
        "the kernel sent a record of an unknown form; rebuild the program (`cargo clean -p anabranch-probe`)"
    )]
    MalformedRecord,
}

fn detail(log: &str) -> String {
    if log.is_empty() {
        String::new()
    } else {
        format!("\nthe loader says:\n{log}")
    }
}
