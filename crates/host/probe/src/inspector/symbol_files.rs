//! The files of which symbols were asked, open and parsed.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use blazesym::symbolize::source::{Elf, Source};
use blazesym::symbolize::{Input, Symbolizer};
use nix::libc::O_NOFOLLOW;

use super::code_file::{descriptor, is_of_system, open_regular};
use super::message::Call;
use crate::build_id::build_id;

/// The most files that are open. Our choice: below the process's limit.
pub(super) const MAX_OPEN: usize = 512;

struct Opened {
    file: File,
    build_id: String,
    /// Whether debug information beside it is looked for.
    is_of_system: bool,
}

/// Files by their path; `None` for one that cannot be opened.
pub(super) struct SymbolFiles {
    symbolizer: Symbolizer,
    files: HashMap<String, Option<Opened>>,
}

impl Default for SymbolFiles {
    fn default() -> SymbolFiles {
        SymbolFiles {
            symbolizer: Symbolizer::builder()
                .enable_code_info(false)
                .enable_inlined_fns(false)
                .build(),
            files: HashMap::new(),
        }
    }
}

impl SymbolFiles {
    /// The name of the function that makes a call; `None` if the file has another build-id, or no name.
    pub(super) fn symbol(&mut self, call: &Call) -> Option<String> {
        if self.files.len() >= MAX_OPEN {
            *self = SymbolFiles::default();
        }
        let opened = self.files.entry(call.path.clone());
        let opened = opened.or_insert_with(|| open(&call.path)).as_ref()?;
        if opened.build_id != call.build_id {
            return None;
        }
        // Links to debug information lead to paths beside the file, which are opened whatever lies there.
        let debug = call.debug && opened.is_of_system;
        let mut elf = Elf::new(descriptor(&opened.file));
        elf.debug_syms = debug;
        let symbolized = self
            .symbolizer
            .symbolize_single(&Source::from(elf), Input::FileOffset(call.file_offset))
            .ok()?;
        Some(symbolized.into_sym()?.name.into_owned())
    }
}

fn open(path: &str) -> Option<Opened> {
    // The kernel names mapped files by paths without links.
    let file = open_regular(Path::new(path), O_NOFOLLOW).ok()?;
    Some(Opened {
        build_id: build_id(&descriptor(&file)).unwrap_or_default(),
        is_of_system: is_of_system(&file),
        file,
    })
}
