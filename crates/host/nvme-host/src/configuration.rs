//! The configuration of Flexible Data Placement that is in force: which it is, a feature tells (NVMe Base Specification 2.1,
//! §5.1.25.1.20, Feature Identifier 1Dh), and what it is, a log page, which has all there are (§5.1.12.1.28, 20h).

use crate::command::{Queue, opcode};
use crate::placement::CommandKind;

/// Bytes before the first descriptor of the log page.
const HEADER: usize = 16;
/// Bytes of a descriptor before the types of its handles.
const DESCRIPTOR: usize = 64;
/// Bytes of the log page that are read, at most (our choice: 14 configurations of 128 handles).
const MOST_BYTES: usize = 8192;

/// A configuration of Flexible Data Placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    index: u8,
    descriptor: Vec<u8>,
}

impl Configuration {
    /// The one that is in force in an endurance group. `ask` sends a command as [`crate::Namespace::ask`] does. Nothing where
    /// none is in force, where the log page does not have it, and where the feature is refused and there are several.
    ///
    /// # Errors
    /// Those of `ask` when the log page is refused.
    pub fn in_force<E>(
        endurance_group: u16,
        mut ask: impl FnMut(&'static str, CommandKind, [u32; 6], &mut [u8]) -> Result<u32, E>,
    ) -> Result<Option<Configuration>, E> {
        const FEATURE: u32 = 0x1d;
        let command = (Queue::Admin, opcode::GET_FEATURES, false);
        let words = [FEATURE, u32::from(endurance_group), 0, 0, 0, 0];
        let told = ask("ask for the FDP feature", command, words, &mut []).ok();
        let mut page = Page::read(endurance_group, ask)?;
        // NUMFDPC counts from 0.
        let last = u32::from(u16_at(&page.bytes, 0));
        let index = match told {
            // FDPE, and FDPCIDX.
            Some(told) if told & 1 == 1 => told >> 8 & 0xff,
            None if last == 0 => 0,
            Some(_) | None => return Ok(None),
        };
        if index > last {
            return Ok(None);
        }
        let descriptor = page.descriptor(index);
        Ok(descriptor.map(|descriptor| Configuration {
            index: index as u8,
            descriptor,
        }))
    }

    /// Its place among the configurations that the drive offers.
    pub fn index(&self) -> u8 {
        self.index
    }

    /// Reclaim groups (NRG).
    pub fn groups(&self) -> u32 {
        u32::from(u16_at(&self.descriptor, 4)) | u32::from(u16_at(&self.descriptor, 6)) << 16
    }

    /// Reclaim unit handles of the drive (NRUH).
    pub fn handles(&self) -> u16 {
        u16_at(&self.descriptor, 8)
    }

    /// The nominal bytes of a reclaim unit (RUNS), where the drive tells.
    pub fn unit_bytes(&self) -> Option<u64> {
        let field = self.descriptor.get(16..24)?.try_into().ok();
        field
            .map(u64::from_le_bytes)
            .filter(|&unit_bytes| unit_bytes > 0)
    }

    /// Whether a reclaim unit handle is persistently isolated (RUHT 2), and not initially (1); nothing where it has no type.
    pub fn is_persistent(&self, handle: u16) -> Option<bool> {
        if handle >= self.handles() {
            return None;
        }
        let kind = self.descriptor.get(DESCRIPTOR + 4 * usize::from(handle));
        match kind? {
            1 => Some(false),
            2 => Some(true),
            _ => None,
        }
    }
}

/// The log page as far as it was read.
struct Page<A> {
    endurance_group: u16,
    ask: A,
    bytes: Vec<u8>,
}

impl<E, A> Page<A>
where
    A: FnMut(&'static str, CommandKind, [u32; 6], &mut [u8]) -> Result<u32, E>,
{
    /// The header, and what the page's Size leaves behind it: room for one descriptor at least.
    fn read(endurance_group: u16, ask: A) -> Result<Page<A>, E> {
        let mut page = Page {
            endurance_group,
            ask,
            bytes: Vec::new(),
        };
        page.ask_for(HEADER)?;
        let size = u32::from(u16_at(&page.bytes, 4)) | u32::from(u16_at(&page.bytes, 6)) << 16;
        let bytes = (size as usize).clamp(HEADER + DESCRIPTOR, MOST_BYTES);
        page.ask_for(bytes & !3)?;
        Ok(page)
    }

    fn ask_for(&mut self, bytes: usize) -> Result<(), E> {
        const PAGE: u32 = 0x20;
        let mut data = vec![0; bytes];
        let count = (bytes / 4 - 1) as u32;
        let group = u32::from(self.endurance_group) << 16;
        let words = [PAGE | count << 16, group, 0, 0, 0, 0];
        let command = (Queue::Admin, opcode::GET_LOG, false);
        let what = "ask for the FDP configurations";
        (self.ask)(what, command, words, &mut data)?;
        self.bytes = data;
        Ok(())
    }

    /// Whether so many bytes are there. Some drives' Size is too small: they are asked once more, for what a descriptor says
    /// of its own size.
    fn reaches(&mut self, bytes: usize) -> bool {
        let bytes = bytes.next_multiple_of(4);
        bytes <= self.bytes.len() || bytes <= MOST_BYTES && self.ask_for(bytes).is_ok()
    }

    /// A descriptor, as far as it is there; nothing where it does not begin there. Each says how long it is (DSZE).
    fn descriptor(&mut self, index: u32) -> Option<Vec<u8>> {
        let mut at = HEADER;
        for place in 0..=index {
            if !self.reaches(at + DESCRIPTOR) {
                return None;
            }
            let bytes = usize::from(u16_at(&self.bytes, at));
            if bytes < DESCRIPTOR {
                return None;
            }
            if place == index {
                self.reaches(at + bytes);
                let end = self.bytes.len().min(at + bytes);
                return self.bytes.get(at..end).map(<[u8]>::to_vec);
            }
            at += bytes;
        }
        None
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(0);
    u16::from_le_bytes([byte(at), byte(at + 1)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor of this unit, with these handles' types and vendor's bytes behind them.
    fn descriptor(unit_bytes: u64, kinds: &[u8], vendors: usize) -> Vec<u8> {
        let mut bytes = vec![0; DESCRIPTOR + 4 * kinds.len() + vendors];
        let size = bytes.len() as u16;
        bytes[..2].copy_from_slice(&size.to_le_bytes());
        bytes[4] = 1;
        bytes[8] = kinds.len() as u8;
        bytes[16..24].copy_from_slice(&unit_bytes.to_le_bytes());
        for (handle, &kind) in kinds.iter().enumerate() {
            bytes[DESCRIPTOR + 4 * handle] = kind;
        }
        bytes
    }

    /// A log page of these, with an honest Size.
    fn page(descriptors: &[Vec<u8>]) -> Vec<u8> {
        let mut page = vec![0; HEADER];
        page.extend(descriptors.concat());
        page[0] = descriptors.len() as u8 - 1;
        let size = page.len() as u32;
        page[4..8].copy_from_slice(&size.to_le_bytes());
        page
    }

    /// The configuration in force of a drive with this page, which refuses any longer question; `told` is its feature's answer.
    fn found(page: &[u8], told: Option<u32>) -> Result<Option<Configuration>, usize> {
        Configuration::in_force(3, |_, (_, opcode, _), words, data| {
            if opcode == opcode::GET_FEATURES {
                assert_eq!(words[..2], [0x1d, 3]);
                return told.ok_or(0);
            }
            assert_eq!(
                words[..2],
                [0x20 | (data.len() as u32 / 4 - 1) << 16, 3 << 16]
            );
            let answer = page.get(..data.len()).ok_or(data.len())?;
            data.copy_from_slice(answer);
            Ok(0)
        })
    }

    const ON: u32 = 1;

    /// Two of different sizes, units and isolation.
    fn two() -> Vec<u8> {
        page(&[
            descriptor(24 << 20, &[1, 1, 1, 1, 1], 12),
            descriptor(6 << 20, &[1, 2, 2], 8),
        ])
    }

    #[test]
    fn the_one_in_force_is_read_and_not_the_first() {
        let first = found(&two(), Some(ON)).unwrap().unwrap();
        assert_eq!((first.index(), first.handles(), first.groups()), (0, 5, 1));
        assert_eq!(first.unit_bytes(), Some(24 << 20));
        assert_eq!(first.is_persistent(1), Some(false));
        let second = found(&two(), Some(ON | 1 << 8)).unwrap().unwrap();
        assert_eq!((second.index(), second.handles()), (1, 3));
        assert_eq!(second.unit_bytes(), Some(6 << 20));
        let kinds = [0, 1, 2, 3].map(|handle| second.is_persistent(handle));
        assert_eq!(kinds, [Some(false), Some(true), Some(true), None]);
    }

    #[test]
    fn what_is_not_in_force_or_not_in_the_page_is_not_made_up() {
        // Beyond the last; switched off; not told, of two.
        for told in [Some(ON | 2 << 8), Some(ON | 255 << 8), Some(1 << 8), None] {
            assert_eq!(found(&two(), told), Ok(None), "{told:x?}");
        }
        // Not told, of one.
        let one = page(&[descriptor(24 << 20, &[1], 0)]);
        assert_eq!(found(&one, None).unwrap().unwrap().index(), 0);
        // A descriptor that says it is shorter than any can be.
        let mut short = two();
        short[HEADER] = 63;
        assert_eq!(found(&short, Some(ON | 1 << 8)), Ok(None));
        // A drive that has none refuses.
        assert_eq!(found(&[0; HEADER], Some(ON)), Err(HEADER + DESCRIPTOR));
    }

    #[test]
    fn a_page_that_is_cut_off_gives_what_it_has() {
        let whole = two();
        let second = Some(ON | 1 << 8);
        let begins = HEADER + usize::from(u16_at(&whole, HEADER));
        // The page ends before the second descriptor's fixed part does, or within its types.
        for (end, handles) in [(begins, None), (begins + 60, None), (begins + 68, Some(1))] {
            let mut cut = whole[..end].to_vec();
            cut[4..8].copy_from_slice(&(end as u32).to_le_bytes());
            let found = found(&cut, second).unwrap();
            let typed = found.as_ref().map(|found| {
                (0..found.handles())
                    .filter(|&handle| found.is_persistent(handle).is_some())
                    .count()
            });
            assert_eq!(typed, handles, "{end}");
        }
    }

    #[test]
    fn a_size_that_is_too_small_is_asked_past() {
        let mut whole = two();
        let second = found(&whole, Some(ON | 1 << 8));
        for size in [0_u32, 16, 20, 80, 96] {
            whole[4..8].copy_from_slice(&size.to_le_bytes());
            assert_eq!(found(&whole, Some(ON | 1 << 8)), second, "{size}");
        }
    }

    #[test]
    fn what_a_drive_says_of_lengths_is_bounded() {
        let mut longest = 0;
        let found = Configuration::in_force(1, |_, (_, opcode, _), _, data| {
            longest = longest.max(data.len());
            data.fill(0xff);
            match opcode {
                opcode::GET_FEATURES => Ok::<u32, ()>(u32::MAX),
                _ => Ok(0),
            }
        });
        assert_eq!((found, longest), (Ok(None), MOST_BYTES));
    }
}
