//! Questions about programs' files and their answers: a length of four bytes, then JSON.

use std::io::{self, ErrorKind, Read, Write};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::unwinding::Rule;

/// Bytes of the longest message. Our choice: [`MAX_MAPPINGS`](super::maps::MAX_MAPPINGS) lines with usual paths.
const MAX_MESSAGE: usize = 8 << 20;

/// The only argument of an inspector. Our test programs have a test of this name.
pub(crate) const WORD: &str = "anabranch_program_inspector";
/// A variable of an inspector's environment: a program that does not know [`WORD`] starts no further ones.
pub(crate) const MARK: &str = "ANABRANCH_INSPECTOR";

/// Bounds within which an inspector works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Seconds that one answer may take.
    pub seconds: u32,
    /// Bytes of private memory.
    pub heap_bytes: u64,
    /// Bytes of address space, mapped files included.
    pub address_bytes: u64,
}

/// A file with code, as the kernel names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CodeFile {
    pub tgid: u32,
    /// The addresses of a mapping of it; `None` of a process that is gone.
    pub range: Option<(u64, u64)>,
    /// The kernel's number of the device: major << 20 | minor.
    pub device: u32,
    pub inode: u64,
    pub path: String,
}

/// Place in code: the number of its file among a question's, and the offset there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct CodePlace {
    pub file: usize,
    pub offset: u64,
    /// Whether it is asked for as a return address: its rule is that of the call before it.
    pub is_return: bool,
}

/// An executable mapping of a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MappedCode {
    pub start: u64,
    pub end: u64,
    pub file_offset: u64,
    /// The kernel's number of the device: major << 20 | minor.
    pub device: u32,
    pub inode: u64,
    /// The path of the file; a name in brackets for code that lies in no file.
    pub path: String,
}

/// Addresses of a process's code, and the image that they are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Program {
    /// The number of the image after the mappings were read; `None` if the process is gone.
    pub image: Option<u64>,
    pub mappings: Vec<MappedCode>,
}

/// A call whose function is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Call {
    pub path: String,
    pub build_id: String,
    /// An offset within the call instruction.
    pub file_offset: u64,
    /// Whether debug information may be read.
    pub debug: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Question {
    /// The first of every inspector. The answer is [`Answer::Ready`].
    Begin(Limits),
    /// The code of a process: [`Answer::Program`].
    Program(u32),
    /// The build-id of a file: [`Answer::Text`].
    BuildId(CodeFile),
    /// The rules of places in these files: [`Answer::Rules`].
    Rules(Vec<CodeFile>, Vec<CodePlace>),
    /// The function of a call: [`Answer::Text`].
    Symbol(Call),
    /// The functions of a just-in-time compiler at these addresses of a process: [`Answer::Functions`].
    Functions(u32, Vec<u64>),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Answer {
    Ready,
    Program(Program),
    Text(Option<String>),
    Rules(Vec<Rule>),
    /// `None` if the process has no map of them.
    Functions(Option<Vec<Option<String>>>),
}

/// Writes one message.
pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    if text.len() > MAX_MESSAGE {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let length = u32::try_from(text.len()).map_err(|_| ErrorKind::FileTooLarge)?;
    to.write_all(&[&length.to_le_bytes()[..], &text].concat())
}

/// Reads one message.
pub(crate) fn receive<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Err(ErrorKind::FileTooLarge.into());
    }
    let mut text = vec![0; length];
    from.read_exact(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_as_it_was_sent() {
        let question = Question::Symbol(Call {
            path: "/opt/a \"b\"\n\u{1b}".into(),
            build_id: "00ff".into(),
            file_offset: u64::MAX,
            debug: true,
        });
        let mut bytes = Vec::new();
        send(&mut bytes, &question).unwrap();
        assert_eq!(receive::<Question>(&mut &bytes[..]).unwrap(), question);
    }

    #[test]
    fn a_message_that_claims_to_be_too_long_takes_no_memory() {
        let error = receive::<Answer>(&mut &u32::MAX.to_le_bytes()[..]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
