//! A map that holds at most a given number of entries and drops those not used for longest.

use std::collections::HashMap;
use std::hash::Hash;

/// A map in two generations: a used entry moves to the young one; when that is half the capacity,
/// it becomes the old one and what the old one still held is dropped. Every operation takes
/// constant time, and what is kept depends only on the calls made.
#[derive(Debug)]
pub(crate) struct BoundedMap<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
    half: usize,
}

impl<K: Eq + Hash, V> BoundedMap<K, V> {
    /// A map of at most `capacity` entries, at least 2.
    pub(crate) fn new(capacity: usize) -> Self {
        BoundedMap {
            young: HashMap::new(),
            old: HashMap::new(),
            half: (capacity / 2).max(1),
        }
    }

    /// The entry of `key`. The look-up counts as use.
    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        if let Some((known, value)) = self.old.remove_entry(key) {
            self.insert(known, value);
        }
        self.young.get_mut(key)
    }

    /// Adds or replaces the entry of `key`.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.young.len() >= self.half && !self.young.contains_key(&key) {
            self.old = std::mem::take(&mut self.young);
        }
        self.old.remove(&key);
        self.young.insert(key, value);
    }

    /// Removes the entry of `key`. Answers with it.
    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        self.young.remove(key).or_else(|| self.old.remove(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_in_use_outlives_any_number_of_strangers() {
        let mut map = BoundedMap::new(8);
        map.insert(0, "kept");
        for stranger in 1..1000 {
            map.insert(stranger, "passing");
            assert_eq!(map.get_mut(&0), Some(&mut "kept"));
        }
        assert_eq!(map.get_mut(&1), None);
    }

    #[test]
    fn a_removed_entry_is_gone() {
        let mut map = BoundedMap::new(8);
        map.insert(1, 10);
        assert_eq!(map.remove(&1), Some(10));
        assert_eq!(map.get_mut(&1), None);
    }

    proptest! {
        #[test]
        fn the_capacity_is_never_exceeded(keys in proptest::collection::vec((0_u8..64, any::<bool>()), 0..400), capacity in 2_usize..32) {
            let mut map = BoundedMap::new(capacity);
            for (key, look) in keys {
                if look { map.get_mut(&key); } else { map.insert(key, ()); }
                prop_assert!(map.young.len() + map.old.len() <= capacity);
                prop_assert!(map.young.keys().all(|key| !map.old.contains_key(key)));
            }
        }
    }
}
