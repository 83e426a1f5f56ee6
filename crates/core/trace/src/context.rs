//! Program contexts: who wrote.

use serde::{Deserialize, Serialize};

use crate::io::ContextId;

/// A kind of writer.
// IMPORTANT: signatures are made of the numbers, and kept for years: no number ever changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextKind {
    /// The writer could not be attributed.
    Unknown = 0,
    /// A call path of an application.
    Application = 1,
    /// Stacks that are too rare, or too many, to be contexts of their own: they share a shallower
    /// stack.
    Folded = 2,
    /// The file system's journal or log.
    Journal = 3,
    /// The file system's metadata.
    Metadata = 4,
    /// Any other thread of the kernel.
    Kernel = 5,
}

impl ContextKind {
    /// The kind's number in signatures.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

/// One return address of a call path, in a form that survives restart and address randomisation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// The object's GNU build-id in lower-case hexadecimal; empty when it has none.
    pub build_id: String,
    /// The object's path when it was captured. For code that lies in no file (a just-in-time compiler's) it is
    /// [`COMPILED`](crate::COMPILED) where the compiler named the function, else `[anon]`.
    pub object: String,
    /// Byte offset of the return address in the object's file; 0 for code that lies in no file.
    pub file_offset: u64,
    /// The function's name, if the object still tells it.
    pub symbol: Option<String>,
}

/// One row of a trace's context table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    /// The row's own index; rows are dense and start with the unknown context, 0.
    #[serde(with = "context_id")]
    pub id: ContextId,
    /// 64-bit name of the context, equal over restarts and address randomisation. In a file it is
    /// 16 hexadecimal digits: a JSON number of that size is rounded by many readers.
    #[serde(with = "signature")]
    pub signature: u64,
    /// Its kind of writer.
    pub kind: ContextKind,
    /// The thread's name, its digits stripped: the role the thread plays.
    pub role: String,
    /// The call path, innermost frame first; empty for the kernel's own threads.
    pub frames: Vec<Frame>,
    /// The generation of the files that are written: one more than the least of what the thread had read for them, so
    /// that a tree's levels are contexts of their own; 0 where it had read nothing, or that was not seen.
    #[serde(default, skip_serializing_if = "is_first")]
    pub generation: u8,
}

/// A row of generation 0 is written as rows were before there were generations.
fn is_first(generation: &u8) -> bool {
    *generation == 0
}

impl Context {
    /// A row without a call path.
    pub fn new(
        id: ContextId,
        signature: u64,
        kind: ContextKind,
        role: impl Into<String>,
    ) -> Context {
        Context {
            id,
            signature,
            kind,
            role: role.into(),
            frames: Vec::new(),
            generation: 0,
        }
    }

    /// Row 0 of every context table.
    pub fn unknown() -> Context {
        Context::new(ContextId::UNKNOWN, 0, ContextKind::Unknown, "")
    }
}

mod context_id {
    use super::ContextId;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(id: &ContextId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(id.0)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ContextId, D::Error> {
        u32::deserialize(deserializer).map(ContextId)
    }
}

mod signature {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(signature: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{signature:016x}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits
            .then(|| u64::from_str_radix(&text, 16).ok())
            .flatten()
            .ok_or_else(|| D::Error::custom("a signature is 16 hexadecimal digits"))
    }
}
