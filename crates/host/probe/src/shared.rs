//! Values of which equal ones are kept once.

use std::hash::Hash;
use std::sync::Arc;

use crate::bounded::BoundedMap;

/// The most values that are compared with new ones: programs that are started again and again stay among them. Our
/// choice.
const MAX_SHARED: usize = 4096;

/// The values met lately. What is shared depends only on the calls made.
#[derive(Debug)]
pub(crate) struct Shared<T: ?Sized>(BoundedMap<Arc<T>, Arc<T>>);

impl<T: Eq + Hash + ?Sized> Shared<T> {
    pub(crate) fn new() -> Shared<T> {
        Shared(BoundedMap::new(MAX_SHARED))
    }

    /// The value met lately that equals `value`, else `value` itself.
    pub(crate) fn share(&mut self, value: Arc<T>) -> Arc<T> {
        if let Some(known) = self.0.get_mut(&value) {
            return known.clone();
        }
        self.0.insert(value.clone(), value.clone());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_met_lately_are_one_and_no_more_than_some_are_held() {
        let mut shared = Shared::new();
        let first = shared.share(Arc::new(0));
        for other in 1..3 * MAX_SHARED {
            let other = Arc::downgrade(&shared.share(Arc::new(other)));
            assert!(other.strong_count() > 0);
            let again = Arc::new(0);
            let met = Arc::downgrade(&again);
            assert!(Arc::ptr_eq(&first, &shared.share(again)));
            assert_eq!(met.strong_count(), 0, "an equal one is not kept");
        }
        let passing: Vec<_> = (0..3 * MAX_SHARED)
            .map(|value| Arc::downgrade(&shared.share(Arc::new(value))))
            .collect();
        let held = passing.iter().filter(|one| one.strong_count() > 0).count();
        assert!(held <= MAX_SHARED, "{held}");
    }
}
