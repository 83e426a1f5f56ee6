//! The kernel's support for the probe on this machine.

use std::fs;
use std::path::Path;

use libbpf_rs::btf::{Btf, types};

use crate::error::ProbeError;

const BTF_PATH: &str = "/sys/kernel/btf/vmlinux";
const KALLSYMS_PATH: &str = "/proc/kallsyms";
const QUEUED_FLAG: &str = "BIO_TRACE_COMPLETION";
const KPROBES_PATH: &str = "/sys/bus/event_source/devices/kprobe";

/// Bits of the capability masks (`include/uapi/linux/capability.h`).
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// The kernel's features that the probe uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Support {
    /// Release of the running kernel, as `uname -r` prints it.
    pub kernel: String,
    /// Whether the thread that makes a page dirty can be seen. Without it, buffered and mmap
    /// writes carry the thread that wrote them out.
    pub sees_dirty_pages: bool,
    /// Whether `F_SET_RW_HINT` can be seen, if need be at the way out of every system call.
    pub sees_hints: bool,
    /// Whether reads of files can be seen: what a thread read before it began a file. Linux 6.12 and later.
    pub sees_reads: bool,
    /// Whether a file that is renamed can be seen when it is. Without it, one that is not written to again keeps the
    /// name that it was written under.
    pub sees_renames: bool,
    /// Whether a device made of others can be seen to report which of its sectors a request below stands for. Without
    /// it, what a device sends below from a thread of its own is that thread's.
    pub sees_remaps: bool,
    /// Whether a page that is marked as dirty again, since it could not be written out yet, can be told from one that a
    /// thread writes to. Without it, such a page is written by whoever tried to write it out.
    pub sees_redirtied: bool,
    /// Whether the file of a direct write can be found.
    pub sees_direct_files: bool,
    /// With kprobes: the flag in `bi_flags` of a request that was seen before (`BIO_TRACE_COMPLETION`).
    /// A kprobe's program is not skipped for another that was preempted, as a tracepoint's is from 7.0 on; it is while a
    /// thread of its processor is in a call about a map.
    pub queued_flag: Option<u32>,
}

impl Support {
    /// Sentences on what the probe cannot do here.
    pub fn limitations(&self) -> Vec<String> {
        let lacks = [
            (
                self.sees_dirty_pages,
                "The kernel lacks the tracepoint writeback_dirty_folio: buffered and mmap writes carry the thread that wrote them out, not the one that made them.",
            ),
            (
                self.sees_hints,
                "The kernel lacks the tracepoint sys_exit: only write hints that the kernel granted are seen.",
            ),
            (
                self.sees_reads,
                "The kernel lacks the tracepoint mm_filemap_get_pages (Linux 6.12 has it): of what threads read only direct reads are seen, so a tree's levels may not be told apart.",
            ),
            (
                self.sees_direct_files,
                "The kernel does not show where direct writes end (iomap_dio_bio_end_io): they carry no file.",
            ),
        ];
        lacks
            .into_iter()
            .filter(|(seen, _)| !seen)
            .map(|(_, sentence)| sentence.to_owned())
            .collect()
    }
}

/// Checks whether this process can capture on this machine, and what it would miss. Loads nothing.
///
/// # Errors
/// [`ProbeError::NotPermitted`], [`ProbeError::NoBtf`], [`ProbeError::MissingTracepoint`]: each names the remedy.
pub fn check() -> Result<Support, ProbeError> {
    if !may_load(&read("/proc/self/status")?) {
        return Err(ProbeError::NotPermitted);
    }
    let no_btf = || ProbeError::NoBtf {
        path: BTF_PATH.into(),
    };
    if !Path::new(BTF_PATH).exists() {
        return Err(no_btf());
    }
    let btf = Btf::from_vmlinux().map_err(|_| no_btf())?;
    let has = |tracepoint: &str| {
        btf.type_by_name::<types::Typedef<'_>>(&format!("btf_trace_{tracepoint}"))
            .is_some()
    };
    if !has("block_bio_queue") {
        return Err(ProbeError::MissingTracepoint {
            name: "block_bio_queue",
        });
    }
    let kallsyms = read(KALLSYMS_PATH)?;
    let has_kprobes = Path::new(KPROBES_PATH).exists();
    Ok(Support {
        kernel: read("/proc/sys/kernel/osrelease")?.trim().to_owned(),
        sees_dirty_pages: has("writeback_dirty_folio"),
        sees_hints: has("sys_exit"),
        sees_reads: has("mm_filemap_get_pages") && has("mm_filemap_map_pages"),
        sees_renames: btf
            .type_by_name::<types::Struct<'_>>("renamedata")
            .is_some(),
        sees_remaps: has("block_bio_remap"),
        sees_redirtied: has_kprobes && has_address(&kallsyms, "folio_redirty_for_writepage"),
        sees_direct_files: has_address(&kallsyms, "iomap_dio_bio_end_io"),
        queued_flag: queued_flag(&btf).filter(|_| has_kprobes),
    })
}

/// `BIO_TRACE_COMPLETION` as a mask; it is a member of an enumeration without a name.
fn queued_flag(btf: &Btf<'_>) -> Option<u32> {
    let mut enumerations = btf.type_by_kind::<types::Enum<'_>>();
    let bit = enumerations.find_map(|enumeration| {
        let mut members = enumeration.iter();
        let named = members.find(|member| member.name.is_some_and(|name| name == QUEUED_FLAG));
        named.map(|member| member.value)
    })?;
    // The field has 16 bits.
    u32::try_from(bit)
        .ok()
        .filter(|bit| *bit < 16)
        .map(|bit| 1 << bit)
}

fn read(path: &str) -> Result<String, ProbeError> {
    fs::read_to_string(path).map_err(|source| ProbeError::Read {
        path: path.into(),
        source,
    })
}

/// Whether the capabilities in `/proc/self/status` allow tracing programs.
fn may_load(status: &str) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or(0);
    let has = |capability: u32| mask >> capability & 1 == 1;
    has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON))
}

/// Whether `/proc/kallsyms` shows the function, with an address that is not hidden.
fn has_address(kallsyms: &str, function: &str) -> bool {
    kallsyms.lines().any(|line| {
        let mut fields = line.split_ascii_whitespace();
        let address = fields.next().unwrap_or("");
        fields.nth(1) == Some(function) && address.bytes().any(|digit| digit != b'0')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_may_load_and_others_may_not() {
        assert!(may_load("Name:\tx\nCapEff:\t000001ffffffffff\n"));
        assert!(
            may_load("CapEff:\t000000c000000000\n"),
            "CAP_BPF and CAP_PERFMON"
        );
        assert!(!may_load("CapEff:\t0000008000000000\n"), "CAP_BPF alone");
        assert!(!may_load("CapEff:\t0000000000000000\n"));
        assert!(!may_load(""));
    }

    #[test]
    fn a_hidden_address_is_no_address() {
        let shown = "ffffffff817686b0 T iomap_dio_bio_end_io\n";
        let hidden = "0000000000000000 T iomap_dio_bio_end_io\n";
        let module = "ffffffffc0123450 t iomap_dio_bio_end_io\t[iomap]\n";
        assert!(has_address(shown, "iomap_dio_bio_end_io"));
        assert!(has_address(module, "iomap_dio_bio_end_io"));
        assert!(!has_address(hidden, "iomap_dio_bio_end_io"));
        assert!(!has_address(shown, "iomap_dio"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let support = Support {
            kernel: "5.15".into(),
            sees_dirty_pages: false,
            sees_hints: true,
            sees_reads: true,
            sees_renames: true,
            sees_remaps: true,
            sees_redirtied: true,
            sees_direct_files: true,
            queued_flag: None,
        };
        let limitations = support.limitations();
        assert_eq!(limitations.len(), 1);
        assert!(limitations[0].contains("writeback_dirty_folio"));
    }
}
