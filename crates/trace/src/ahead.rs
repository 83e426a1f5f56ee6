//! Items read ahead of the one who takes them singly.

/// What an iterator over batches has read and not yet given out.
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

    /// The next item, if there is one left, without taking it.
    pub(crate) fn peek(&self) -> Option<&T> {
        self.items.get(self.taken)
    }

    /// The next item, if there is one left.
    pub(crate) fn take(&mut self) -> Option<T> {
        let item = self.items.get(self.taken)?;
        self.taken += 1;
        Some(*item)
    }

    /// Moves all that is left to the end of `items`. False when nothing was.
    pub(crate) fn take_all(&mut self, items: &mut Vec<T>) -> bool {
        let left = &self.items[self.taken..];
        items.extend_from_slice(left);
        let any = !left.is_empty();
        self.taken = self.items.len();
        any
    }

    /// Lends the buffer out, to be filled anew and given back with [`Ahead::put`].
    pub(crate) fn lend(&mut self) -> Vec<T> {
        self.taken = 0;
        std::mem::take(&mut self.items)
    }

    /// Holds these items now.
    pub(crate) fn put(&mut self, items: Vec<T>) {
        self.items = items;
    }
}
