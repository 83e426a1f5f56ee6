//! Stretches of writes on a logarithmic scale.

/// A predicted stretch of writes, in pages: eighths of octaves above one page.
pub(super) type Eighths = f32;

/// Eighths of an octave in one bin of a curve (our choice: half an octave is finer than any
/// prediction, and a curve stays within three cache lines).
const BIN_EIGHTHS: u8 = 4;
/// Bins of a curve: 20 octaves, from the capacity over 4,096 to 256 times the capacity.
pub(super) const BINS: usize = 40;
/// Lives shorter than the capacity over two to this power share one bin (our choice: less than a
/// unit of most drives).
const OCTAVES_BELOW_CAPACITY: u8 = 12;

/// Eighths in an octave.
const EIGHTHS: f32 = 8.0;
/// Least share of a life that is left in the bin it ends in: half of a bin's width (half an octave
/// down from its end is 0.29 of it).
const LEAST_LEFT: f32 = 0.15;

/// A number of pages as eighths of octaves above one page, each octave cut into equal eighths: the
/// exponent and the first three bits of the mantissa.
#[inline]
pub(super) fn eighths(pages: u32) -> u8 {
    // 127 is the exponent of 1.0 in IEEE 754; 2^20 leaves three bits of mantissa.
    let above_one = ((pages.max(1) as f32).to_bits() >> 20).saturating_sub(127 << 3);
    above_one.min(u8::MAX.into()) as u8
}

/// The bins that lives and ages are counted in, on a drive of some size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// Eighths at which the second bin begins.
    start: u8,
}

impl Scale {
    pub fn new(logical_pages: u32) -> Scale {
        Scale {
            start: eighths(logical_pages).saturating_sub(OCTAVES_BELOW_CAPACITY * 8),
        }
    }

    /// The bin of a stretch of so many eighths.
    #[inline]
    pub fn bin(&self, eighths: u8) -> usize {
        // The second bin begins at the start: a difference, not a branch, since which it is follows no pattern.
        let above = (u16::from(eighths) + u16::from(BIN_EIGHTHS)).saturating_sub(self.start.into());
        usize::from(above / u16::from(BIN_EIGHTHS)).min(BINS - 1)
    }

    fn middle(&self, bin: usize) -> Eighths {
        f32::from(self.start) + (bin as f32 - 0.5) * f32::from(BIN_EIGHTHS)
    }

    /// Of data that have lived until `age`, a bin, and die in `death`, a bin not before it: how
    /// long they still live.
    pub fn remaining(&self, age: usize, death: usize) -> Eighths {
        let died = (self.middle(death) / EIGHTHS).exp2();
        let lived = match age {
            0 => 0.0,
            _ => ((self.middle(age) - f32::from(BIN_EIGHTHS) / 2.0) / EIGHTHS).exp2(),
        };
        (died - lived).max(died * LEAST_LEFT).log2() * EIGHTHS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_octave_has_eight_eighths() {
        assert_eq!(
            [0, 1, 2, 3, 4, 1 << 20].map(eighths),
            [0, 0, 8, 12, 16, 160]
        );
        assert_eq!(eighths(u32::MAX), 255);
    }

    #[test]
    fn every_stretch_has_a_bin_and_longer_ones_later_bins() {
        for pages in [1, 1000, 300_000, u32::MAX] {
            let scale = Scale::new(pages);
            let bins: Vec<usize> = (0..=255).map(|eighths| scale.bin(eighths)).collect();
            assert!(bins.is_sorted());
            assert!(bins[255] < BINS);
        }
    }

    #[test]
    fn what_has_lived_long_dies_later_and_what_is_left_is_less_than_the_whole() {
        let scale = Scale::new(1 << 20);
        for death in 1..BINS {
            let whole = scale.remaining(0, death);
            assert!((1..=death).all(|age| scale.remaining(age, death) <= whole));
        }
    }
}
