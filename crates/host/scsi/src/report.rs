//! Reports of the unit beside INQUIRY and MODE SENSE: its size, its streams, its commands.

use crate::{
    bytes::{narrow, put},
    command::Operations,
    geometry::Geometry,
    operations::{Operation, operations},
    sense::Sense,
};

/// READ CAPACITY(10) (SBC §5.20): the last block, or FFFFFFFFh where READ CAPACITY(16) must be asked.
pub(crate) fn capacity_10(of: &Geometry) -> Vec<u8> {
    let last: u32 = narrow(of.blocks.saturating_sub(1), u32::MAX);
    [last.to_be_bytes(), of.block_bytes.to_be_bytes()].concat()
}

/// READ CAPACITY(16) (SBC §5.21). Blocks can be given up (LBPME), and read as zeroes then (LBPRZ).
pub(crate) fn capacity_16(of: &Geometry) -> Vec<u8> {
    const PROVISIONED: u8 = 0xc0;
    let mut data = vec![0; 32];
    put(&mut data, 0, &of.blocks.saturating_sub(1).to_be_bytes());
    put(&mut data, 8, &of.block_bytes.to_be_bytes());
    data[13] = (of.page_bytes / of.block_bytes).trailing_zeros() as u8;
    data[14] = PROVISIONED;
    data
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpenStream {
    pub(crate) identifier: u16,
    /// It is never closed (SBC-5, PERM).
    pub(crate) permanent: bool,
}

/// GET STREAM STATUS (SBC §5.9): the open streams from an identifier on, of so many. RELATIVE LIFETIME of a permanent
/// stream is its number: Linux numbers its life-time hints so, from short to extreme.
pub(crate) fn stream_status(listed: &[OpenStream], open: u16) -> Vec<u8> {
    const PERMANENT: u8 = 1 << 7;
    let mut data = vec![0; 8];
    put(&mut data, 0, &(8 * listed.len() as u32).to_be_bytes());
    put(&mut data, 6, &open.to_be_bytes());
    for stream in listed {
        let mut one = [0; 8];
        put(&mut one, 2, &stream.identifier.to_be_bytes());
        if stream.permanent {
            one[0] = PERMANENT;
            one[4] = stream.identifier as u8;
        }
        data.extend(one);
    }
    data
}

/// STREAM CONTROL parameter data (SBC §5.32.2): the identifier of a stream that was opened.
pub(crate) fn stream_control(assigned: u16) -> Vec<u8> {
    let mut data = vec![0; 8];
    data[0] = 7;
    put(&mut data, 4, &assigned.to_be_bytes());
    data
}

/// REPORT SUPPORTED OPERATION CODES (SPC §6.35).
///
/// # Errors
/// INVALID FIELD IN CDB where a service action is asked for of a command that has none, or none of one that has.
pub(crate) fn supported(asked: Operations, streams: bool) -> Result<Vec<u8>, Sense> {
    let (options, code, action) = match asked {
        Operations::All => return Ok(all(streams)),
        Operations::One {
            options,
            code,
            action,
        } => (options, code, action),
    };
    let of_code = || operations(streams).filter(move |one| one.code == code);
    let has_actions = of_code().any(|one| one.action.is_some());
    let is_known = of_code().next().is_some();
    match options {
        1 if has_actions => return Err(Sense::command_field(2, Some(2))),
        2 if is_known && !has_actions => return Err(Sense::command_field(2, Some(2))),
        _ => {}
    }
    let mut found = of_code().filter(|one| match one.action {
        Some(of_it) => u16::from(of_it) == action,
        None => options == 1 || action == 0,
    });
    Ok(one(found.next()))
}

/// One command: whether it is supported as the standard has it (011b), and its usage data; or not at all (001b).
fn one(found: Option<&Operation>) -> Vec<u8> {
    let Some(found) = found else {
        return vec![0, 1, 0, 0];
    };
    let mut data = vec![0, 3];
    data.extend((found.usage.len() as u16).to_be_bytes());
    data.extend(found.usage);
    data
}

fn all(streams: bool) -> Vec<u8> {
    const HAS_ACTION: u8 = 1;
    let mut data = vec![0; 4];
    for one in operations(streams) {
        let mut descriptor = [0; 8];
        descriptor[0] = one.code;
        if let Some(action) = one.action {
            descriptor[3] = action;
            descriptor[5] = HAS_ACTION;
        }
        put(&mut descriptor, 6, &(one.usage.len() as u16).to_be_bytes());
        data.extend(descriptor);
    }
    let length = (data.len() - 4) as u32;
    put(&mut data, 0, &length.to_be_bytes());
    data
}
