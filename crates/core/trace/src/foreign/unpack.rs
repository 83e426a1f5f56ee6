//! Unpacking an input.

use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::read::MultiGzDecoder;
use zstd::stream::read::Decoder;

use super::error::ImportError;
use crate::error::TraceError;

/// Any source of bytes.
pub(super) type Source = Box<dyn Read + Send>;

/// Bytes read to see how an input is packed: the longest mark has six.
const MARK_BYTES: usize = 6;

/// The base-two logarithm of the window a zstd frame may ask for: 128 MiB, the most that `zstd -d`
/// takes without being told otherwise (zstd's manual, `--memory`). It bounds the memory.
const ZSTD_WINDOW_LOG: u32 = 27;

/// The bytes with which packed inputs begin.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const XZ: &[u8] = b"\xfd7zXZ\0";
const BZIP2: &[u8] = b"BZh";

/// The bytes with which other inputs begin that are no text yet, the kind, and the command that prints them: perf's
/// `PERF_MAGIC2` (Linux `tools/perf/Documentation/perf.data-file-format.txt`), and trace-cmd's `trace.dat(5)`.
const OTHERS: [(&[u8], &str, &str); 4] = [
    (XZ, "packed by xz", "xz -dc"),
    (BZIP2, "packed by bzip2", "bzip2 -dc"),
    (b"PERFIL", "a recording of perf", "perf script -i"),
    (
        b"\x17\x08Dtra",
        "a recording of trace-cmd",
        "trace-cmd report -i",
    ),
];

/// Counts the bytes read of an input as stored, packed.
struct Counted<R> {
    read: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The bytes of a plain, gzip or zstd input, and the count of those read of it so far.
pub(super) fn unpack(
    path: &Path,
    read: impl Read + Send + 'static,
) -> Result<(Source, Arc<AtomicU64>), ImportError> {
    let failed = |source| TraceError::Read {
        path: path.into(),
        source,
    };
    let bytes = Arc::new(AtomicU64::new(0));
    let mut counted = Counted {
        read,
        bytes: bytes.clone(),
    };
    let mut mark = Vec::with_capacity(MARK_BYTES);
    let begin = Read::by_ref(&mut counted).take(MARK_BYTES as u64);
    { begin }.read_to_end(&mut mark).map_err(failed)?;
    if mark.is_empty() {
        return Err(TraceError::Empty { path: path.into() }.into());
    }
    let other = OTHERS.iter().find(|(begin, ..)| mark.starts_with(begin));
    if let Some((_, what, with)) = other {
        return Err(ImportError::Packed {
            path: path.into(),
            what,
            with,
        });
    }
    let (gzip, zstd) = (mark.starts_with(GZIP), mark.starts_with(ZSTD));
    let whole = Cursor::new(mark).chain(counted);
    let source: Source = if gzip {
        Box::new(MultiGzDecoder::new(io::BufReader::new(whole)))
    } else if zstd {
        let mut decoder = Decoder::new(whole).map_err(failed)?;
        decoder.window_log_max(ZSTD_WINDOW_LOG).map_err(failed)?;
        Box::new(decoder)
    } else {
        Box::new(whole)
    };
    Ok((source, bytes))
}
