//! A writer in a form that survives restart and address randomisation, and its 64-bit signature.

use std::{hash::Hasher as _, sync::Arc};

use anabranch_trace::{COMPILED, ContextKind, Frame};
use fnv::FnvHasher;

use crate::shared::Shared;

/// A file with code, or a region of code that lies in no file.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Object {
    /// GNU build-id in lower-case hexadecimal; empty when there is none.
    pub build_id: String,
    /// Path when it was mapped; in brackets for what lies in no file.
    pub path: String,
}

/// Name of code without a file: a just-in-time compiler's.
pub(crate) const ANONYMOUS: &str = "[anon]";

impl Object {
    /// Code that lies in no file.
    pub(crate) fn anonymous() -> Object {
        Object {
            build_id: String::new(),
            path: ANONYMOUS.to_owned(),
        }
    }

    /// A function that a just-in-time compiler named, wherever it lies: its name follows [`COMPILED`] in the path.
    pub(crate) fn compiled(function: &str) -> Object {
        Object {
            build_id: String::new(),
            path: format!("{COMPILED} {function}"),
        }
    }

    /// Name of the object that lasts over restarts: its build-id, else its path.
    fn identity(&self) -> &str {
        if self.build_id.is_empty() {
            &self.path
        } else {
            &self.build_id
        }
    }
}

/// One return address: an object and the byte offset in its file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct CallSite {
    pub object: Arc<Object>,
    pub file_offset: u64,
}

impl CallSite {
    /// The frame that a trace has of it.
    pub(crate) fn frame(&self) -> Frame {
        let path = &self.object.path;
        let function = path
            .strip_prefix(COMPILED)
            .map(|name| name.trim_start().to_owned());
        Frame {
            build_id: self.object.build_id.clone(),
            object: match function {
                Some(_) => COMPILED.to_owned(),
                None => path.clone(),
            },
            file_offset: self.file_offset,
            symbol: function,
        }
    }

    fn is(&self, other: &CallSite) -> bool {
        self.file_offset == other.file_offset && Arc::ptr_eq(&self.object, &other.object)
    }
}

/// Writer: a kind, a role and, for a user thread, its call path, innermost call first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Writer {
    pub kind: ContextKind,
    pub role: Box<str>,
    path: Arc<[CallSite]>,
}

impl Writer {
    /// A writer. Of a call site that recurs, only the innermost call counts: how deep a recursion
    /// went says nothing about the data. Digits are taken from the thread's name: they number
    /// threads that play one role.
    pub(crate) fn new(kind: ContextKind, comm: &str, path: Vec<CallSite>) -> Writer {
        let mut distinct: Vec<CallSite> = Vec::with_capacity(path.len());
        for site in path {
            if !distinct.iter().any(|seen| seen.is(&site)) {
                distinct.push(site);
            }
        }
        Writer {
            kind,
            role: comm.chars().filter(|c| !c.is_ascii_digit()).collect(),
            path: distinct.into(),
        }
    }

    /// The same writer, whose path is one of `paths` if they have it.
    pub(crate) fn share_path(self, paths: &mut Shared<[CallSite]>) -> Writer {
        Writer {
            path: paths.share(self.path),
            ..self
        }
    }

    /// The call path, innermost call first.
    pub(crate) fn path(&self) -> &[CallSite] {
        &self.path
    }

    /// The name of the context made of this writer's role and the innermost `depth` calls:
    /// 64-bit FNV-1a over the kind's number, the role, a zero byte, and for each call the object's
    /// build-id (its path if it has none), a zero byte and the file offset in little-endian order.
    pub(crate) fn signature(&self, kind: ContextKind, depth: usize) -> u64 {
        let mut hash = FnvHasher::default();
        hash.write(&[kind.number()]);
        hash.write(self.role.as_bytes());
        hash.write(&[0]);
        for site in &self.path[..depth.min(self.path.len())] {
            hash.write(site.object.identity().as_bytes());
            hash.write(&[0]);
            hash.write(&site.file_offset.to_le_bytes());
        }
        hash.finish()
    }
}

/// The name of the context of a signature's writer that writes files of a generation: the hash continued over the
/// generation as a byte. Generation 0 adds nothing.
pub(crate) fn signature_in(signature: u64, generation: u8) -> u64 {
    if generation == 0 {
        return signature;
    }
    let mut hash = FnvHasher::with_key(signature);
    hash.write(&[generation]);
    hash.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object(build_id: &str, path: &str) -> Arc<Object> {
        Arc::new(Object {
            build_id: build_id.into(),
            path: path.into(),
        })
    }

    fn writer(comm: &str, sites: &[(&Arc<Object>, u64)]) -> Writer {
        let path = sites
            .iter()
            .map(|&(object, file_offset)| CallSite {
                object: object.clone(),
                file_offset,
            })
            .collect();
        Writer::new(ContextKind::Application, comm, path)
    }

    fn signature(writer: &Writer) -> u64 {
        writer.signature(ContextKind::Application, usize::MAX)
    }

    #[test]
    fn a_signature_never_changes_from_version_to_version() {
        let libc = object("00ff", "/lib/libc.so.6");
        let program = object("", "/usr/bin/program");
        let writer = writer("worker:7", &[(&libc, 0x1234), (&program, 0x5678)]);
        assert_eq!(signature(&writer), 0xb7f3_97fb_9434_13f8);
        let of = |generation| signature_in(signature(&writer), generation);
        assert_eq!(
            [of(0), of(2)],
            [0xb7f3_97fb_9434_13f8, 0xc6ff_3a7c_d47d_f1ce]
        );
    }

    #[test]
    fn the_number_of_a_thread_is_not_part_of_its_role() {
        let libc = object("00ff", "libc");
        let (low0, low17) = (
            writer("low0", &[(&libc, 1)]),
            writer("low17", &[(&libc, 1)]),
        );
        assert_eq!(&*low0.role, "low");
        assert_eq!(signature(&low0), signature(&low17));
    }

    #[test]
    fn a_build_id_outweighs_the_path() {
        let here = object("00ff", "/usr/lib/libc.so.6");
        let there = object("00ff", "/snap/libc.so.6");
        assert_eq!(
            signature(&writer("a", &[(&here, 1)])),
            signature(&writer("a", &[(&there, 1)]))
        );
    }

    #[test]
    fn recursion_does_not_make_new_contexts() {
        let code = object("aa", "interpreter");
        let shallow = writer("a", &[(&code, 1), (&code, 2), (&code, 3), (&code, 9)]);
        let deep = writer(
            "a",
            &[
                (&code, 1),
                (&code, 2),
                (&code, 3),
                (&code, 2),
                (&code, 3),
                (&code, 9),
            ],
        );
        assert_eq!(signature(&shallow), signature(&deep));
    }

    proptest! {
        #[test]
        fn paths_that_differ_anywhere_have_different_signatures(offsets in proptest::collection::hash_set(0_u64..1 << 32, 2..20), change in any::<proptest::sample::Index>()) {
            let code = object("aa", "code");
            let offsets: Vec<u64> = offsets.into_iter().collect();
            let mut changed = offsets.clone();
            changed[change.index(offsets.len())] += 1 << 33;
            let sites = |offsets: &[u64]| -> Vec<CallSite> {
                offsets.iter().map(|&file_offset| CallSite { object: code.clone(), file_offset }).collect()
            };
            let before = Writer::new(ContextKind::Application, "a", sites(&offsets));
            let after = Writer::new(ContextKind::Application, "a", sites(&changed));
            prop_assert_ne!(signature(&before), signature(&after));
        }
    }
}
