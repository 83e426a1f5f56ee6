//! The time of death of what each logical page holds.

use std::sync::Arc;

use anabranch_ssd::PageRange;

use crate::{assign::Write, future::Future};

/// The future of the data that each logical page holds now. 8 bytes for each logical page.
#[derive(Debug)]
pub(crate) struct Deaths {
    future: Arc<Future>,
    dies_at: Vec<u64>,
}

impl Deaths {
    /// The deaths on an empty drive. Without a future, no page ever dies.
    pub(crate) fn new(logical_pages: u32, future: Option<&Arc<Future>>) -> Deaths {
        Deaths {
            future: future.cloned().unwrap_or_default(),
            dies_at: vec![Future::NEVER; logical_pages as usize],
        }
    }

    /// Notes a write. Answers when its first page will die, in pages the host has written.
    pub(crate) fn write(&mut self, write: &Write) -> u64 {
        for (page, now_pages) in write.pages.indices().zip(write.now_pages..) {
            if let Some(dies_at) = self.dies_at.get_mut(page) {
                *dies_at = self.future.dies_at(now_pages);
            }
        }
        self.death_of(write.pages.first)
    }

    /// When the data of `page` will die, in pages the host has written.
    #[inline]
    pub(crate) fn death_of(&self, page: u32) -> u64 {
        let dies_at = self.dies_at.get(page as usize).copied();
        dies_at.unwrap_or(Future::NEVER)
    }

    pub(crate) fn future(&self) -> &Future {
        &self.future
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.dies_at.capacity() * size_of::<u64>()
    }
}

/// The pages of a range that a drive of `logical_pages` has.
pub(crate) fn within(pages: PageRange, logical_pages: usize) -> std::ops::Range<u32> {
    let end = pages.end().min(logical_pages as u64) as u32;
    pages.first.min(end)..end
}
