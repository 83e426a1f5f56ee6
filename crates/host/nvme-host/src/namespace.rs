//! An NVMe namespace by its character device: what it is, and commands one at a time.
//!
//! `unsafe` only for the two ioctls, which no safe wrapper covers.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};

use crate::command::{Queue, opcode};
use crate::configuration::Configuration;
use crate::error::NamespaceError;
use crate::placement::{self, PlacementHandle};
use crate::usage::{self, Usage};

/// `struct nvme_passthru_cmd` of linux/nvme_ioctl.h.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct Passthrough {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    words_2_and_3: [u32; 2],
    metadata: u64,
    address: u64,
    metadata_bytes: u32,
    data_bytes: u32,
    words: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

mod ioctl {
    use super::Passthrough;

    nix::ioctl_none_bad!(namespace, nix::request_code_none!(b'N', 0x40));
    nix::ioctl_readwrite!(admin, b'N', 0x41, Passthrough);
    nix::ioctl_readwrite!(io, b'N', 0x43, Passthrough);
}

/// An open namespace.
#[derive(Debug)]
pub struct Namespace {
    file: File,
    path: PathBuf,
    number: u32,
}

impl Namespace {
    /// Opens `/dev/ngXnY` or `/dev/nvmeXnY`.
    ///
    /// # Errors
    /// When it cannot be opened, or is no NVMe namespace.
    pub fn open(path: &Path) -> Result<Namespace, NamespaceError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map_err(|source| NamespaceError::Io {
                what: "open",
                path: path.to_owned(),
                source,
            })?;
        // SAFETY: the ioctl takes no argument and only answers a number.
        let number = unsafe { ioctl::namespace(file.as_raw_fd()) };
        let number = number.map_err(|error| NamespaceError::Io {
            what: "ask the namespace's number of",
            path: path.to_owned(),
            source: error.into(),
        })?;
        Ok(Namespace {
            file,
            path: path.to_owned(),
            number: u32::try_from(number).unwrap_or(0),
        })
    }

    /// Its number on its controller.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The file it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A command whose answer, if any, fills `data`; gives the first word of the completion. `words` are command
    /// words 10 to 15. A status of the drive's is `Err(Ok(status))`.
    fn perform(
        &self,
        queue: Queue,
        opcode: u8,
        namespace: u32,
        words: [u32; 6],
        data: &mut [u8],
    ) -> Result<u32, Result<u16, io::Error>> {
        let mut command = Passthrough {
            opcode,
            namespace,
            address: data.as_mut_ptr() as u64,
            data_bytes: u32::try_from(data.len()).unwrap_or(u32::MAX),
            words,
            ..Passthrough::default()
        };
        let file = self.file.as_raw_fd();
        // SAFETY: `command` names `data`, which lives and is not otherwise used until the call returns, and the
        // kernel transfers at most its length.
        let answer = unsafe {
            match queue {
                Queue::Admin => ioctl::admin(file, &mut command),
                Queue::Io => ioctl::io(file, &mut command),
            }
        };
        match answer {
            Ok(0) => Ok(command.result),
            Ok(status) => Err(Ok(u16::try_from(status).unwrap_or(u16::MAX))),
            Err(error) => Err(Err(error.into())),
        }
    }

    /// The same for one namespace or, where `namespace` is false, for the controller.
    ///
    /// # Errors
    /// When the drive answers with a status, or the kernel with an error.
    pub fn ask(
        &self,
        what: &'static str,
        (queue, opcode, namespace): (Queue, u8, bool),
        words: [u32; 6],
        data: &mut [u8],
    ) -> Result<u32, NamespaceError> {
        let number = if namespace { self.number } else { 0 };
        self.perform(queue, opcode, number, words, data)
            .map_err(|error| match error {
                Ok(status) => NamespaceError::Refused {
                    path: self.path.clone(),
                    what,
                    status,
                },
                Err(source) => NamespaceError::Io {
                    what,
                    path: self.path.clone(),
                    source,
                },
            })
    }

    /// The controller's description (CNS 1), 4096 bytes.
    ///
    /// # Errors
    /// When it is not given.
    pub fn identify_controller(&self) -> Result<Vec<u8>, NamespaceError> {
        self.identify(1, false)
    }

    /// The namespace's description (CNS 0), 4096 bytes.
    ///
    /// # Errors
    /// When it is not given.
    pub fn identify_namespace(&self) -> Result<Vec<u8>, NamespaceError> {
        self.identify(0, true)
    }

    /// The namespace's identification descriptors (CNS 3), 4096 bytes; zeroes of a drive that does not know them.
    ///
    /// # Errors
    /// When the drive cannot be asked.
    pub fn identifiers(&self) -> Result<Vec<u8>, NamespaceError> {
        match self.identify(3, true) {
            Err(NamespaceError::Refused { .. }) => Ok(vec![0; 4096]),
            answer => answer,
        }
    }

    fn identify(&self, structure: u32, namespace: bool) -> Result<Vec<u8>, NamespaceError> {
        let mut data = vec![0; 4096];
        let command = (Queue::Admin, opcode::IDENTIFY, namespace);
        self.ask("identify", command, [structure, 0, 0, 0, 0, 0], &mut data)?;
        Ok(data)
    }

    /// The first bytes of a log page; `specific` is the log specific identifier, such as the endurance group's.
    ///
    /// # Errors
    /// When the drive has no such page.
    pub fn log(&self, page: u8, specific: u16, bytes: usize) -> Result<Vec<u8>, NamespaceError> {
        let mut data = vec![0; bytes.next_multiple_of(4)];
        let dwords = (data.len() / 4 - 1) as u32;
        let words = [
            u32::from(page) | (dwords & 0xffff) << 16,
            dwords >> 16 | u32::from(specific) << 16,
            0,
            0,
            0,
            0,
        ];
        let command = (Queue::Admin, opcode::GET_LOG, false);
        self.ask("get a log page", command, words, &mut data)?;
        Ok(data)
    }

    /// The namespace's placement handles, as [`placement::handles`] has them.
    ///
    /// # Errors
    /// When the namespace has no Flexible Data Placement.
    pub fn handles(&self) -> Result<Vec<PlacementHandle>, NamespaceError> {
        placement::handles(|what, command, words, data| self.ask(what, command, words, data))
    }

    /// Has placement handles go on with empty units (Reclaim Unit Handle Update; NVMe Base Specification 2.1, §7.4).
    ///
    /// # Errors
    /// When the namespace has no Flexible Data Placement, or not these handles.
    pub fn update_handles(&self, identifiers: &[u16]) -> Result<(), NamespaceError> {
        const UPDATE: u32 = 1;
        let Some(most) = identifiers.len().checked_sub(1) else {
            return Ok(());
        };
        let mut data: Vec<u8> = identifiers
            .iter()
            .flat_map(|one| one.to_le_bytes())
            .collect();
        let command = (Queue::Io, opcode::MANAGEMENT_SEND, true);
        // Their count is 0's based, in bits 31:16.
        let words = [UPDATE | (most as u32) << 16, 0, 0, 0, 0, 0];
        self.ask("update reclaim unit handles", command, words, &mut data)?;
        Ok(())
    }

    /// The configuration of Flexible Data Placement that is in force, as [`Configuration::in_force`] has it.
    ///
    /// # Errors
    /// When the endurance group has none.
    pub fn configuration(
        &self,
        endurance_group: u16,
    ) -> Result<Option<Configuration>, NamespaceError> {
        Configuration::in_force(endurance_group, |what, command, words, data| {
            self.ask(what, command, words, data)
        })
    }

    /// Its endurance group (ENDGID); 0 for none.
    ///
    /// # Errors
    /// When it is not described.
    pub fn endurance_group(&self) -> Result<u16, NamespaceError> {
        let described = self.identify_namespace()?;
        let field = described
            .get(102..104)
            .and_then(|field| field.try_into().ok());
        Ok(field.map_or(0, u16::from_le_bytes))
    }

    /// Reads the usage of each handle of an endurance group, as [`usage::usage`] does.
    ///
    /// # Errors
    /// When the drive has no such page.
    pub fn usage(&self, endurance_group: u16) -> Result<Vec<Usage>, NamespaceError> {
        usage::usage(endurance_group, |what, command, words, data| {
            self.ask(what, command, words, data)
        })
    }

    /// Turns the Streams Directive on; a controller reset turns it off.
    ///
    /// # Errors
    /// When the drive has none.
    pub fn enable_streams(&self) -> Result<(), NamespaceError> {
        const ENABLE_BY_IDENTIFY: u32 = 1;
        const ENABLED_STREAMS: u32 = 1 | 1 << 8;
        let command = (Queue::Admin, opcode::DIRECTIVE_SEND, true);
        let words = [0, ENABLE_BY_IDENTIFY, ENABLED_STREAMS, 0, 0, 0];
        self.ask("enable streams", command, words, &mut [])?;
        Ok(())
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
