//! Output packed as the end of the file's name asks for.

use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use zstd::stream::write::Encoder;

/// The default level of zstd itself (zstd's manual, `-#`); traces hardly shrink at higher ones.
const ZSTD_LEVEL: i32 = 3;

/// Writes bytes as they are, or packed as `.gz` or `.zst` at the end of the name asks for.
#[derive(Debug)]
pub struct Packed<W: Write>(Kind<W>);

enum Kind<W: Write> {
    Plain(W),
    Gzip(GzEncoder<W>),
    Zstd(Encoder<'static, W>),
}

impl<W: Write> std::fmt::Debug for Kind<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Kind::Plain(_) => "Plain",
            Kind::Gzip(_) => "Gzip",
            Kind::Zstd(_) => "Zstd",
        })
    }
}

impl<W: Write> Packed<W> {
    /// A writer that packs as a file's name asks for.
    ///
    /// # Errors
    /// When there is no memory to pack with.
    pub fn by_name(path: &Path, out: W) -> io::Result<Packed<W>> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        Ok(Packed(match ending {
            Some("gz") => Kind::Gzip(GzEncoder::new(out, Compression::default())),
            Some("zst") => Kind::Zstd(Encoder::new(out, ZSTD_LEVEL)?),
            _ => Kind::Plain(out),
        }))
    }

    /// Ends the packed stream, and hands back the output.
    ///
    /// # Errors
    /// When the last bytes cannot be written.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Kind::Plain(out) => Ok(out),
            Kind::Gzip(encoder) => encoder.finish(),
            Kind::Zstd(encoder) => encoder.finish(),
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Kind::Plain(out) => out.write(bytes),
            Kind::Gzip(encoder) => encoder.write(bytes),
            Kind::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Kind::Plain(out) => out.flush(),
            Kind::Gzip(encoder) => encoder.flush(),
            Kind::Zstd(encoder) => encoder.flush(),
        }
    }
}
