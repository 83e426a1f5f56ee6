//! Predicts how long a page will live, from its writer and from the lives before at its address.
//!
//! ```text
//! write of a page over an old one:
//!     the old life ended: count it in the curves of all its keys
//!     one in four: compare each history's prediction with it (trust)
//! one write in four: inspect another page; if it has lived long, count half a life that has not ended
//! prediction = unknown; for each key of the trusted history, shorter ones first:
//!     prediction = mean of the curve's lives and of 16 times the prediction before
//! ```

use anabranch_ssd::{PageRange, table::Table};

use super::{
    curve::{DEATH, Residues},
    file_means::{FILES, FileMeans},
    page::{Features, HISTORIES, Keys, Page},
    span::{Eighths, Scale, eighths},
    tables::Tables,
    trust::{Trust, WRITERS},
};
use crate::{assign::Write, by_page::prefetch, file_classes::FileClasses};

/// Ended lives of a longer history that weigh as much as all that shorter ones say (our choice).
const PRIOR: f32 = 16.0;
/// Pages younger than the capacity over this are not counted when inspected: their lives soon end (our
/// choice).
const LOOK_AGE_PARTS: u32 = 4;
/// Predicted life of data that no curve covers: half a capacity (our choice).
const UNKNOWN_BELOW_CAPACITY: u8 = 8;

/// Places in the tables of curves (our choice: a hundred writers with eighty histories each;
/// 1.3 MiB).
const CURVES: usize = 1 << 13;

/// Places in a table: `most`, or a power of two as large as a small drive.
fn places(most: usize, logical_pages: u32) -> usize {
    (logical_pages as usize).next_power_of_two().clamp(2, most)
}

/// One write in so many is an occasion to look at another page, and one end of a life in so many to
/// judge predictions: each costs as much as a prediction does (our choice).
const OCCASION: u32 = 4;
/// Pages from one that is looked at to the next: odd, and enough to have been everywhere when a
/// capacity was written.
const LOOK_STEP: usize = 5;

/// Predicts lives as a processor predicts branches: tables of survival curves, keyed by the writer
/// alone, and by the writer with the life that was before at this address, with the mean of those
/// lives, and with the last one and how many there were. What a longer history says weighs by how
/// often it was met, and counts only where it has proved better than shorter ones.
#[derive(Debug)]
pub(super) struct LifetimePredictor {
    pages: Table<Page>,
    tables: Tables,
    trust: Trust,
    means: FileMeans,
    residues: Residues,
    scale: Scale,
    files: FileClasses,
    features: Features,
    capacity: u8,
    look_age_pages: u32,
    /// The page inspected last.
    hand: usize,
    now_pages: u64,
}

impl LifetimePredictor {
    pub fn new(logical_pages: u32, features: Features) -> LifetimePredictor {
        let scale = Scale::new(logical_pages);
        LifetimePredictor {
            pages: Table::filled(Page::default(), logical_pages as usize),
            tables: Tables::new(places(CURVES, logical_pages)),
            trust: Trust::new(places(WRITERS, logical_pages)),
            means: FileMeans::new(places(FILES, logical_pages)),
            residues: Residues::new(scale),
            scale,
            files: FileClasses::default(),
            features,
            capacity: eighths(logical_pages),
            look_age_pages: logical_pages / LOOK_AGE_PARTS,
            hand: 0,
            now_pages: 0,
        }
    }

    pub fn files_mut(&mut self) -> &mut FileClasses {
        &mut self.files
    }

    /// The present in the ticks of pages; never 0. It wraps after 2^32 pages, and pages seem young
    /// again that live longer.
    fn tick(&self) -> u32 {
        self.now_pages as u32 | 1
    }

    /// Reads what is known of pages that are needed soon.
    pub fn prefetch(&self, pages: &[u32]) {
        prefetch(&self.pages, pages);
    }

    /// Reads what is known of pages that are written soon, and of those that will be looked at meanwhile.
    pub fn prefetch_written(&self, pages: &[u32]) {
        self.prefetch(pages);
        // Occasions are drawn: a half more than their mean.
        let looks = pages.len() * 3 / 2 / OCCASION as usize;
        let looked_at = self.pages.iter().skip(self.hand).step_by(LOOK_STEP);
        for page in looked_at.take(looks) {
            std::hint::black_box(*page);
        }
    }

    /// Records a write. Returns the predicted life.
    #[inline]
    pub fn write(&mut self, number: u32, write: &Write, now_pages: u64) -> Eighths {
        self.now_pages = now_pages;
        let Some(&old) = self.pages.get(number as usize) else {
            return f32::from(self.capacity);
        };
        let (tick, writer) = (self.tick(), self.writer(write));
        let page = if old.holds_data() {
            let life = old.age_eighths(tick);
            self.end(&old, life);
            old.overwritten(writer, tick, life)
        } else {
            Page::fresh(writer, tick)
        };
        self.pages[number as usize] = page;
        if self.occasion() {
            self.inspect();
        }
        let unknown = self.capacity.saturating_sub(UNKNOWN_BELOW_CAPACITY);
        let predicted = self.predict(&page, 0, unknown);
        if page.is_fresh() && self.features.contexts {
            self.means.join(write.file, predicted)
        } else {
            predicted
        }
    }

    /// Pages are discarded: their lives have ended.
    pub fn discard(&mut self, pages: PageRange, now_pages: u64) {
        self.now_pages = now_pages;
        for number in pages.indices() {
            let Some(&old) = self.pages.get(number) else {
                return;
            };
            if old.holds_data() {
                self.end(&old, old.age_eighths(self.tick()));
                self.pages[number] = Page::default();
            }
        }
    }

    /// The life that remains to a page about to be copied. `None` for a page whose write was not
    /// seen.
    #[inline]
    pub fn remaining(&self, number: u32) -> Option<Eighths> {
        let page = self.pages.get(number as usize)?;
        if !page.holds_data() {
            return None;
        }
        let age = page.age_eighths(self.tick());
        // Data that no curve covers is taken to live as long again as it has.
        Some(self.predict(page, self.scale.bin(age), age))
    }

    /// Hash of the writer. Writers may share one, as in a branch predictor: their lives are then learned together.
    #[inline]
    fn writer(&self, write: &Write) -> u16 {
        if !self.features.contexts {
            return 0;
        }
        let file = u64::from(self.files.class_of(write.file));
        let who = u64::from(write.context.0) << 32 | file << 8 | write.hint as u64;
        (who.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16
    }

    /// Whether this write is one of every [`OCCASION`], drawn from a hash of the time.
    #[inline]
    fn occasion(&self) -> bool {
        (self.now_pages as u32).wrapping_mul(0x9e37_79b1) < u32::MAX / OCCASION
    }

    /// Records the end of a life.
    #[inline(always)]
    fn end(&mut self, page: &Page, life: u8) {
        let keys = page.keys(self.features);
        if keys.have_history() && self.occasion() {
            let mut said = [0.0; HISTORIES];
            let mut known = self.capacity.into();
            for (history, said) in said.iter_mut().enumerate() {
                known = self.answer(keys.beyond(history), 0, known);
                *said = known;
            }
            self.trust.record(page.writer, said, life);
        }
        self.record(keys, life, DEATH);
    }

    /// Counts the end of a life after so many eighths, with a weight.
    #[inline]
    fn record(&mut self, keys: Keys, life: u8, weight: u16) {
        let bin = self.scale.bin(life);
        for &key in keys.all() {
            self.tables.record(key, bin, weight, &self.residues);
        }
    }

    /// Remaining life of data like this page that has reached an age, a bin; `unknown` where no
    /// curve covers it.
    #[inline]
    fn predict(&self, page: &Page, age: usize, unknown: u8) -> Eighths {
        let keys = page.keys(self.features);
        let known = keys.up_to(self.trust.history(page.writer));
        self.answer(known, age, unknown.into())
    }

    /// Joins the curves of ever longer histories with what is `known` without them.
    #[inline]
    fn answer(&self, keys: &[u32], age: usize, known: Eighths) -> Eighths {
        let mut answer = known;
        for &key in keys {
            if let Some(ended) = self.tables.remaining(key, age, &self.residues) {
                answer = ended.beside(answer, PRIOR);
            }
        }
        answer
    }

    /// Inspects one page more, in turn. A life that has not ended counts as if it were half over,
    /// the best guess for a life met at a random moment, and less the more often it was met.
    #[inline]
    fn inspect(&mut self) {
        self.hand += LOOK_STEP;
        if self.hand >= self.pages.len() {
            self.hand %= self.pages.len();
        }
        let page = self.pages[self.hand];
        let age = page.age(self.tick());
        if !page.holds_data() || age < self.look_age_pages {
            return;
        }
        let times = age / (self.pages.len() as u32).max(1);
        let weight = u32::from(DEATH) * OCCASION / times.max(1);
        if weight > 0 {
            // Twice as long is an octave more.
            let life = eighths(age).saturating_add(8);
            self.record(page.keys(self.features), life, weight as u16);
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.pages.memory_bytes()
            + self.tables.memory_bytes()
            + self.trust.memory_bytes()
            + self.means.memory_bytes()
            + self.residues.memory_bytes()
            + self.files.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use anabranch_trace::{ContextId, FileId, WriteHint};

    use super::*;

    const PAGES: u32 = 4096;
    const ALL: Features = Features {
        contexts: true,
        history: true,
    };

    fn by(context: u32, file: u32, page: u32, now_pages: u64) -> Write {
        Write {
            pages: PageRange::new(page, 1),
            context: ContextId(context),
            file: FileId(file),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages,
        }
    }

    /// Writes of one page each, a (context, page) at a time; what was predicted for the last
    /// write of each.
    fn predicted(features: Features, writes: impl Iterator<Item = (u32, u32)>) -> [Eighths; 2] {
        let mut predictor = LifetimePredictor::new(PAGES, features);
        let mut last = [0.0; 2];
        for (now, (context, page)) in (1..).zip(writes) {
            let life = predictor.write(page, &by(context, 0, page, now), now);
            last[(page >= PAGES / 2) as usize] = life;
        }
        last
    }

    /// Two writers in turn: one goes round 16 pages, the other round 1,024.
    fn two_writers(same: bool) -> impl Iterator<Item = (u32, u32)> {
        (0..100_000_u32).map(move |step| match step % 2 {
            0 => (1, step / 2 % 16),
            _ => (if same { 1 } else { 2 }, PAGES / 2 + step / 2 % 1024),
        })
    }

    #[test]
    fn context_class_of_file_and_hint_each_make_another_writer() {
        let mut predictor = LifetimePredictor::new(PAGES, ALL);
        for (file, name) in [(1, "1.log"), (2, "2.sst"), (3, "3.sst")] {
            predictor.files_mut().learn(FileId(file), name);
        }
        let short = |write| Write {
            hint: WriteHint::Short,
            ..write
        };
        let writes = [by(1, 1, 0, 0), by(2, 1, 0, 0), by(1, 2, 0, 0)];
        let writes = [writes, writes.map(short)].concat();
        let writers: HashSet<u16> = writes.iter().map(|one| predictor.writer(one)).collect();
        assert_eq!(writers.len(), writes.len());
        assert_eq!(
            predictor.writer(&by(1, 2, 7, 9)),
            predictor.writer(&by(1, 3, 0, 0)),
            "another file of the same class"
        );
    }

    #[test]
    fn writers_are_told_apart_by_what_their_data_did() {
        let context_only = Features {
            history: false,
            ..ALL
        };
        let [short, long] = predicted(context_only, two_writers(false));
        assert!((f32::from(eighths(32)) - short).abs() < 6.0, "{short}");
        assert!((f32::from(eighths(2048)) - long).abs() < 6.0, "{long}");
    }

    #[test]
    fn addresses_are_told_apart_where_one_writer_writes_all() {
        let [short, long] = predicted(ALL, two_writers(true));
        assert!(long - short > 40.0, "{short} {long}");
        let address_only = Features {
            contexts: false,
            ..ALL
        };
        let [short, long] = predicted(address_only, two_writers(false));
        assert!(long - short > 40.0, "{short} {long}");
        let blind = Features {
            contexts: false,
            history: false,
        };
        let [short, long] = predicted(blind, two_writers(false));
        assert!((long - short).abs() < 1.0, "{short} {long}");
    }

    #[test]
    fn how_often_an_address_was_rewritten_tells_what_its_lives_do_not() {
        let mut predictor = LifetimePredictor::new(PAGES, ALL);
        let mut now = 0;
        let mut last = [0.0; 3];
        // One writer writes each page three times, 64 steps apart; then it lives for 1,024.
        for step in PAGES..20 * PAGES {
            for (kind, life) in last.iter_mut().enumerate() {
                now += 1;
                let page = (step - 64 * kind as u32) % PAGES;
                *life = predictor.write(page, &by(1, 0, page, now), now);
            }
            predictor.discard(PageRange::new((step - 1024 - 128) % PAGES, 1), now);
        }
        let [_, second, third] = last;
        assert!(third - second > 16.0, "{second} {third}");
    }

    #[test]
    fn writers_that_change_are_learned_anew() {
        let context_only = Features {
            history: false,
            ..ALL
        };
        // The writer of short lives writes long ones, and the other way round, three times as long.
        let swapped = || two_writers(false).map(|(context, page)| (3 - context, page));
        let change = two_writers(false).chain(swapped());
        let change = change.chain(swapped()).chain(swapped());
        let [short, long] = predicted(context_only, change);
        assert!(long - short > 24.0, "{short} {long}");
    }

    #[test]
    fn lives_that_do_not_end_count() {
        let mut predictor = LifetimePredictor::new(PAGES, ALL);
        // Context 1 writes half of the drive once; one page of sixteen dies at once.
        let mut now = 0;
        for page in 0..PAGES / 2 {
            for _ in 0..1 + u32::from(page % 16 == 0) {
                now += 1;
                predictor.write(page, &by(1, 0, page, now), now);
            }
        }
        let early = predictor.predict(&Page::fresh(predictor.writer(&by(1, 0, 0, now)), 1), 0, 0);
        for step in 0..4 * PAGES {
            now += 1;
            let page = PAGES / 2 + step % 64;
            predictor.write(page, &by(2, 0, page, now), now);
        }
        let late = predictor.predict(&Page::fresh(predictor.writer(&by(1, 0, 0, now)), 1), 0, 0);
        assert!(early < 10.0 && late > 60.0, "{early} {late}");
    }

    #[test]
    fn a_copied_page_is_of_the_long_lived_once_it_outlived_the_short() {
        let mut predictor = LifetimePredictor::new(
            PAGES,
            Features {
                history: false,
                ..ALL
            },
        );
        let mut now = 0;
        for step in 0..50_000_u32 {
            now += 1;
            // One writer; most pages die after 64 writes, one in 64 after some 30,000.
            let page = match step % 64 {
                0 => 1000 + step / 64 % 512,
                _ => step % 64,
            };
            predictor.write(page, &by(1, 0, page, now), now);
        }
        let young = predictor.remaining(49_999 % 64).unwrap();
        let old = predictor
            .remaining(1000 + (49_999 / 64 - 100) % 512)
            .unwrap();
        assert!(old - young > 24.0, "{young} {old}");
        assert_eq!(predictor.remaining(4000), None);
    }

    #[test]
    fn a_discard_ends_lives_and_what_comes_then_is_new() {
        let mut predictor = LifetimePredictor::new(PAGES, ALL);
        let mut now = 0;
        for round in 0..200 {
            for page in 0..64 {
                now += 1;
                predictor.write(page, &by(1, round, page, now), now);
            }
            predictor.discard(PageRange::new(0, 64), now);
            assert_eq!(predictor.remaining(5), None);
        }
        now += 1;
        let life = predictor.write(5, &by(1, 900, 5, now), now);
        assert!((f32::from(eighths(40)) - life).abs() < 12.0, "{life}");
    }

    #[test]
    fn memory_does_not_grow() {
        let mut predictor = LifetimePredictor::new(PAGES, ALL);
        let before = predictor.memory_bytes();
        for step in 0..100_000_u32 {
            let page = step.wrapping_mul(2_654_435_761) % PAGES;
            predictor.write(page, &by(step % 5000, step, page, step.into()), step.into());
        }
        assert_eq!(predictor.memory_bytes(), before);
    }
}
