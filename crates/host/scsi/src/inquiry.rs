//! INQUIRY: what the unit is (SPC §6.6, §7.7; SBC §6.6).

use crate::{
    bytes::{narrow, put},
    geometry::{Geometry, Identity, MOST_DESCRIPTORS, MOST_SAME, MOST_TRANSFER, MOST_UNMAPPED},
    sense::Sense,
};

/// T10 VENDOR IDENTIFICATION, which is nobody's, PRODUCT IDENTIFICATION and PRODUCT REVISION LEVEL.
const VENDOR: &[u8; 8] = b"ANABRNCH";
const PRODUCT: &[u8; 16] = b"SSD             ";
const REVISION: &[u8; 4] = b"1   ";

/// Pages of vital product data there are.
const PAGES: [u8; 7] = [0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2, 0xb7];

/// Standard INQUIRY data: a direct access block device, connected, of SPC-5, with a queue of commands.
pub(crate) fn standard() -> Vec<u8> {
    const SPC_5: u8 = 7;
    const RESPONSE_FORMAT: u8 = 2;
    const COMMAND_QUEUE: u8 = 1 << 1;
    let mut data = vec![0; 36];
    data[2] = SPC_5;
    data[3] = RESPONSE_FORMAT;
    data[4] = 36 - 5;
    data[7] = COMMAND_QUEUE;
    put(&mut data, 8, VENDOR);
    put(&mut data, 16, PRODUCT);
    put(&mut data, 32, REVISION);
    data
}

/// A page of vital product data.
///
/// # Errors
/// INVALID FIELD IN CDB where there is no such page.
pub(crate) fn page(page: u8, of: &Geometry, who: &Identity) -> Result<Vec<u8>, Sense> {
    let body = match page {
        0x00 => PAGES.to_vec(),
        0x80 => who.serial.clone().into_bytes(),
        0x83 => designators(who),
        0xb0 => limits(of),
        0xb1 => characteristics(),
        0xb2 => provisioning(),
        0xb7 => limits_extension(of),
        _ => return Err(Sense::command_byte(2)),
    };
    let mut data = vec![0, page];
    data.extend((body.len() as u16).to_be_bytes());
    data.extend(body);
    Ok(data)
}

/// Device Identification (SPC §7.7.6): by T10's vendor and serial number, and a locally assigned NAA.
fn designators(who: &Identity) -> Vec<u8> {
    const ASCII: u8 = 2;
    const BINARY: u8 = 1;
    const BY_VENDOR: u8 = 1;
    const BY_NAA: u8 = 3;
    let named = [&VENDOR[..], who.serial.as_bytes()].concat();
    let mut data = vec![ASCII, BY_VENDOR, 0, named.len() as u8];
    data.extend(named);
    data.extend([BINARY, BY_NAA, 0, 8]);
    data.extend(who.naa.to_be_bytes());
    data
}

/// Block Limits (SBC §6.6.4). WSNZ: a WRITE SAME says how many blocks.
fn limits(of: &Geometry) -> Vec<u8> {
    let blocks = |bytes: u64| bytes / u64::from(of.block_bytes);
    let most = |bytes: u64| narrow(blocks(bytes), u32::MAX).to_be_bytes();
    let granularity = blocks(of.page_bytes.into());
    let mut data = vec![0; 0x3c];
    data[0] = 1;
    put(&mut data, 2, &narrow(granularity, u16::MAX).to_be_bytes());
    put(&mut data, 4, &most(MOST_TRANSFER.into()));
    put(&mut data, 16, &most(MOST_UNMAPPED));
    put(&mut data, 20, &u32::from(MOST_DESCRIPTORS).to_be_bytes());
    put(&mut data, 24, &narrow(granularity, u32::MAX).to_be_bytes());
    put(&mut data, 32, &blocks(MOST_SAME).to_be_bytes());
    data
}

/// Block Device Characteristics (SBC §6.6.2): nothing rotates.
fn characteristics() -> Vec<u8> {
    let mut data = vec![0; 0x3c];
    data[1] = 1;
    data
}

/// Logical Block Provisioning (SBC §6.6.6): LBPU, LBPWS, LBPWS10; blocks given up read as zeroes (LBPRZ 001b); all
/// blocks have room.
fn provisioning() -> Vec<u8> {
    const RESOURCE_PROVISIONED: u8 = 1;
    vec![0, 0xe0 | 1 << 2, RESOURCE_PROVISIONED, 0]
}

/// Block Limits Extension (SBC §6.6.5; RSCS: SBC-5, a stream's identifier may stand in GROUP NUMBER). A stream is written
/// by the page, and its granularity is an erase unit.
fn limits_extension(of: &Geometry) -> Vec<u8> {
    let page = u64::from(of.page_bytes / of.block_bytes);
    let mut data = vec![0; 28];
    data[1] = u8::from(of.streams > 0);
    put(&mut data, 2, &of.streams.to_be_bytes());
    if of.streams > 0 {
        put(&mut data, 4, &narrow(page, u16::MAX).to_be_bytes());
        put(&mut data, 6, &of.pages_per_unit.to_be_bytes());
    }
    data
}
