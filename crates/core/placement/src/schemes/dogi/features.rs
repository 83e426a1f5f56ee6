//! The features of a write that the network gets.

use anabranch_ssd::PageRange;

use super::network::Input;
use crate::{by_page::part, geometry::HostGeometry};

/// Bytes of a chunk whose writes are counted together (§4.2).
const CHUNK_BYTES: u32 = 2 << 20;
/// The drive's capacities the bitmap covers in its eight bits: 40 M blocks of the paper's 33.6 M
/// (§4.2), by share of capacity (our choice).
const BITMAP_CAPACITIES: f64 = 1.2;
const BITS: u64 = 8;

/// Counts by page and chunk.
#[derive(Debug)]
pub(super) struct Features {
    /// In which eighths of the window a page was written, the latest highest.
    recent: Vec<u8>,
    chunks: Vec<u32>,
    chunk_pages: u32,
    eighth_pages: u64,
    logical_pages: u32,
    previous_page: u32,
}

impl Features {
    pub(super) fn new(geometry: &HostGeometry) -> Features {
        let chunk_pages = (CHUNK_BYTES / geometry.page_bytes.max(1)).max(1);
        let window = f64::from(geometry.logical_pages) * BITMAP_CAPACITIES;
        Features {
            recent: vec![0; geometry.logical_pages as usize],
            chunks: vec![0; geometry.logical_pages.div_ceil(chunk_pages) as usize],
            chunk_pages,
            eighth_pages: (window as u64 / BITS).max(1),
            logical_pages: geometry.logical_pages.max(1),
            previous_page: 0,
        }
    }

    /// A page is written that was written `age_pages` ago, if it was. Answers its features: where
    /// it lies and where the write before it did, in how many eighths of the window it was written
    /// and how recently, how long ago, and how often its chunk was written. Counts and ages by
    /// their logarithm, as classes of lifetime go (our choice; the prototype cuts the age off at
    /// 255 quarters of a segment).
    pub(super) fn write(&mut self, page: u32, age_pages: Option<u64>, now_pages: u64) -> Input {
        let chunk = self.chunks.get_mut((page / self.chunk_pages) as usize);
        let chunk_writes = chunk.map_or(0, |writes| {
            *writes = writes.saturating_add(1);
            *writes
        });
        let recent = self.recent.get_mut(page as usize).map_or(0, |bits| {
            let now = now_pages / self.eighth_pages;
            let then = now_pages.saturating_sub(age_pages.unwrap_or(0)) / self.eighth_pages;
            let passed = u32::try_from(now - then).unwrap_or(u32::MAX);
            let before = bits.checked_shr(passed).unwrap_or(0);
            *bits = before | 0x80;
            before
        });
        let place = |page: u32| page as f32 / self.logical_pages as f32;
        let input = [
            place(page),
            place(self.previous_page),
            recent.count_ones() as f32,
            f32::from(recent) / 128.0,
            // A page never written is as one of long ago.
            age_pages.map_or(32.0, |age| ((age + 1) as f32).log2()),
            ((chunk_writes + 1) as f32).log2(),
        ];
        self.previous_page = page;
        input
    }

    pub(super) fn discard(&mut self, pages: PageRange) {
        part(&mut self.recent, pages).fill(0);
    }

    /// Halves the counts of chunks, so that they reflect recent writes.
    pub(super) fn fade(&mut self) {
        for writes in &mut self.chunks {
            *writes /= 2;
        }
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.recent.capacity() + self.chunks.capacity() * size_of::<u32>()
    }
}

/// Shifts and stretches features to mean zero and unit spread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scaler {
    mean: Input,
    stretch: Input,
}

impl Scaler {
    pub(super) fn of<'a>(inputs: impl Iterator<Item = &'a Input> + Clone) -> Scaler {
        let count = inputs.clone().count().max(1) as f64;
        let sum = |feature: usize, power: i32| -> f64 {
            let values = inputs.clone().map(|input| f64::from(input[feature]));
            values.map(|value| value.powi(power)).sum()
        };
        let mean = |feature| sum(feature, 1) / count;
        let spread = |feature| (sum(feature, 2) / count - mean(feature) * mean(feature)).max(0.0);
        Scaler {
            mean: std::array::from_fn(|feature| mean(feature) as f32),
            stretch: std::array::from_fn(|feature| match spread(feature).sqrt() {
                spread if spread > 1e-6 => (1.0 / spread) as f32,
                _ => 0.0,
            }),
        }
    }

    pub(super) fn scale(&self, input: &Input) -> Input {
        std::array::from_fn(|feature| (input[feature] - self.mean[feature]) * self.stretch[feature])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::by_page::tests::DRIVE;

    #[test]
    fn features_tell_of_what_was_before_a_write() {
        // 64 pages: a window of 76 pages, eighths of 9.
        let mut features = Features::new(&DRIVE);
        let first = features.write(16, None, 0);
        assert_eq!(first, [0.25, 0.0, 0.0, 0.0, 32.0, 1.0]);
        let soon = features.write(16, Some(3), 3);
        assert_eq!(soon, [0.25, 0.25, 1.0, 1.0, 2.0, 3_f32.log2()]);
        let later = features.write(16, Some(12), 15);
        assert_eq!(later[2..4], [1.0, 0.5], "an eighth later");
        let again = features.write(16, Some(0), 15);
        assert_eq!(again[2..4], [2.0, 1.5]);
        let much_later = features.write(16, Some(1000), 1015);
        assert_eq!(much_later[2..4], [0.0, 0.0]);
    }

    #[test]
    fn scaled_features_have_no_mean_and_one_spread() {
        let inputs: Vec<Input> = (0..10)
            .map(|n| [n as f32, 5.0, 0.0, 0.0, 0.0, 0.0])
            .collect();
        let scaler = Scaler::of(inputs.iter());
        let scaled: Vec<f32> = inputs.iter().map(|input| scaler.scale(input)[0]).collect();
        assert!(scaled.iter().sum::<f32>().abs() < 1e-5);
        let spread: f32 = scaled.iter().map(|value| value * value).sum();
        assert!((spread - 10.0).abs() < 1e-4);
        assert_eq!(scaler.scale(&inputs[3])[1], 0.0, "no spread, no say");
    }
}
