//! Whether what happened at an address before tells more than who writes.

use super::span::Eighths;

/// Writers told apart; others share their places by number (our choice: a program has some
/// hundreds). 8 KiB.
pub(super) const WRITERS: usize = 1024;
/// What the last life adds to the means (our choice: they follow a thousand lives).
const FADING: f32 = 1.0 / 1024.0;
/// Longer histories answer for a writer where they miss by less than this share of what the
/// writer alone misses by (our choice: of none, 0.8, 0.9 and 0.95 it copied least on the
/// recordings tuned with).
const CONVINCING: f32 = 0.9;

/// How far a writer's predictions missed of late, in eighths of octaves, with longer histories and
/// without.
#[derive(Debug, Clone, Copy, Default)]
struct Misses {
    alone: f32,
    with_history: f32,
}

/// Chooses the length of history for each writer, as a tournament predictor does for each branch:
/// both predictions are held against what came.
#[derive(Debug)]
pub(super) struct Trust {
    misses: Vec<Misses>,
}

impl Trust {
    /// With room for so many writers, a power of two.
    pub fn new(writers: usize) -> Trust {
        Trust {
            misses: vec![Misses::default(); writers],
        }
    }

    #[inline]
    fn place(&self, writer: u16) -> usize {
        usize::from(writer) & (self.misses.len() - 1)
    }

    /// A life has ended that either way had been said to be so long.
    #[inline]
    pub fn record(&mut self, writer: u16, alone: Eighths, with_history: Eighths, life: u8) {
        let place = self.place(writer);
        let misses = &mut self.misses[place];
        let life = f32::from(life);
        misses.alone += ((alone - life).abs() - misses.alone) * FADING;
        misses.with_history += ((with_history - life).abs() - misses.with_history) * FADING;
    }

    /// Whether longer histories answer for a writer.
    #[inline]
    pub fn in_history(&self, writer: u16) -> bool {
        let misses = self.misses[self.place(writer)];
        misses.with_history <= misses.alone * CONVINCING
    }

    pub fn memory_bytes(&self) -> usize {
        self.misses.capacity() * size_of::<Misses>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_answers_until_it_misses_as_far_as_the_writer_alone() {
        let mut trust = Trust::new(WRITERS);
        assert!(trust.in_history(5));
        for _ in 0..100 {
            trust.record(5, 50.0, 81.0, 80);
            trust.record(6, 80.0, 80.5, 80);
            trust.record(7, 70.0, 70.5, 80);
        }
        assert!(trust.in_history(5));
        assert!(!trust.in_history(6));
        assert!(!trust.in_history(7), "less than a tenth better");
    }

    #[test]
    fn a_writer_that_changes_is_judged_anew() {
        let mut trust = Trust::new(WRITERS);
        for _ in 0..5000 {
            trust.record(5, 80.0, 40.0, 80);
        }
        assert!(!trust.in_history(5));
        for _ in 0..5000 {
            trust.record(5, 40.0, 80.0, 80);
        }
        assert!(trust.in_history(5));
    }
}
