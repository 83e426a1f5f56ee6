//! Users of a drive's reclaim unit handles: the drive tells of each whether some namespace does (NVMe Base
//! Specification 2.1, §5.1.12.1.29, log page 21h), but not which.

use crate::command::{Queue, opcode};
use crate::placement::{CommandKind, PlacementHandle, whole};

/// Bytes of the page's header, and of what it tells of a handle.
const HEADER: usize = 8;
const DESCRIPTOR: usize = 8;
/// Handles that are read, at most (our choice: a page of 8 KiB).
const MOST_HANDLES: usize = 1023;

/// The use of a reclaim unit handle (RUHA).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Usage {
    /// No namespace uses it.
    Unused,
    /// At least one namespace uses it, whose maker listed it.
    HostSpecified,
    /// At least one namespace uses it, which was made without a list.
    ControllerSpecified,
    /// A value that the specification reserves.
    Reserved(u8),
}

impl Usage {
    /// Whether some namespace uses it.
    pub fn is_used(self) -> bool {
        matches!(self, Usage::HostSpecified | Usage::ControllerSpecified)
    }

    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Usage::Unused => "unused",
            Usage::HostSpecified => "host_specified",
            Usage::ControllerSpecified => "controller_specified",
            Usage::Reserved(_) => "reserved",
        }
    }
}

/// Reads the use of each reclaim unit handle of an endurance group. `ask` sends a command as [`crate::Namespace::ask`] does.
///
/// # Errors
/// Those of `ask`.
pub fn usage<E>(
    endurance_group: u16,
    mut ask: impl FnMut(&'static str, CommandKind, [u32; 6], &mut [u8]) -> Result<u32, E>,
) -> Result<Vec<Usage>, E> {
    const PAGE: u32 = 0x21;
    let command = (Queue::Admin, opcode::GET_LOG, false);
    let length = |header: &[u8]| {
        let handles = usize::from(u16::from_le_bytes([header[0], header[1]]));
        HEADER + handles.min(MOST_HANDLES) * DESCRIPTOR
    };
    let page = whole(HEADER, length, |data| {
        let count = (data.len() / 4 - 1) as u32;
        let group = u32::from(endurance_group) << 16;
        let words = [PAGE | count << 16, group, 0, 0, 0, 0];
        ask("ask for the usage of handles", command, words, data)
    })?;
    let (descriptors, _) = page[HEADER..].as_chunks::<DESCRIPTOR>();
    let read = descriptors.iter().map(|descriptor| match descriptor[0] {
        0 => Usage::Unused,
        1 => Usage::HostSpecified,
        2 => Usage::ControllerSpecified,
        other => Usage::Reserved(other),
    });
    Ok(read.collect())
}

/// Those of `own` that stand for a handle which `others` have too.
pub fn shared<'a>(
    own: &'a [PlacementHandle],
    others: &'a [u16],
) -> impl Iterator<Item = &'a PlacementHandle> {
    own.iter().filter(|one| others.contains(&one.handle))
}

/// Numbers in order, in words: `0-3, 6`.
pub fn listed(numbers: impl IntoIterator<Item = u16>) -> String {
    let mut numbers: Vec<u16> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.dedup();
    let runs = numbers.chunk_by(|before, after| before + 1 == *after);
    let words = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run.iter().map(u16::to_string).collect(),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_each_handle_is_read_and_its_length_is_bounded() {
        let mut page = [0; HEADER + 4 * DESCRIPTOR];
        page[0] = 4;
        for (handle, kind) in [0, 1, 2, 3].into_iter().enumerate() {
            page[HEADER + DESCRIPTOR * handle] = kind;
        }
        let found = usage(5, |_, _, words, data| {
            assert_eq!(
                words[..2],
                [0x21 | (data.len() as u32 / 4 - 1) << 16, 5 << 16]
            );
            // No more is asked for than there is.
            data.copy_from_slice(page.get(..data.len()).ok_or(data.len())?);
            Ok::<u32, usize>(0)
        });
        let (unused, host) = (Usage::Unused, Usage::HostSpecified);
        let expected = vec![unused, host, Usage::ControllerSpecified, Usage::Reserved(3)];
        assert_eq!(found, Ok(expected));
        let most = usage(1, |_, _, _, data| {
            data.fill(0xff);
            Ok::<u32, ()>(0)
        });
        assert_eq!(most.map(|most| most.len()), Ok(MOST_HANDLES));
    }

    #[test]
    fn handles_that_two_namespaces_have_are_shared() {
        let own = [(0, 4), (1, 5), (2, 6)].map(|(identifier, handle)| PlacementHandle {
            identifier,
            handle,
            room_blocks: 0,
        });
        let found = |others: &[u16]| -> Vec<u16> {
            shared(&own, others).map(|one| one.identifier).collect()
        };
        assert_eq!(found(&[6, 4, 7]), [0, 2]);
        assert_eq!(found(&[0, 1, 2]), [] as [u16; 0]);
    }

    #[test]
    fn numbers_are_listed_as_runs() {
        assert_eq!(listed([3, 0, 1, 2, 6, 2]), "0-3, 6");
        assert_eq!(listed([u16::MAX, u16::MAX - 1]), "65534-65535");
        assert_eq!((listed([7]), listed([])), ("7".to_owned(), String::new()));
    }
}
