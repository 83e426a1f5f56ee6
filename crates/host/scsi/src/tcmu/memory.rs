//! Memory that is shared with somebody.

/// Bytes that another one reads and writes as well. Nothing of it is trusted, and nothing is read twice.
pub trait Memory {
    /// Number of bytes.
    fn bytes(&self) -> usize;

    /// Copies bytes from an offset; `None` where they lie beyond the end.
    fn read(&self, at: usize, into: &mut [u8]) -> Option<()>;

    /// Copies bytes to an offset.
    fn write(&self, at: usize, bytes: &[u8]) -> Option<()>;

    /// A number that the other side writes after the entries that it counts.
    fn load(&self, at: usize) -> Option<u32>;

    /// A number that the other side reads before the entries that it counts.
    fn store(&self, at: usize, number: u32) -> Option<()>;
}
