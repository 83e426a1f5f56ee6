//! Making the translation layer agree with the contents, after a kill.
//!
//! ```text
//! for each namespace, for each part of the contents that may hold data, in order:
//!     discard mapped pages before it        (if pages may be given up)
//!     write pages of it that are not mapped
//! discard mapped pages behind the last part, and those of no namespace   (the same)
//! ```

use anabranch_ssd::{PageRange, streams::Scope};

use super::{Hint, ServedDrive, touched};
use crate::completion::Status;

impl ServedDrive {
    /// Makes the translation layer agree with the contents, of which `data` are the parts that may
    /// hold any, in order: pages of namespaces with data that it does not know are written to it, and
    /// those without that it knows are discarded, if it should `give_up` any. Answers with how many pages
    /// were written and discarded. A drive that is read-only, or becomes so, takes in no more; its
    /// contents are read all the same.
    ///
    /// # Errors
    /// As [`ServedDrive::write`], write protection apart.
    pub fn reconcile(&mut self, data: &[(u64, u64)], give_up: bool) -> Result<(u64, u64), Status> {
        let mut counts = (0, 0);
        match self.take_in_all(data, give_up, &mut counts) {
            Ok(()) | Err(Status::WRITE_PROTECTED) => Ok(counts),
            Err(status) => Err(status),
        }
    }

    fn take_in_all(
        &mut self,
        data: &[(u64, u64)],
        give_up: bool,
        counts: &mut (u64, u64),
    ) -> Result<(), Status> {
        let parts: Vec<(u32, PageRange)> = self
            .namespaces()
            .iter()
            .map(|one| (one.id(), one.pages()))
            .collect();
        for &(namespace, pages) in &parts {
            self.take_in((namespace, pages), data, give_up, counts)?;
        }
        if give_up {
            // What lies outside of all namespaces is nobody's.
            for hole in self.namespaces().holes().collect::<Vec<_>>() {
                counts.1 += self.discard_mapped(hole.first, hole.first + hole.count)?;
            }
        }
        Ok(())
    }

    /// Compares one namespace with its contents.
    fn take_in(
        &mut self,
        (namespace, pages): (u32, PageRange),
        data: &[(u64, u64)],
        give_up: bool,
        (written, discarded): &mut (u64, u64),
    ) -> Result<(), Status> {
        let page_bytes = self.config().page_bytes;
        let (scope, end) = (Scope::of_namespace(namespace), pages.first + pages.count);
        let mut page = pages.first;
        for &(begin, past) in data {
            let held = touched(begin, past - begin, page_bytes);
            let first = held.first.max(page).min(end);
            let last = held.end().min(end.into()) as u32;
            if give_up {
                *discarded += self.discard_mapped(page, first)?;
            }
            for unknown in first..last {
                if self.locate(unknown).is_none() {
                    self.write(scope, Hint::None, PageRange::new(unknown, 1))?;
                    *written += 1;
                }
            }
            page = last.max(first);
        }
        if give_up {
            *discarded += self.discard_mapped(page, end)?;
        }
        Ok(())
    }

    /// Discards what is mapped from one page to another (excluded). Answers how many pages were.
    fn discard_mapped(&mut self, from: u32, to: u32) -> Result<u64, Status> {
        let before = self.mapped_pages();
        self.discard(PageRange::new(from, to.saturating_sub(from)))?;
        Ok(before - self.mapped_pages())
    }
}
