//! Answers of user space to the kernel side.

use crate::event::ImageKey;

/// A reply to the kernel side.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The address ranges of a program image's code, and the hash of the writer whose walk ended for want of one.
    Ranges(ImageKey, Vec<(u64, u64)>, Option<u64>),
    /// Steps along call paths of a program image: an address and a word each, as `struct step` of `events.h` has them.
    Steps(ImageKey, Vec<(u64, u64)>),
    /// The hash of a writer that must be sent again when it is next seen.
    Resend(u64),
}
