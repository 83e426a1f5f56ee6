//! MODE SENSE: how the unit works (SPC §6.13, §7.5; SBC §6.5). Nothing of it can be changed.

use crate::{
    bytes::{narrow, put},
    command::ModePage,
    geometry::{GROUPS, Geometry},
    sense::Sense,
};

/// The pages there are, by code and subpage, in order.
const CACHING: (u8, u8) = (0x08, 0);
const CONTROL: (u8, u8) = (0x0a, 0);
const GROUPING: (u8, u8) = (0x0a, 0x05);
const PAGES: [(u8, u8); 3] = [CACHING, CONTROL, GROUPING];

/// All pages, and all subpages.
const ALL_PAGES: u8 = 0x3f;
const ALL_SUBPAGES: u8 = 0xff;
/// PC, the values that are asked for: those that can be changed, and those that are saved.
const CHANGEABLE: u8 = 1;
const SAVED: u8 = 3;

/// What changes of how the unit works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    /// WP: it takes no writes.
    pub(crate) read_only: bool,
    /// WCE: what was written is safe after a SYNCHRONIZE CACHE alone.
    pub(crate) cached: bool,
}

/// The answer of MODE SENSE.
///
/// # Errors
/// INVALID FIELD IN CDB where there is no such page; SAVING PARAMETERS NOT SUPPORTED.
pub(crate) fn sense(asked: ModePage, of: &Geometry, state: State) -> Result<Vec<u8>, Sense> {
    if asked.values == SAVED {
        return Err(Sense::NOT_SAVED);
    }
    let pages = pages(asked, of, state)?;
    let descriptor = if asked.no_descriptors {
        Vec::new()
    } else {
        descriptor(asked, of)
    };
    // DPOFUA: FUA is heeded.
    let specific = u8::from(state.read_only) << 7 | 1 << 4;
    let after = descriptor.len() + pages.len();
    let mut data = if asked.long {
        let mut header = vec![0; 8];
        put(&mut header, 0, &(after as u16 + 6).to_be_bytes());
        header[3] = specific;
        header[4] = u8::from(descriptor.len() == 16);
        put(&mut header, 6, &(descriptor.len() as u16).to_be_bytes());
        header
    } else {
        vec![
            narrow(after as u64 + 3, u8::MAX),
            0,
            specific,
            descriptor.len() as u8,
        ]
    };
    data.extend(descriptor);
    data.extend(pages);
    Ok(data)
}

fn pages(asked: ModePage, of: &Geometry, state: State) -> Result<Vec<u8>, Sense> {
    let all_pages = asked.page == ALL_PAGES;
    if all_pages && !matches!(asked.subpage, 0 | ALL_SUBPAGES) {
        return Err(Sense::command_byte(3));
    }
    let is_asked = |&&(page, subpage): &&(u8, u8)| {
        (all_pages || page == asked.page)
            && (asked.subpage == ALL_SUBPAGES || subpage == asked.subpage)
            && ((page, subpage) != GROUPING || of.streams > 0)
    };
    let found: Vec<(u8, u8)> = PAGES.iter().filter(is_asked).copied().collect();
    if found.is_empty() {
        let known = PAGES.iter().any(|&(page, _)| page == asked.page);
        return Err(if known {
            Sense::command_byte(3)
        } else {
            Sense::command_field(2, Some(5))
        });
    }
    let mut data = Vec::new();
    for which in found {
        let mut page = page(which, of, state);
        let header = if which.1 == 0 { 2 } else { 4 };
        if asked.values == CHANGEABLE {
            page[header..].fill(0);
        }
        data.extend(page);
    }
    Ok(data)
}

fn page(which: (u8, u8), of: &Geometry, state: State) -> Vec<u8> {
    match which {
        CACHING => {
            let mut page = vec![0; 20];
            page[..3].copy_from_slice(&[0x08, 18, u8::from(state.cached) << 2]);
            page
        }
        // Commands may be reordered (QUEUE ALGORITHM MODIFIER 1), and sense data are of the fixed format (D_SENSE 0).
        CONTROL => vec![0x0a, 10, 0, 1 << 4, 0, 0, 0, 0, 0xff, 0xff, 0, 0],
        _ => grouping(of),
    }
}

/// IO Advice Hints Grouping (SBC §6.5.7): of each group number whether it may be a stream's identifier (ST_ENBLE).
fn grouping(of: &Geometry) -> Vec<u8> {
    const SUBPAGE_FORMAT: u8 = 1 << 6;
    const STREAM_ENABLED: u8 = 1 << 2;
    let groups = usize::from(of.streams.min(GROUPS));
    let mut page = vec![0; 16 * (groups + 1)];
    page[..2].copy_from_slice(&[SUBPAGE_FORMAT | 0x0a, 0x05]);
    let length = (page.len() - 4) as u16;
    put(&mut page, 2, &length.to_be_bytes());
    page.iter_mut()
        .skip(16)
        .step_by(16)
        .for_each(|group| *group = STREAM_ENABLED);
    page
}

/// The block descriptor (SBC §6.5.2): how many blocks there are, and how long each is.
fn descriptor(asked: ModePage, of: &Geometry) -> Vec<u8> {
    if asked.long && asked.long_addresses {
        let mut long = vec![0; 16];
        put(&mut long, 0, &of.blocks.to_be_bytes());
        put(&mut long, 12, &of.block_bytes.to_be_bytes());
        return long;
    }
    let blocks: u32 = narrow(of.blocks, u32::MAX);
    let mut short = blocks.to_be_bytes().to_vec();
    short.extend(of.block_bytes.to_be_bytes());
    short
}
