//! The kernel side's records, decoded. The layouts are those of `bpf/events.h`.

use std::fmt;

/// The most return addresses of a stack record.
pub(crate) const MAX_FRAMES: usize = 24;
/// Words of the stack that come with the record of a process whose code is not known yet.
pub(crate) const SCAN_WORDS: usize = 128;
/// The most executable ranges that the kernel side keeps of a program image.
pub(crate) const MAX_RANGES: usize = 128;
const COMM_BYTES: usize = 16;
const NAME_BYTES: usize = 256;
const DIRECTORY_BYTES: usize = 32;
const MAX_MAPPINGS: u32 = 32;
const PATH_BYTES: usize = 192;
const NO_REQUEST_HINT: u8 = 255;

/// A file: inode number, generation and file system, so that a reused inode number is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct FileKey {
    pub ino: u64,
    pub generation: u32,
    pub dev: u32,
}

/// The key of a process between two calls of `execve`: `image` is made of addresses that change with each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct ImageKey {
    pub image: u64,
    pub tgid: u32,
}

impl FileKey {
    /// The key as the kernel side's maps have it.
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.ino.to_ne_bytes());
        bytes[8..12].copy_from_slice(&self.generation.to_ne_bytes());
        bytes[12..].copy_from_slice(&self.dev.to_ne_bytes());
        bytes
    }
}

impl ImageKey {
    /// The key as the kernel side's `images` map has it.
    pub(crate) fn to_words(self) -> [u64; 2] {
        let [a, b, c, d] = self.tgid.to_ne_bytes();
        [self.image, u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0])]
    }
}

/// The kind of thread that wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriterKind {
    User,
    Journal,
    Metadata,
    Kernel,
}

/// A request to the device, or the part of it that one writer caused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IoEvent {
    pub operation: u8,
    pub hint: u8,
    pub hint_granted: bool,
    /// The hint that the request itself carries; `None` where the kernel has no field for it.
    pub request_hint: Option<u8>,
    pub time_ns: u64,
    pub offset_bytes: u64,
    pub length_bytes: u64,
    /// The hash of the writer's [`StackEvent`]; 0 if there is no writer.
    pub writer: u64,
    /// The key of the file; all zero where there is none.
    pub file: FileKey,
    /// Whether a program passed it to the drive itself, as a command.
    pub is_passed: bool,
    /// The placement that the command names.
    pub placement: Option<u16>,
}

/// The writer that a hash stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StackEvent {
    pub kind: WriterKind,
    /// Whether every frame but the first is a guess from the words on the stack.
    pub scanned: bool,
    /// Whether the kernel side knew where the process has code.
    pub known: bool,
    pub hash: u64,
    pub image: ImageKey,
    /// The address at which the walk left known code; 0 if it did not.
    pub outside: u64,
    pub stack_pointer: u64,
    pub frame_pointer: u64,
    /// The number of the thread's control group; 0 where it was not asked for, and for the file system's own writes.
    pub group: u64,
    pub comm: String,
    /// Return addresses, innermost first.
    pub frames: Vec<u64>,
    /// The words of the stack from the stack pointer on, if the kernel side did not know the path.
    pub words: Vec<u64>,
}

/// A part of a process's memory that it may execute, as the kernel side lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodeMapping {
    pub start: u64,
    pub end: u64,
    pub file_offset: u64,
    /// Inode number of the file that it is mapped from; 0 if it is of none.
    pub ino: u64,
    /// The kernel's number of that file's device: major << 20 | minor.
    pub dev: u32,
    /// The file's path below the root of its file system, with a slash before it; empty if it is not known.
    pub path: String,
}

/// One record of the ring buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Io(IoEvent),
    Stack(Box<StackEvent>),
    /// A new program image, and where it had code then; of kernels that cannot tell, nowhere. The kernel side asks for
    /// the ranges of its code.
    Process {
        image: ImageKey,
        code: Vec<CodeMapping>,
    },
    File {
        key: FileKey,
        name: String,
        /// The directory, below the file system's root, that the file lies in; empty for the root itself.
        directory: String,
        /// The file's generation, once a write to it was seen.
        generation: Option<u8>,
    },
}

/// A record without the layout of its type: the two sides were built from different sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MalformedRecord;

impl fmt::Display for MalformedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("malformed record")
    }
}

impl Event {
    /// Decodes one record.
    pub(crate) fn decode(record: &[u8]) -> Result<Event, MalformedRecord> {
        let mut fields = Fields(record);
        match fields.u32()? {
            1 => fields.io().map(Event::Io),
            6 => fields.passed(),
            2 => fields.stack().map(|stack| Event::Stack(Box::new(stack))),
            5 => fields.stack_words(Some(SCAN_WORDS)),
            7 => fields.stack_words(None),
            3 => fields.process(),
            4 => {
                let begun = fields.u32()?.checked_sub(1);
                let generation = begun.map(u8::try_from).transpose();
                let key = fields.file()?;
                let name = fields.text::<NAME_BYTES>()?;
                let directory = fields.text::<DIRECTORY_BYTES>()?;
                Ok(Event::File {
                    key,
                    name,
                    directory,
                    generation: generation.map_err(|_| MalformedRecord)?,
                })
            }
            _ => Err(MalformedRecord),
        }
    }
}

/// The rest of a record, read from the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], MalformedRecord> {
        let (field, rest) = self.0.split_first_chunk().ok_or(MalformedRecord)?;
        self.0 = rest;
        Ok(*field)
    }

    fn u8(&mut self) -> Result<u8, MalformedRecord> {
        self.bytes().map(u8::from_ne_bytes)
    }

    fn u32(&mut self) -> Result<u32, MalformedRecord> {
        self.bytes().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Result<u64, MalformedRecord> {
        self.bytes().map(u64::from_ne_bytes)
    }

    /// Takes a text of at most `N` bytes that ends before the first zero byte.
    fn text<const N: usize>(&mut self) -> Result<String, MalformedRecord> {
        let bytes = self.bytes::<N>()?;
        let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(N);
        Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }

    fn file(&mut self) -> Result<FileKey, MalformedRecord> {
        Ok(FileKey {
            ino: self.u64()?,
            generation: self.u32()?,
            dev: self.u32()?,
        })
    }

    fn image(&mut self) -> Result<ImageKey, MalformedRecord> {
        let key = ImageKey {
            image: self.u64()?,
            tgid: self.u32()?,
        };
        self.u32()?;
        Ok(key)
    }

    fn process(mut self) -> Result<Event, MalformedRecord> {
        let count = self.u32()?;
        let image = self.image()?;
        self.u64()?;
        let code = (0..count.min(MAX_MAPPINGS)).map(|_| self.mapping());
        let code = code.collect::<Result<_, _>>()?;
        Ok(Event::Process { image, code })
    }

    fn mapping(&mut self) -> Result<CodeMapping, MalformedRecord> {
        let [start, end, file_offset, ino] = [self.u64()?, self.u64()?, self.u64()?, self.u64()?];
        let (dev, path_bytes) = (self.u32()?, self.u32()?);
        let names = self.bytes::<PATH_BYTES>()?;
        let names = names
            .get(..path_bytes as usize)
            .ok_or(MalformedRecord)?
            .strip_suffix(&[0])
            .unwrap_or_default();
        let outermost_first = names.rsplit(|&byte| byte == 0);
        let path = outermost_first
            .filter(|name| !name.is_empty())
            .map(|name| format!("/{}", String::from_utf8_lossy(name)));
        Ok(CodeMapping {
            start,
            end,
            file_offset,
            ino,
            dev,
            path: path.collect(),
        })
    }

    /// A request, and behind it one more than the placement that it names.
    fn passed(mut self) -> Result<Event, MalformedRecord> {
        let io = self.io()?;
        let placement = self.u64()?.checked_sub(1).map(u16::try_from).transpose();
        Ok(Event::Io(IoEvent {
            is_passed: true,
            placement: placement.map_err(|_| MalformedRecord)?,
            ..io
        }))
    }

    fn io(&mut self) -> Result<IoEvent, MalformedRecord> {
        let [operation, hint, hint_granted, request_hint] = self.bytes()?;
        Ok(IoEvent {
            operation,
            hint,
            hint_granted: hint_granted != 0,
            request_hint: (request_hint != NO_REQUEST_HINT).then_some(request_hint),
            time_ns: self.u64()?,
            offset_bytes: self.u64()?,
            length_bytes: self.u64()?,
            writer: self.u64()?,
            file: self.file()?,
            is_passed: false,
            placement: None,
        })
    }

    /// A stack, and behind it so many of its words, or their number and room for the most there are.
    fn stack_words(mut self, count: Option<usize>) -> Result<Event, MalformedRecord> {
        let mut stack = self.stack()?;
        let count = count.map_or_else(|| self.u64(), |count| Ok(count as u64))?;
        let bytes = usize::try_from(count)
            .ok()
            .and_then(|count| self.0.get(..count.checked_mul(8)?));
        let (words, _) = bytes.ok_or(MalformedRecord)?.as_chunks();
        stack.words = words.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        Ok(Event::Stack(Box::new(stack)))
    }

    fn stack(&mut self) -> Result<StackEvent, MalformedRecord> {
        let kind = match self.u8()? {
            0 => WriterKind::User,
            1 => WriterKind::Journal,
            2 => WriterKind::Metadata,
            3 => WriterKind::Kernel,
            _ => return Err(MalformedRecord),
        };
        let [scanned, count, known] = self.bytes()?;
        let mut stack = StackEvent {
            kind,
            scanned: scanned != 0,
            known: known != 0,
            hash: self.u64()?,
            image: self.image()?,
            outside: self.u64()?,
            stack_pointer: self.u64()?,
            frame_pointer: self.u64()?,
            group: self.u64()?,
            comm: self.text::<COMM_BYTES>()?,
            frames: Vec::with_capacity(MAX_FRAMES),
            words: Vec::new(),
        };
        for _ in 0..MAX_FRAMES {
            stack.frames.push(self.u64()?);
        }
        stack.frames.truncate(count.into());
        Ok(stack)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn io_record() -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(1_u32.to_ne_bytes());
        record.extend([1, 5, 1, 4]);
        for field in [11_u64, 4096, 8192, 77, 12] {
            record.extend(field.to_ne_bytes());
        }
        record.extend(13_u32.to_ne_bytes());
        record.extend(14_u32.to_ne_bytes());
        record
    }

    #[test]
    fn an_io_record_is_decoded_field_by_field() {
        let expected = IoEvent {
            operation: 1,
            hint: 5,
            hint_granted: true,
            request_hint: Some(4),
            time_ns: 11,
            offset_bytes: 4096,
            length_bytes: 8192,
            writer: 77,
            file: FileKey {
                ino: 12,
                generation: 13,
                dev: 14,
            },
            is_passed: false,
            placement: None,
        };
        assert_eq!(Event::decode(&io_record()), Ok(Event::Io(expected)));
    }

    #[test]
    fn a_request_that_was_passed_has_its_placement_behind_it() {
        let placement = |word: u64| {
            let mut record = io_record();
            record[0] = 6;
            record.extend(word.to_ne_bytes());
            Event::decode(&record).map(|event| match event {
                Event::Io(io) => (io.offset_bytes, io.placement),
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(placement(0), Ok((4096, None)));
        assert_eq!(placement(1), Ok((4096, Some(0))));
        assert_eq!(placement(65536), Ok((4096, Some(65535))));
        assert_eq!(placement(65537), Err(MalformedRecord));
    }

    #[test]
    fn a_record_cut_short_is_refused_at_every_length() {
        let record = io_record();
        for length in 0..record.len() {
            assert_eq!(Event::decode(&record[..length]), Err(MalformedRecord));
        }
    }

    #[test]
    fn a_files_name_ends_at_its_zero_byte_and_its_generation_is_one_less() {
        let mut record = Vec::new();
        record.extend(4_u32.to_ne_bytes());
        record.extend(3_u32.to_ne_bytes());
        record.extend([0; 16]);
        let mut name = [b'x'; NAME_BYTES];
        name[..11].copy_from_slice(b"000123.sst\0");
        record.extend(name);
        let mut directory = [b'x'; DIRECTORY_BYTES];
        directory[..9].copy_from_slice(b"tenant-2\0");
        record.extend(directory);
        let Ok(Event::File {
            name,
            directory,
            generation,
            ..
        }) = Event::decode(&record)
        else {
            panic!("not a file event");
        };
        assert_eq!(
            (name.as_str(), directory.as_str(), generation),
            ("000123.sst", "tenant-2", Some(2))
        );
    }

    #[test]
    fn a_new_process_tells_its_code_with_the_paths_from_their_roots() {
        let mut record = Vec::new();
        for number in [3_u32, 1] {
            record.extend(number.to_ne_bytes());
        }
        for number in [7_u64, 42, 1, 0x1000, 0x3000, 0x2000, 12] {
            record.extend(number.to_ne_bytes());
        }
        let names = b"dd\0bin\0usr\0";
        for number in [0x0080_0001, names.len() as u32] {
            record.extend(number.to_ne_bytes());
        }
        let mut path = [b'x'; PATH_BYTES];
        path[..names.len()].copy_from_slice(names);
        record.extend(path);
        let code = CodeMapping {
            start: 0x1000,
            end: 0x3000,
            file_offset: 0x2000,
            ino: 12,
            dev: 0x0080_0001,
            path: "/usr/bin/dd".into(),
        };
        let image = ImageKey { image: 7, tgid: 42 };
        let told = Event::Process {
            image,
            code: vec![code],
        };
        assert_eq!(Event::decode(&record), Ok(told));
        let cut = &record[..record.len() - 1];
        assert_eq!(Event::decode(cut), Err(MalformedRecord));
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(record in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = Event::decode(&record);
        }

        #[test]
        fn no_stack_holds_more_frames_than_fit(count in any::<u8>(), tail in proptest::collection::vec(any::<u8>(), 300)) {
            let mut record = 2_u32.to_ne_bytes().to_vec();
            record.extend([0, 0, count, 0]);
            record.extend(tail);
            if let Ok(Event::Stack(stack)) = Event::decode(&record) {
                prop_assert!(stack.frames.len() <= MAX_FRAMES);
            }
        }
    }
}
