//! A listener to the writes and discards of hosts.

use std::fmt::Debug;

use anabranch_ssd::PageRange;

use super::Hint;

/// Receives every write and discard that the translation layer has taken, in that order. IMPORTANT: the drive is locked
/// meanwhile, so hosts wait.
pub trait Listen: Debug + Send {
    /// A host has written pages.
    fn written(&mut self, hint: Hint, pages: PageRange);

    /// A host has discarded pages.
    fn discarded(&mut self, pages: PageRange);
}
