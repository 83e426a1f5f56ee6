//! What is remembered of a page.

use super::span::eighths;

/// Eighths in one step of the last life, as far as it tells curves apart: octaves. The mean of all
/// lives tells them apart to the eighth (our choice).
const LAST_STEP: u8 = 8;
/// Weight of the last life in a page's mean, one over two to this power (our choice).
const MEAN_SHIFT: u32 = 2;

/// What a prediction may go by, so that each part's worth can be measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Senses {
    /// Contexts, hints and files.
    pub contexts: bool,
    /// What happened at the address before.
    pub history: bool,
}

/// A page's present life, and those before. 8 bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Page {
    /// When it was written, in ticks and not 0; 0 where the page holds nothing.
    pub written_at: u32,
    /// Hash of who wrote it.
    pub writer: u16,
    /// The life before and the mean of all before, in eighths of octaves; 0 where none was.
    last: u8,
    mean: u8,
}

/// The keys of the curves that know data like a page's, by ever longer histories.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    keys: [u32; 3],
    known: usize,
}

impl Keys {
    /// Those that are known.
    pub fn all(&self) -> &[u32] {
        &self.keys[..self.known]
    }

    /// The key of the writer alone.
    pub fn writer(&self) -> &[u32] {
        &self.keys[..1]
    }

    /// Those that go by more than the writer.
    pub fn history(&self) -> &[u32] {
        &self.keys[1..self.known]
    }

    /// Whether any goes by more than the writer.
    pub fn have_history(&self) -> bool {
        self.known > 1
    }
}

impl Page {
    /// A page written to an address that holds nothing.
    pub fn fresh(writer: u16, written_at: u32) -> Page {
        Page {
            written_at,
            writer,
            ..Page::default()
        }
    }

    /// A page written over this one, which lived so long.
    pub fn overwritten(&self, writer: u16, written_at: u32, life: u8) -> Page {
        let life = life.max(1);
        Page {
            written_at,
            writer,
            last: life,
            mean: match self.mean {
                0 => life,
                mean => toward(mean, life),
            },
        }
    }

    pub fn is_fresh(&self) -> bool {
        self.last == 0
    }

    pub fn holds_data(&self) -> bool {
        self.written_at != 0
    }

    /// How long it has lived, in pages written, and at least 1.
    #[inline]
    pub fn age(&self, tick: u32) -> u32 {
        tick.wrapping_sub(self.written_at).max(1)
    }

    /// The same in eighths of octaves.
    #[inline]
    pub fn age_eighths(&self, tick: u32) -> u8 {
        eighths(self.age(tick))
    }

    #[inline]
    pub fn keys(&self, senses: Senses) -> Keys {
        let writer = u32::from(self.writer) << 16;
        // The two lowest bits tell the kinds of keys apart, so that none is 0.
        let last = u32::from(self.last / LAST_STEP) << 2;
        let mean = u32::from(self.mean) << 2;
        let known = senses.history && !self.is_fresh();
        Keys {
            keys: [writer | 1, writer | last | 2, writer | mean | 3],
            known: if known { 3 } else { 1 },
        }
    }
}

/// A mean that takes in one more value, and reaches it if that comes again and again.
fn toward(mean: u8, value: u8) -> u8 {
    let distance = i16::from(value) - i16::from(mean);
    let step = distance.signum() * (distance.abs() >> MEAN_SHIFT).max(1);
    (i16::from(mean) + step) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_reaches_what_comes_again_and_again() {
        for (start, value) in [(1, 255), (255, 1), (100, 101), (7, 7)] {
            let end = (0..40).fold(start, |mean, _| toward(mean, value));
            assert_eq!(end, value);
        }
        assert_eq!(toward(80, 100), 85);
    }

    #[test]
    fn a_page_remembers_the_lives_before_it() {
        let senses = Senses {
            contexts: true,
            history: true,
        };
        let fresh = Page::fresh(3, 100);
        assert!(fresh.is_fresh() && fresh.holds_data() && !Page::default().holds_data());
        assert_eq!(fresh.keys(senses).all().len(), 1);
        let again = fresh.overwritten(3, 200, 80);
        assert_eq!((again.last, again.mean), (80, 80));
        assert_eq!(again.overwritten(3, 300, 100).mean, 85);
        assert_eq!(again.keys(senses).all().len(), 3);
        assert_eq!(again.keys(senses).writer(), fresh.keys(senses).all());
        let blind = Senses {
            history: false,
            ..senses
        };
        assert!(!again.keys(blind).have_history());
    }

    #[test]
    fn ages_go_on_where_ticks_wrap() {
        assert_eq!(Page::fresh(0, u32::MAX).age(10), 11);
        assert_eq!(Page::fresh(0, 10).age(10), 1);
    }
}
