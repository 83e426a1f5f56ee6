//! The build-id, by which an object file is recognised after moves and restarts.

use std::path::Path;

use blazesym::Mmap;
use blazesym::helper::{read_elf_build_id, read_elf_build_id_from_mmap};

/// The GNU build-id of an ELF file in lower-case hexadecimal; `None` if it has none or cannot be
/// read.
pub(crate) fn build_id(path: &Path) -> Option<String> {
    Some(hexadecimal(&read_elf_build_id(path).ok()??))
}

/// As [`build_id`], of a file that is mapped.
pub(crate) fn build_id_of(bytes: &Mmap) -> Option<String> {
    Some(hexadecimal(&read_elf_build_id_from_mmap(bytes).ok()??))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
