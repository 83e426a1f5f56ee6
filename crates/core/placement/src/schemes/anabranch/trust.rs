//! Chooses the history of an address by which each writer's data is predicted best.

use super::{page::HISTORIES, span::Eighths};

/// Writers told apart; others share their places by number (our choice: a program has some
/// hundreds). 12 KiB.
pub(super) const WRITERS: usize = 1024;
/// Weight of the last life in the means (our choice: they follow a thousand lives).
const FADING: f32 = 1.0 / 1024.0;
/// Longer histories answer for a writer where they miss by less than this share of what the
/// writer alone misses by (our choice: of none, 0.8, 0.9 and 0.95 it copied least on the
/// recordings tuned with).
const CONVINCING: f32 = 0.9;

/// Mean recent error of a writer's predictions by each history, the shortest first, in eighths of octaves.
type Misses = [Eighths; HISTORIES];

/// Chooses the length of history for each writer, as a tournament predictor does for each branch:
/// all predictions are held against what came.
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

    /// Records, for one ended lifetime, how far each history's prediction was off.
    #[inline]
    pub fn record(&mut self, writer: u16, said: [Eighths; HISTORIES], life: u8) {
        let place = self.place(writer);
        for (miss, said) in self.misses[place].iter_mut().zip(said) {
            *miss += ((said - f32::from(life)).abs() - *miss) * FADING;
        }
    }

    /// The history that answers for a writer: of those that miss least the longest, if it is enough better than the writer alone.
    #[inline]
    pub fn history(&self, writer: u16) -> usize {
        let [alone, lives, counted] = self.misses[self.place(writer)];
        let (history, least) = if counted <= lives {
            (2, counted)
        } else {
            (1, lives)
        };
        if least <= alone * CONVINCING {
            history
        } else {
            0
        }
    }

    pub fn memory_bytes(&self) -> usize {
        self.misses.capacity() * size_of::<Misses>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_that_misses_least_answers_if_it_beats_the_writer_alone() {
        let mut trust = Trust::new(WRITERS);
        assert_eq!(trust.history(5), 2, "the longest until something is known");
        for _ in 0..100 {
            trust.record(4, [50.0, 79.0, 80.0], 80);
            trust.record(5, [50.0, 81.0, 82.0], 80);
            trust.record(6, [80.0, 80.5, 80.5], 80);
            trust.record(7, [70.0, 70.5, 70.5], 80);
        }
        assert_eq!([4, 5, 6].map(|writer| trust.history(writer)), [2, 1, 0]);
        assert_eq!(trust.history(7), 0, "less than a tenth better");
    }

    #[test]
    fn a_writer_that_changes_is_judged_anew() {
        let mut trust = Trust::new(WRITERS);
        for _ in 0..5000 {
            trust.record(5, [80.0, 40.0, 40.0], 80);
        }
        assert_eq!(trust.history(5), 0);
        for _ in 0..5000 {
            trust.record(5, [40.0, 79.0, 80.0], 80);
        }
        assert_eq!(trust.history(5), 2);
    }
}
