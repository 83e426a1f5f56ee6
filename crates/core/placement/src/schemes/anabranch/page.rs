//! The state kept for each page, and the keys of its curves.

use bytemuck::{Pod, Zeroable};

use super::span::eighths;

/// Eighths in one step of the last life, as far as it tells curves apart: octaves. The mean of all
/// lives tells them apart to the eighth (our choice).
const LAST_STEP: u8 = 8;
/// Bits of the octaves of the last life: those of 255 eighths.
const LAST_BITS: u32 = 5;
/// Lives at an address that are counted at most: as many as the rest of a byte holds (our choice).
const MOST_LIVES: u8 = u8::MAX >> LAST_BITS;
/// Weight of the last life in a page's mean, one over two to this power (our choice).
const MEAN_SHIFT: u32 = 2;

/// Inputs that predictions may use, so that each one's worth can be measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Features {
    /// Contexts, hints and files.
    pub contexts: bool,
    /// Lives before at the address.
    pub history: bool,
}

/// A page's present life, and those before. 8 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Page {
    /// When it was written, in ticks and not 0; 0 where the page holds nothing.
    pub written_at: u32,
    /// Hash of who wrote it.
    pub writer: u16,
    /// The octave of the life before, and above its [`LAST_BITS`] how many there were; 0 where none was.
    past: u8,
    /// The mean of all before, in eighths of octaves; 0 where none was.
    mean: u8,
}

/// Histories a prediction may use: none, the lives before, and also their number.
pub(super) const HISTORIES: usize = 3;
/// Index of each history's first key, and the end of the longest: the writer; the last life and the mean of all; the last
/// life with the number of lives.
const KEYS: [usize; HISTORIES + 1] = [0, 1, 3, 4];

/// The keys of the curves that know data like a page's, by ever longer histories.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    keys: [u32; KEYS[HISTORIES]],
    known: usize,
}

impl Keys {
    /// Those that are known.
    pub fn all(&self) -> &[u32] {
        &self.keys[..self.known]
    }

    /// Those of a history and of all that are shorter, as far as they are known.
    pub fn up_to(&self, history: usize) -> &[u32] {
        &self.keys[..KEYS[history + 1].min(self.known)]
    }

    /// Those that a history has beyond the next shorter one.
    pub fn beyond(&self, history: usize) -> &[u32] {
        &self.keys[KEYS[history].min(self.known)..KEYS[history + 1].min(self.known)]
    }

    /// Whether any goes by more than the writer.
    pub fn have_history(&self) -> bool {
        self.known > KEYS[1]
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
            past: (life / LAST_STEP) | ((self.lives() + 1).min(MOST_LIVES) << LAST_BITS),
            mean: match self.mean {
                0 => life,
                mean => toward(mean, life),
            },
        }
    }

    pub fn is_fresh(&self) -> bool {
        self.past == 0
    }

    /// Lives before at its address.
    fn lives(&self) -> u8 {
        self.past >> LAST_BITS
    }

    pub fn holds_data(&self) -> bool {
        self.written_at != 0
    }

    /// Its age in pages written, at least 1.
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
    pub fn keys(&self, features: Features) -> Keys {
        let writer = u32::from(self.writer) << 16;
        // The two lowest bits tell the kinds of keys apart. None is 0: what has a past has lived.
        let past = u32::from(self.past) << 2;
        let last = past & (((1 << LAST_BITS) - 1) << 2);
        let mean = u32::from(self.mean) << 2;
        let known = features.history && !self.is_fresh();
        Keys {
            keys: [
                writer | 1,
                writer | last | 2,
                writer | mean | 3,
                writer | past,
            ],
            known: if known { KEYS[HISTORIES] } else { KEYS[1] },
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
        let features = Features {
            contexts: true,
            history: true,
        };
        let fresh = Page::fresh(3, 100);
        assert!(fresh.is_fresh() && fresh.holds_data() && !Page::default().holds_data());
        assert_eq!(fresh.keys(features).all().len(), 1);
        let again = fresh.overwritten(3, 200, 80);
        assert_eq!((again.past, again.mean), ((1 << LAST_BITS) | 10, 80));
        assert_eq!(again.overwritten(3, 300, 100).mean, 85);
        assert_eq!(again.keys(features).all().len(), 4);
        assert_eq!(again.keys(features).up_to(0), fresh.keys(features).all());
        let beyond = [0, 1, 2].map(|history| again.keys(features).beyond(history).len());
        assert_eq!(beyond, [1, 2, 1]);
        assert!(fresh.keys(features).beyond(2).is_empty());
        let many = (0..300).fold(again, |page, _| page.overwritten(3, 300, u8::MAX));
        assert_eq!(many.past, u8::MAX);
        let blind = Features {
            history: false,
            ..features
        };
        assert!(!again.keys(blind).have_history());
    }

    #[test]
    fn ages_go_on_where_ticks_wrap() {
        assert_eq!(Page::fresh(0, u32::MAX).age(10), 11);
        assert_eq!(Page::fresh(0, 10).age(10), 1);
    }
}
