//! The bounds, in predicted lifetime, between streams.

use anabranch_lifetime::{Weighted, cluster};

use super::span::Eighths;

/// Most classes there may be (our choice: more bring less than their open units take).
pub(super) const MOST_CLASSES: usize = 8;
/// Predictions counted apart: eighths of octaves.
const STEPS: usize = 256;

/// Pages written of each predicted life, and the bounds of least spread within classes.
#[derive(Debug)]
pub(super) struct Classes {
    traffic: Box<[f32; STEPS]>,
    /// Bounds between classes for each number of them from 1 on, ascending; no life is beyond those
    /// that are not drawn.
    bounds: [[Eighths; MOST_CLASSES]; MOST_CLASSES],
}

impl Classes {
    pub fn new() -> Classes {
        Classes {
            traffic: Box::new([0.0; STEPS]),
            bounds: [[Eighths::INFINITY; MOST_CLASSES]; MOST_CLASSES],
        }
    }

    /// A page of this predicted life is written or copied.
    #[inline]
    pub fn count(&mut self, life: Eighths) {
        self.traffic[usize::from(life as u8)] += 1.0;
    }

    /// Draws the bounds anew: of all ways to part what was counted, that with the least spread of
    /// predicted lives within classes. What was counted then counts half.
    pub fn redraw(&mut self) {
        let points: Vec<Weighted> = (0..)
            .zip(&*self.traffic)
            .filter(|(_, weight)| **weight > 0.0)
            .map(|(step, &weight)| Weighted {
                value: f64::from(step),
                weight: weight.into(),
            })
            .collect();
        for (index, bounds) in self.bounds.iter_mut().enumerate() {
            let groups = cluster(&points, index + 1, 0.0);
            let middle = |pair: &[Weighted]| ((pair[0].value + pair[1].value) / 2.0) as f32;
            bounds.fill(Eighths::INFINITY);
            for (bound, pair) in bounds.iter_mut().zip(groups.windows(2)) {
                *bound = middle(pair);
            }
        }
        self.traffic.iter_mut().for_each(|weight| *weight /= 2.0);
    }

    /// The class of a predicted life, of so many classes; class 0 is of the shortest.
    #[inline]
    pub fn class_of(&self, life: Eighths, classes: usize) -> u16 {
        let bounds = &self.bounds[classes.clamp(1, MOST_CLASSES) - 1];
        bounds.iter().filter(|&&bound| life > bound).count() as u16
    }

    pub fn memory_bytes(&self) -> usize {
        size_of_val(&*self.traffic)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(lives: &[(Eighths, u32)]) -> Classes {
        let mut classes = Classes::new();
        for &(life, pages) in lives {
            (0..pages).for_each(|_| classes.count(life));
        }
        classes.redraw();
        classes
    }

    #[test]
    fn bounds_lie_between_what_lives_differently() {
        let classes = counted(&[(40.0, 100), (44.0, 100), (90.0, 100), (150.0, 10)]);
        let of = |life, count| classes.class_of(life, count);
        assert_eq!(
            [40.0, 44.0, 90.0, 150.0].map(|life| of(life, 3)),
            [0, 0, 1, 2]
        );
        assert_eq!(
            [40.0, 44.0, 90.0, 150.0].map(|life| of(life, 2)),
            [0, 0, 1, 1]
        );
        assert_eq!([40.0, 44.0, 90.0, 150.0].map(|life| of(life, 1)), [0; 4]);
    }

    #[test]
    fn a_class_is_below_the_number_asked_for() {
        let lives: Vec<(Eighths, u32)> = (0..250).map(|life| (life as f32, life)).collect();
        let classes = counted(&lives);
        for count in 0..20 {
            let greatest = (0..300)
                .map(|life| classes.class_of(life as f32, count))
                .max();
            assert!(usize::from(greatest.unwrap()) < count.clamp(1, MOST_CLASSES));
        }
    }

    #[test]
    fn bounds_follow_what_is_written() {
        let mut classes = counted(&[(40.0, 1000), (60.0, 1000)]);
        assert_eq!(classes.class_of(60.0, 2), 1);
        for _ in 0..12 {
            (0..1000).for_each(|_| classes.count(60.0));
            (0..1000).for_each(|_| classes.count(120.0));
            classes.redraw();
        }
        assert_eq!([60.0, 120.0].map(|life| classes.class_of(life, 2)), [0, 1]);
    }

    #[test]
    fn there_are_no_more_classes_than_lives_that_were_counted() {
        let classes = counted(&[(40.0, 100), (90.0, 100)]);
        for count in 2..=MOST_CLASSES {
            let of = [40.0, 65.0, 66.0, 90.0].map(|life| classes.class_of(life, count));
            assert_eq!(of, [0, 0, 1, 1], "{count}");
        }
    }

    #[test]
    fn before_anything_was_counted_all_is_one_class() {
        assert_eq!(Classes::new().class_of(100.0, 8), 0);
    }
}
