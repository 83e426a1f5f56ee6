//! A buffer between a reader of batches and a caller that takes single items.

/// Items that an iterator over batches has read and not yet given out.
#[derive(Debug)]
pub(crate) struct Ahead<T> {
    items: Vec<T>,
    taken: usize,
}

impl<T: Copy> Ahead<T> {
    pub(crate) fn new() -> Ahead<T> {
        Ahead {
            items: Vec::new(),
            taken: 0,
        }
    }

    /// The next item, not taken; `None` if none is left.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.items.get(self.taken)
    }

    /// Takes the next item; `None` if none is left.
    pub(crate) fn take(&mut self) -> Option<T> {
        let item = self.items.get(self.taken)?;
        self.taken += 1;
        Some(*item)
    }

    /// Moves all items left to the end of `items`. Answers `false` if there were none.
    pub(crate) fn take_all(&mut self, items: &mut Vec<T>) -> bool {
        let left = &self.items[self.taken..];
        items.extend_from_slice(left);
        let any = !left.is_empty();
        self.taken = self.items.len();
        any
    }

    /// Lends the buffer out, to be filled again and given back with [`Ahead::put`].
    pub(crate) fn lend(&mut self) -> Vec<T> {
        self.taken = 0;
        std::mem::take(&mut self.items)
    }

    /// Takes `items` as the new content.
    pub(crate) fn put(&mut self, items: Vec<T>) {
        self.items = items;
    }
}
