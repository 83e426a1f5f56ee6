//! A request under way.

/// The kind of a request, as an index into what is kept for each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Discard,
    Flush,
    /// A read or a write of a host that collects. Nobody waits for it: it has a name and no latency.
    Rewrite,
}

/// A request that is not answered yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) kind: Kind,
    /// When the host issued it, in nanoseconds.
    pub(super) started: u64,
    pub(super) pages: u32,
    /// The name that the caller gave it to be told of its end; 0 if it gave none.
    pub(super) tag: u64,
}
