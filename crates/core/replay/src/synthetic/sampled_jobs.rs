//! Samples of a load of jobs, generated without the pages that no sample keeps.
//!
//! Jobs that write in sequence or in passes write what the whole load would, to the page, in the same order and at
//! the same time (within a pass of a number of blocks that is no power of two, at about the same time). Of jobs whose
//! blocks are drawn the kept ones come as often, as evenly and after as many others as in the whole load, but they are others:
//! equal in law. The whole load tells the numbers of the writes it passes over by drawing each; here the numbers
//! between two kept ones are drawn, as the geometric law has it.

use anabranch_trace::{Io, Sample, WriteHint};

use super::{
    NS_PER_BYTE, PAGE_BYTES,
    jobs::{Job, Order, octaves},
    shuffle::Shuffle,
};
use crate::{draw::Draw, outcome::Source};

/// Largest kept share of a job's writes that is drawn alone; above it all are drawn (our choice: little is saved there).
const MOST: f64 = 0.5;

/// A job's blocks that are kept.
#[derive(Debug)]
struct Part {
    share: f64,
    job: Job,
    draw: Draw,
    picks: Picks,
    /// The number of the next kept write among all of the job, and its block.
    next: Option<(u64, u64)>,
}

/// Order in which a job writes its kept blocks.
#[derive(Debug)]
enum Picks {
    /// In the order of the list, pass by pass: the blocks with their places in a pass, how many places a pass has, and
    /// where it stands.
    InTurn {
        blocks: Vec<(u64, u64)>,
        places: u64,
        at: usize,
        pass: u64,
    },
    /// By chance: classes of blocks that are alike, each with the sum of the shares of all writes up to it; and how often
    /// one comes.
    Drawn {
        classes: Vec<(f64, Vec<u64>)>,
        rate: f64,
        next: u64,
    },
    /// All are drawn, and those of the list taken.
    All { blocks: Vec<u64>, next: u64 },
    /// None is kept.
    None,
}

/// The blocks of a job that hold a page that some sample keeps, in order.
fn kept_blocks(job: &Job, samples: &[Sample]) -> Vec<u64> {
    let end = job.first + job.blocks() * job.block;
    let of = |sample: &Sample| {
        let (first, last) = sample.kept(job.first, end).unwrap_or_default();
        let pages: Vec<u64> = (first..last).map(|number| sample.page(number)).collect();
        pages.into_iter().map(|page| (page - job.first) / job.block)
    };
    let mut blocks: Vec<u64> = samples.iter().flat_map(of).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// Blocks in classes of which each block is written as often as any other, with the share of all writes that one
/// takes.
fn classes(
    order: &Order,
    blocks: u64,
    kept: Vec<u64>,
    ranks: Option<Shuffle>,
) -> Vec<(f64, Vec<u64>)> {
    let fifth = blocks / 5;
    let (whole, last) = octaves(blocks);
    let class = |block: u64| match (order, ranks) {
        (Order::Zoned, _) => (block / fifth.max(1)).min(2) as usize,
        (Order::Zipf(_), Some(ranks)) => (ranks.place_within(blocks, block) + 1).ilog2() as usize,
        _ => 0,
    };
    let share = |class: usize| match order {
        Order::Zoned => {
            let zones = [(0.8, fifth), (0.1, fifth), (0.1, blocks - 2 * fifth)];
            let (share, size) = zones[class.min(2)];
            share / size.max(1) as f64
        }
        Order::Zipf(_) => 1.0 / ((whole as f64 + last) * (1_u64 << class) as f64),
        _ => 1.0 / blocks as f64,
    };
    let mut found: Vec<(f64, Vec<u64>)> = Vec::new();
    for block in kept {
        let class = class(block);
        while found.len() <= class {
            found.push((share(found.len()), Vec::new()));
        }
        found[class].1.push(block);
    }
    found
}

/// The rate of an exponential time whose whole part is what passes before something that happens with this
/// probability each time, at most a half: -ln(1 - p), by its series.
fn rate(probability: f64) -> f64 {
    let (mut sum, mut power) = (0.0, 1.0);
    for term in 1..=64 {
        power *= probability;
        sum += power / f64::from(term);
    }
    sum
}

impl Part {
    fn new(share: f64, mut job: Job, mut draw: Draw, samples: &[Sample]) -> Part {
        let kept = kept_blocks(&job, samples);
        let blocks = job.blocks();
        let picks = match &job.order {
            _ if kept.is_empty() => Picks::None,
            Order::Sequence(first) => {
                let place = |block: u64| (block + blocks - first % blocks) % blocks;
                let mut placed: Vec<(u64, u64)> = kept
                    .into_iter()
                    .map(|block| (place(block), block))
                    .collect();
                placed.sort_unstable();
                Picks::InTurn {
                    blocks: placed,
                    places: blocks,
                    at: 0,
                    pass: 0,
                }
            }
            Order::Passes(_) => {
                let mut placed: Vec<(u64, u64)> =
                    kept.into_iter().map(|block| (0, block)).collect();
                let places = shuffled(&mut placed, blocks, &mut draw);
                Picks::InTurn {
                    blocks: placed,
                    places,
                    at: 0,
                    pass: 0,
                }
            }
            order => {
                let is_ranked = matches!(order, Order::Zipf(_));
                let ranks = is_ranked.then(|| Shuffle::drawn(blocks, &mut draw));
                let picks = drawn(classes(order, blocks, kept, ranks));
                if is_ranked {
                    job.order = Order::Zipf(ranks);
                }
                picks
            }
        };
        let mut part = Part {
            share,
            job,
            draw,
            picks,
            next: None,
        };
        part.advance();
        part
    }

    /// Goes on to the next kept write.
    fn advance(&mut self) {
        let all = self.job.blocks();
        self.next = match &mut self.picks {
            Picks::None => None,
            Picks::InTurn {
                blocks,
                places,
                at,
                pass,
            } => {
                if *at == blocks.len() {
                    (*at, *pass) = (0, *pass + 1);
                    if let Order::Passes(_) = self.job.order {
                        *places = shuffled(blocks, all, &mut self.draw);
                    }
                }
                let (place, block) = blocks[*at];
                *at += 1;
                // Some places of a pass belong to no block. The numbers of the others are spread evenly over the pass.
                let number = u128::from(place) * u128::from(all) / u128::from(*places);
                Some((*pass * all + number as u64, block))
            }
            Picks::Drawn {
                classes,
                rate,
                next,
            } => {
                let number = *next + (self.draw.exponential() / *rate) as u64;
                *next = number + 1;
                let most = classes.last().map_or(0.0, |(sum, _)| *sum);
                let drawn = self.draw.unit() * most;
                let class = classes.partition_point(|(sum, _)| *sum <= drawn);
                let blocks = &classes[class.min(classes.len() - 1)].1;
                let block = blocks[self.draw.below_all(blocks.len() as u64) as usize];
                Some((number, block))
            }
            Picks::All { blocks, next } => loop {
                let block = self.job.next(&mut self.draw);
                *next += 1;
                if blocks.binary_search(&block).is_ok() {
                    break Some((*next - 1, block));
                }
            },
        };
    }

    /// Returns how far behind the job is before a write of its own, as [`super::jobs::side_by_side`] defines it.
    fn behind(&self, number: u64) -> f64 {
        (number * self.job.block) as f64 / self.share
    }

    /// Returns the number of the job's writes before one of another that is so far behind; `is_first` where this job is
    /// taken when both are as far.
    fn before(&self, behind: f64, is_first: bool) -> u64 {
        let comes = |number: u64| {
            let own = self.behind(number);
            own < behind || (own == behind && is_first)
        };
        let mut count = (behind * self.share / self.job.block as f64) as u64;
        while count > 0 && !comes(count - 1) {
            count -= 1;
        }
        while comes(count) {
            count += 1;
        }
        count
    }
}

/// Gives blocks their places in a pass, drawn anew, and puts them in that order; answers how many places there are.
fn shuffled(blocks: &mut [(u64, u64)], all: u64, draw: &mut Draw) -> u64 {
    let shuffle = Shuffle::drawn(all, draw);
    for (place, block) in blocks.iter_mut() {
        *place = shuffle.place(*block);
    }
    blocks.sort_unstable();
    shuffle.numbers()
}

/// Blocks that come by chance.
fn drawn(classes: Vec<(f64, Vec<u64>)>) -> Picks {
    let mut sum = 0.0;
    let classes = classes.into_iter().map(|(share, blocks)| {
        sum += share * blocks.len() as f64;
        (sum, blocks)
    });
    let mut classes: Vec<(f64, Vec<u64>)> = classes.collect();
    classes.retain(|(_, blocks)| !blocks.is_empty());
    if sum > MOST {
        let mut blocks: Vec<u64> = classes.into_iter().flat_map(|(_, blocks)| blocks).collect();
        blocks.sort_unstable();
        return Picks::All { blocks, next: 0 };
    }
    Picks::Drawn {
        classes,
        rate: rate(sum),
        next: 0,
    }
}

/// The kept requests of a load, from the first.
#[derive(Debug)]
pub struct Kept {
    parts: Vec<Part>,
    most_bytes: u64,
}

impl Kept {
    /// Of jobs side by side that write so many bytes.
    pub(super) fn new(
        mut jobs: Vec<(f64, Job)>,
        seed: u64,
        most_bytes: u64,
        samples: &[Sample],
    ) -> Kept {
        jobs.retain(|(share, _)| *share > 0.0);
        let draw = Draw::new(seed);
        let part = |(number, (share, job)): (u64, (f64, Job))| {
            Part::new(share, job, draw.fork(number), samples)
        };
        Kept {
            parts: (0..).zip(jobs).map(part).collect(),
            most_bytes,
        }
    }

    /// Writes of each job before the one of job `at` that is so far behind.
    fn before(&self, at: usize, behind: f64) -> impl Iterator<Item = u64> {
        let count = move |(other, part): (usize, &Part)| part.before(behind, other < at);
        self.parts.iter().enumerate().map(count)
    }

    fn bytes(&self, counts: impl Iterator<Item = u64>) -> u64 {
        let parts = self.parts.iter().zip(counts);
        parts
            .map(|(part, count)| count.saturating_mul(part.job.block * PAGE_BYTES))
            .fold(0, u64::saturating_add)
    }

    /// Returns the demands of the whole load on a drive.
    pub fn whole(&self) -> Source {
        // Shortly before the end the load is gone through write by write.
        let shares: f64 = self.parts.iter().map(|part| part.share).sum();
        let turns = self
            .parts
            .iter()
            .map(|part| part.job.block as f64 / part.share);
        let late = (self.most_bytes / PAGE_BYTES) as f64 / shares - 2.0 * turns.fold(0.0, f64::max);
        let mut counts: Vec<u64> = self.before(0, late.max(0.0)).collect();
        // Bytes before the last write: its time.
        let mut last_bytes = 0;
        loop {
            let written_bytes = self.bytes(counts.iter().copied());
            if written_bytes >= self.most_bytes {
                break;
            }
            let behind = self.parts.iter().zip(&counts);
            let behind = behind.map(|(part, count)| part.behind(*count));
            let least =
                |least: (usize, f64), one: (usize, f64)| if one.1 < least.1 { one } else { least };
            let Some((next, _)) = behind.enumerate().reduce(least) else {
                break;
            };
            counts[next] += 1;
            last_bytes = written_bytes;
        }
        let hinted = self.parts.iter().zip(&counts);
        let hinted = hinted.map(|(part, count)| {
            if part.job.tag.hint > WriteHint::None {
                *count
            } else {
                0
            }
        });
        Source {
            records: counts.iter().sum(),
            hinted_bytes: self.bytes(hinted),
            write_bytes: self.bytes(counts.iter().copied()),
            last_ns: last_bytes * NS_PER_BYTE,
            ..Source::default()
        }
    }
}

impl Iterator for Kept {
    type Item = Io;

    fn next(&mut self) -> Option<Io> {
        let next = self.parts.iter().enumerate().filter_map(|(at, part)| {
            let (number, block) = part.next?;
            Some((at, part.behind(number), block))
        });
        let (at, behind, block) =
            next.reduce(|least, one| if one.1 < least.1 { one } else { least })?;
        let written = self.bytes(self.before(at, behind));
        if written >= self.most_bytes {
            return None;
        }
        let part = &mut self.parts[at];
        let io = part.job.at(block);
        part.advance();
        Some(Io {
            time_ns: written * NS_PER_BYTE,
            ..io
        })
    }
}

#[cfg(test)]
mod tests;
