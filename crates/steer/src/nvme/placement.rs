//! Answers on Flexible Data Placement whose length the drive knows.
//!
//! Each is asked for twice: its header, which tells the length, and then the whole. A buffer longer than the answer is no
//! way out: Linux describes it by an SGL of several parts, and a controller may refuse one that is longer than its data
//! (status 0Fh, unless bit 18 of SGLS is set). QEMU's does.

use super::{Queue, opcode};

/// Bytes of both headers.
const HEADER: usize = 16;
/// Bytes of a handle's descriptor.
const DESCRIPTOR: usize = 32;
/// Placement handles of a namespace, at most.
const MOST_HANDLES: usize = 128;
/// Bytes of a configuration before the types of its handles.
const CONFIGURATION: usize = 64;
/// Bytes of configurations that are read, at most (our choice: some configurations of 128 handles).
const MOST_CONFIGURATION_BYTES: usize = 8192;

/// The reclaim unit handles' status (TP4146): for each placement handle of the namespace a descriptor of 32 bytes behind
/// a header of 16. `ask` sends a command as [`super::Namespace::ask`] does.
///
/// # Errors
/// Those of `ask`; a namespace without Flexible Data Placement has no such status.
pub fn handle_status<E>(
    mut ask: impl FnMut(&'static str, (Queue, u8, bool), [u32; 6], &mut [u8]) -> Result<u32, E>,
) -> Result<Vec<u8>, E> {
    const REPORT: u32 = 1;
    let command = (Queue::Io, opcode::MANAGEMENT_RECEIVE, true);
    let length = |header: &[u8]| {
        let handles = u16::from_le_bytes([header[14], header[15]]);
        HEADER + usize::from(handles).min(MOST_HANDLES) * DESCRIPTOR
    };
    whole(length, |data| {
        let words = [REPORT, (data.len() / 4 - 1) as u32, 0, 0, 0, 0];
        ask("ask for the reclaim unit handles", command, words, data)
    })
}

/// The log page of FDP configurations (20h) of an endurance group. `ask` sends a command as [`super::Namespace::ask`] does.
/// There is one configuration at least (NUMFDPC counts from 0): where the page's Size leaves no room for any, the first
/// is asked for by what it says of its own size.
///
/// # Errors
/// Those of `ask`.
pub fn configurations<E>(
    endurance_group: u16,
    mut ask: impl FnMut(&'static str, (Queue, u8, bool), [u32; 6], &mut [u8]) -> Result<u32, E>,
) -> Result<Vec<u8>, E> {
    const PAGE: u32 = 0x20;
    let command = (Queue::Admin, opcode::GET_LOG, false);
    // In whole double words, as it is asked for.
    let bounded = |bytes: usize| bytes.min(MOST_CONFIGURATION_BYTES) & !3;
    let length = |header: &[u8]| {
        let bytes = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
        bounded(bytes as usize).max(HEADER + CONFIGURATION)
    };
    let mut ask = |data: &mut [u8]| {
        let count = (data.len() / 4 - 1) as u32;
        let words = [
            PAGE | count << 16,
            u32::from(endurance_group) << 16,
            0,
            0,
            0,
            0,
        ];
        ask("ask for the FDP configurations", command, words, data)
    };
    let log = whole(length, &mut ask)?;
    let own = u16::from_le_bytes([log[HEADER], log[HEADER + 1]]);
    let first = bounded(HEADER + usize::from(own));
    if first <= log.len() {
        return Ok(log);
    }
    let mut data = vec![0; first];
    // Refused, what is there already says more than nothing.
    Ok(ask(&mut data).map_or(log, |_| data))
}

/// A header, and where it tells of more, all of it.
fn whole<E>(
    length: impl Fn(&[u8]) -> usize,
    mut ask: impl FnMut(&mut [u8]) -> Result<u32, E>,
) -> Result<Vec<u8>, E> {
    let mut header = vec![0; HEADER];
    ask(&mut header)?;
    let bytes = length(&header);
    if bytes <= HEADER {
        return Ok(header);
    }
    let mut data = vec![0; bytes];
    ask(&mut data)?;
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive with this answer, which refuses any longer question.
    fn answered(answer: &[u8], data: &mut [u8]) -> Result<u32, usize> {
        let told = answer.get(..data.len()).ok_or(data.len())?;
        data.copy_from_slice(told);
        Ok(0)
    }

    #[test]
    fn no_more_is_asked_for_than_there_is() {
        for handles in [0_u8, 1, 8, 128] {
            let mut status = vec![7; HEADER + usize::from(handles) * DESCRIPTOR];
            status[14..16].copy_from_slice(&[handles, 0]);
            let found = handle_status(|_, _, _, data| answered(&status, data));
            assert_eq!(found, Ok(status));
        }
        let mut log = vec![7; 112];
        log[4..8].copy_from_slice(&112_u32.to_le_bytes());
        log[HEADER..HEADER + 2].copy_from_slice(&[96, 0]);
        let found = configurations(1, |_, _, words, data| {
            assert_eq!(words[0] >> 16, data.len() as u32 / 4 - 1);
            answered(&log, data)
        });
        assert_eq!(found, Ok(log));
    }

    #[test]
    fn what_a_drive_says_of_the_length_is_bounded() {
        let all = [0xff; 1 << 14];
        let status = handle_status(|_, _, _, data| answered(&all, data)).unwrap();
        assert_eq!(status.len(), HEADER + MOST_HANDLES * DESCRIPTOR);
        let log = configurations(1, |_, _, _, data| answered(&all, data)).unwrap();
        assert_eq!(log.len(), MOST_CONFIGURATION_BYTES);
    }

    #[test]
    fn a_configuration_is_read_where_the_page_has_no_size() {
        // One configuration, of 4 handles.
        let mut log = vec![7; HEADER + CONFIGURATION + 16];
        log[HEADER..HEADER + 2].copy_from_slice(&[80, 0]);
        for size in [0_u32, 16, 20, 80, 96] {
            log[4..8].copy_from_slice(&size.to_le_bytes());
            let found = configurations(1, |_, _, _, data| answered(&log, data));
            assert_eq!(found.as_ref(), Ok(&log), "{size}");
        }
        // A drive that has none refuses.
        let log = configurations(1, |_, _, _, data| answered(&[0; HEADER], data));
        assert_eq!(log, Err(HEADER + CONFIGURATION));
    }
}
