//! Lists of units in flat arrays.

/// Circular doubly linked lists of units: nodes `0..units` are units, the others the rings'
/// heads. First in, first out.
#[derive(Debug)]
pub(super) struct Rings {
    next: Vec<u32>,
    previous: Vec<u32>,
    units: u32,
}

impl Rings {
    pub(super) fn new(units: u32, rings: u32) -> Rings {
        let nodes: Vec<u32> = (0..units + rings).collect();
        Rings {
            next: nodes.clone(),
            previous: nodes,
            units,
        }
    }

    /// A unit that is in no ring becomes the last of one.
    #[inline]
    pub(super) fn push(&mut self, unit: u32, ring: u32) {
        let head = self.units + ring;
        let last = self.previous[head as usize];
        self.next[last as usize] = unit;
        self.previous[unit as usize] = last;
        self.next[unit as usize] = head;
        self.previous[head as usize] = unit;
    }

    /// A unit leaves its ring.
    #[inline]
    pub(super) fn take(&mut self, unit: u32) {
        let next = self.next[unit as usize];
        let previous = self.previous[unit as usize];
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
    }

    /// The unit that came first to a ring.
    #[inline]
    pub(super) fn first(&self, ring: u32) -> Option<u32> {
        let head = self.units + ring;
        let first = self.next[head as usize];
        (first != head).then_some(first)
    }

    /// The units of a ring, in the order in which they came.
    pub(super) fn units_of(&self, ring: u32) -> impl Iterator<Item = u32> {
        let head = self.units + ring;
        let in_ring = move |&node: &u32| node != head;
        let first = Some(self.next[head as usize]).filter(in_ring);
        let following = move |&unit: &u32| Some(self.next[unit as usize]).filter(in_ring);
        std::iter::successors(first, following)
    }

    /// Every unit, ring by ring, each in its order.
    pub(super) fn listed(&self) -> Vec<u32> {
        let rings = 0..self.next.len() as u32 - self.units;
        rings.flat_map(|ring| self.units_of(ring)).collect()
    }
}
