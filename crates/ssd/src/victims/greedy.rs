//! The fewest valid pages, without a search: closed units in lists by their number of them.

/// One circular doubly linked list per valid count, all in two flat arrays. Nodes `0..units` are
/// units; node `units + v` is the head of the list of units with `v` valid pages. Within a list
/// the unit that came first leaves first.
#[derive(Debug)]
pub(crate) struct Greedy {
    next: Vec<u32>,
    previous: Vec<u32>,
    units: u32,
    /// No list below this one holds a unit.
    lowest: u32,
    highest: u32,
}

impl Greedy {
    pub(super) fn new(units: u32, pages_per_unit: u32) -> Greedy {
        let nodes: Vec<u32> = (0..units + pages_per_unit + 1).collect();
        Greedy {
            next: nodes.clone(),
            previous: nodes,
            units,
            lowest: pages_per_unit + 1,
            highest: pages_per_unit,
        }
    }

    /// A unit was closed with `valid` valid pages.
    pub(super) fn insert(&mut self, unit: u32, valid: u32) {
        let head = self.units + valid;
        let last = self.previous[head as usize];
        self.next[last as usize] = unit;
        self.previous[unit as usize] = last;
        self.next[unit as usize] = head;
        self.previous[head as usize] = unit;
        self.lowest = self.lowest.min(valid);
    }

    /// A listed unit leaves the lists.
    pub(super) fn remove(&mut self, unit: u32) {
        let next = self.next[unit as usize];
        let previous = self.previous[unit as usize];
        self.next[previous as usize] = next;
        self.previous[next as usize] = previous;
    }

    /// A listed unit now has `valid` valid pages.
    #[inline]
    pub(super) fn moved(&mut self, unit: u32, valid: u32) {
        self.remove(unit);
        self.insert(unit, valid);
    }

    /// The unit with the fewest valid pages. The search for the lowest list that holds one climbs
    /// no further than invalidations had lowered it: constant time per page over a run.
    pub(super) fn choose(&mut self) -> Option<u32> {
        while self.lowest <= self.highest {
            let head = self.units + self.lowest;
            let first = self.next[head as usize];
            if first != head {
                return Some(first);
            }
            self.lowest += 1;
        }
        None
    }

    /// The same, if it has a dead page at all.
    pub(super) fn choose_with_gain(&mut self) -> Option<u32> {
        let unit = self.choose()?;
        (self.lowest < self.highest).then_some(unit)
    }

    /// Every listed unit, list by list, each in its order.
    pub(super) fn listed(&self) -> Vec<u32> {
        let mut listed = Vec::new();
        for head in self.units..=self.units + self.highest {
            let mut unit = self.next[head as usize];
            while unit != head {
                listed.push(unit);
                unit = self.next[unit as usize];
            }
        }
        listed
    }
}
