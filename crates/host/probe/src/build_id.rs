//! The build-id, by which an object file is recognised after moves and restarts.

use std::path::Path;

/// The GNU build-id of an ELF file in lower-case hexadecimal; `None` if it has none or cannot be
/// read.
pub(crate) fn build_id(path: impl AsRef<Path>) -> Option<String> {
    let bytes = blazesym::helper::read_elf_build_id(path.as_ref()).ok()??;
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
