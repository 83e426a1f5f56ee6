//! Jobs as fio has them: each writes blocks of one size over a region of its own, in sequence or as they are
//! drawn, and takes a share of the bytes.

use anabranch_trace::Io;

use super::{Tag, shuffle::Shuffle};
use crate::draw::Draw;

/// The order in which a job writes its blocks.
#[derive(Debug)]
pub(super) enum Order {
    /// One after the other and round again; the next is this one.
    Sequence(u64),
    /// Drawn at random, each as likely.
    Drawn,
    /// fio's `zoned:80/20:10/20:10/60`: 8 of 10 in the first fifth, 1 in the next, 1 in the rest.
    Zoned,
    /// Every block once a pass, each pass in an order of its own, as fio does it without `norandommap`.
    Passes(Passes),
    /// The more often the lower its rank, which is drawn: each octave of ranks (1, 2 to 3, 4 to 7, …) as often as
    /// any other, and its ranks evenly. That is Zipf's law of exponent 1, in steps.
    Zipf(Option<Shuffle>),
}

impl Order {
    /// Blocks in sequence, from the first.
    pub(super) fn sequence() -> Order {
        Order::Sequence(0)
    }

    fn block(&mut self, blocks: u64, draw: &mut Draw) -> u64 {
        match self {
            Order::Sequence(next) => {
                let block = *next;
                *next = (block + 1) % blocks;
                block
            }
            Order::Drawn => draw.below_all(blocks),
            Order::Zoned => {
                let fifth = blocks / 5;
                match draw.below_all(10) {
                    0..8 => draw.below_all(fifth),
                    8 => fifth + draw.below_all(fifth),
                    _ => 2 * fifth + draw.below_all(blocks - 2 * fifth),
                }
            }
            Order::Passes(passes) => passes.block(blocks, draw),
            Order::Zipf(ranks) => {
                let ranks = *ranks.get_or_insert_with(|| Shuffle::drawn(blocks, draw));
                let (whole, last) = octaves(blocks);
                let octave = (draw.unit() * (whole as f64 + last)) as u32;
                let first = 1 << octave.min(blocks.ilog2());
                let rank = first + draw.below_all(first.min(blocks + 1 - first));
                ranks.within(blocks, rank - 1)
            }
        }
    }
}

/// Octaves of the ranks up to this one that are whole, and the share that there is of the last.
pub(super) fn octaves(ranks: u64) -> (u32, f64) {
    let last = 1_u64 << ranks.ilog2();
    (ranks.ilog2(), (ranks + 1 - last) as f64 / last as f64)
}

/// Numbers below a bound, each once a pass, in an order that is drawn anew for each pass.
#[derive(Debug, Default)]
pub(super) struct Passes {
    /// Steps taken in this pass, counted up to the next power of two of the bound.
    step: u64,
    shuffle: Option<Shuffle>,
}

impl Passes {
    fn block(&mut self, blocks: u64, draw: &mut Draw) -> u64 {
        loop {
            if self.step == 0 {
                self.shuffle = None;
            }
            let drawn = || Shuffle::drawn(blocks, draw);
            let shuffle = self.shuffle.get_or_insert_with(drawn);
            let block = shuffle.at(self.step);
            self.step = (self.step + 1) % shuffle.numbers();
            if block < blocks {
                return block;
            }
        }
    }
}

/// One writer.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) tag: Tag,
    pub(super) first: u64,
    pub(super) pages: u64,
    /// Pages of a request.
    pub(super) block: u64,
    pub(super) order: Order,
}

impl Job {
    /// Requests that write all of it.
    pub(super) fn blocks(&self) -> u64 {
        (self.pages / self.block).max(1)
    }

    /// The block that is next.
    pub(super) fn next(&mut self, draw: &mut Draw) -> u64 {
        let blocks = self.blocks();
        self.order.block(blocks, draw)
    }

    /// The request that writes a block.
    pub(super) fn at(&self, block: u64) -> Io {
        self.tag.write(self.first + block * self.block, self.block)
    }

    pub(super) fn write(&mut self, draw: &mut Draw) -> Io {
        let block = self.next(draw);
        self.at(block)
    }
}

/// The requests of jobs side by side, each with its share of the bytes: the job furthest behind its share is next, and
/// of several the first.
pub(super) fn side_by_side(
    mut jobs: Vec<(f64, Job)>,
    seed: u64,
) -> impl Iterator<Item = Io> + Send {
    jobs.retain(|(share, _)| *share > 0.0);
    let mut written = vec![0.0; jobs.len()];
    let mut draw = Draw::new(seed);
    std::iter::from_fn(move || {
        let behind = |(at, (share, _)): (usize, &(f64, Job))| (at, written[at] / share);
        let least =
            |least: (usize, f64), one: (usize, f64)| if one.1 < least.1 { one } else { least };
        let (next, _) = jobs.iter().enumerate().map(behind).reduce(least)?;
        let (_, job) = &mut jobs[next];
        written[next] += job.block as f64;
        Some(job.write(&mut draw))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_writes_every_block_once_and_no_two_passes_are_alike() {
        let mut draw = Draw::new(3);
        let mut passes = Passes::default();
        let mut pass =
            || -> Vec<u64> { (0..1000).map(|_| passes.block(1000, &mut draw)).collect() };
        let (first, second) = (pass(), pass());
        for blocks in [&first, &second] {
            let mut sorted = blocks.clone();
            sorted.sort_unstable();
            assert!(sorted.into_iter().eq(0..1000));
        }
        let same = first
            .iter()
            .zip(&second)
            .filter(|(one, other)| one == other);
        assert!(same.count() < 20);
        let neighbours = first.windows(2).filter(|pair| pair[1] == pair[0] + 1);
        assert!(neighbours.count() < 20);
    }

    #[test]
    fn zones_take_what_fio_gives_them() {
        let mut draw = Draw::new(3);
        let mut order = Order::Zoned;
        let mut found = [0_u32; 3];
        for _ in 0..10_000 {
            let zone = match order.block(1000, &mut draw) {
                0..200 => 0,
                200..400 => 1,
                _ => 2,
            };
            found[zone] += 1;
        }
        assert!(
            found[0].abs_diff(8000) < 200 && found[1].abs_diff(1000) < 150,
            "{found:?}"
        );
    }
}
