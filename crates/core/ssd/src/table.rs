//! Tables with an entry for each page of a drive.

use std::ops::{Deref, DerefMut};

use bytemuck::Pod;

/// A table. A large one lies in huge pages of memory, where the system has them: a look at random then misses the
/// processor's cache, but seldom its translations of addresses as well.
#[derive(Debug)]
pub enum Table<T> {
    /// In memory of the allocator.
    Heap(Vec<T>),
    /// In memory of its own, for which huge pages were asked.
    #[cfg(target_os = "linux")]
    Huge(memmap2::MmapMut),
}

/// Bytes from which on huge pages are asked for: the mapping of a drive of 32 GiB (our choice; measured from 64 GiB on).
const LEAST_HUGE: usize = 32 << 20;

impl<T: Pod + PartialEq> Table<T> {
    /// So many times one entry.
    pub fn filled(entry: T, count: usize) -> Table<T> {
        let is_large = count >= LEAST_HUGE / size_of::<T>();
        match is_large.then(|| Table::huge(count)).flatten() {
            Some(mut table) => {
                // Its memory is zero as it comes, and is not there before it is written to.
                if entry != T::zeroed() {
                    table.fill(entry);
                }
                table
            }
            None => Table::Heap(vec![entry; count]),
        }
    }

    /// A table of zeroes in huge pages; `None` where the system refuses the memory or the wish.
    #[cfg(target_os = "linux")]
    fn huge(count: usize) -> Option<Table<T>> {
        let memory = memmap2::MmapMut::map_anon(count * size_of::<T>()).ok()?;
        memory.advise(memmap2::Advice::HugePage).ok()?;
        Some(Table::Huge(memory))
    }

    #[cfg(not(target_os = "linux"))]
    fn huge(_count: usize) -> Option<Table<T>> {
        None
    }

    /// Bytes that its entries take.
    pub fn memory_bytes(&self) -> usize {
        size_of_val::<[T]>(self)
    }
}

impl<T: Pod> Deref for Table<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Table::Heap(entries) => entries,
            #[cfg(target_os = "linux")]
            Table::Huge(memory) => bytemuck::cast_slice(memory),
        }
    }
}

impl<T: Pod> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Table::Heap(entries) => entries,
            #[cfg(target_os = "linux")]
            Table::Huge(memory) => bytemuck::cast_slice_mut(memory),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_tables_hold_what_is_put_there() {
        for count in [0, 1, 4096, (LEAST_HUGE >> 3) - 1, LEAST_HUGE >> 3] {
            for entry in [[0, 0], [7, 9]] {
                let mut table = Table::filled(entry, count);
                assert_eq!(table.len(), count);
                assert!(table.iter().all(|&there| there == entry));
                for (number, there) in table.iter_mut().enumerate() {
                    *there = [number as u32, 1];
                }
                let mut all = table.iter().enumerate();
                assert!(all.all(|(number, &there)| there == [number as u32, 1]));
            }
        }
    }
}
