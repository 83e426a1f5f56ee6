//! Values kept at regular steps of a run, in bounded number.

/// Values kept at regular steps. When there are too many, every second one is dropped and the step
/// doubles.
#[derive(Debug, Clone)]
pub struct Thinned<T> {
    most: usize,
    step_pages: u64,
    next_pages: u64,
    kept: Vec<T>,
}

impl<T> Thinned<T> {
    /// Keeps one value every `step_pages` host pages, and fewer when there would be more than
    /// `most`.
    pub fn new(most: usize, step_pages: u64) -> Thinned<T> {
        Thinned {
            most: most.max(2),
            step_pages: step_pages.max(1),
            next_pages: 0,
            kept: Vec::new(),
        }
    }

    /// Whether a step has passed since the last value was kept.
    #[inline]
    pub fn is_due(&self, host_pages: u64) -> bool {
        host_pages >= self.next_pages
    }

    /// Keeps a value of the time `host_pages`.
    pub fn push(&mut self, host_pages: u64, thing: T) {
        if self.kept.len() == self.most {
            let mut even = false;
            self.kept.retain(|_| {
                even = !even;
                even
            });
            self.step_pages *= 2;
        }
        self.kept.push(thing);
        self.next_pages = host_pages + self.step_pages;
    }

    /// The values kept, oldest first.
    pub fn kept(&self) -> &[T] {
        &self.kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_stay_bounded_and_cover_the_whole_run() {
        let mut thinned = Thinned::new(48, 10);
        for pages in 0..100_000 {
            if thinned.is_due(pages) {
                thinned.push(pages, pages);
            }
        }
        let kept = thinned.kept();
        assert!(kept.len() <= 48 && kept.len() >= 24, "{}", kept.len());
        assert_eq!(kept[0], 0);
        assert!(kept.is_sorted());
        assert!(kept.last().is_some_and(|&last| last > 90_000));
    }
}
