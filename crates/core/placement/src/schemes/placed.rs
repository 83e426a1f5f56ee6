//! `placed`: the placements that the program named itself.

use anabranch_ssd::StreamId;
use anabranch_trace::placement_of_role;

use crate::{
    assign::{Assign, Names, Write},
    halves::Halves,
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// Contexts whose placement is remembered; later ones have stream 0. 64 times what the probe keeps apart by default (our
/// choice).
const MAX_CONTEXTS: usize = 1 << 16;

/// Follows the placements that a program named with its own commands to an NVMe drive (`DSPEC`). Placement n is stream n.
/// Stream 0 has the writes that name none, or one that the drive does not have, as FDP has it for a placement identifier
/// that is not there (NVM Express Base 2.0, 8.7; TP4146).
///
/// Memory: 2 bytes for each of at most 65,536 contexts.
#[derive(Debug, Clone)]
pub struct Placed {
    host_streams: u16,
    /// The stream of each context.
    streams: Vec<u16>,
}

impl Placed {
    /// The scheme for a drive with `host_streams` streams, at least 1.
    pub fn new(host_streams: u16) -> Placed {
        Placed {
            host_streams,
            streams: Vec::new(),
        }
    }
}

impl Assign for Placed {
    #[inline]
    fn assign(&mut self, write: &Write) -> StreamId {
        let stream = self.streams.get(write.context.0 as usize);
        StreamId(stream.copied().unwrap_or(0))
    }

    fn learn(&mut self, names: &Names) {
        for context in &names.contexts {
            let row = context.id.0 as usize;
            let placement = placement_of_role(&context.role);
            let stream = placement.filter(|placement| *placement < self.host_streams);
            let Some(stream) = stream.filter(|_| row < MAX_CONTEXTS) else {
                continue;
            };
            if row >= self.streams.len() {
                self.streams.resize(row + 1, 0);
            }
            self.streams[row] = stream;
        }
    }

    fn memory_bytes(&self) -> usize {
        self.streams.capacity() * size_of::<u16>()
    }
}

/// The entry `placed` of the catalogue, which has no parameters.
#[derive(Debug, Clone, Copy, Default)]
pub struct Parameters;

impl HostScheme for Parameters {
    fn name(&self) -> &'static str {
        "placed"
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(Placed::new(site.drive.host_streams)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::PageRange;
    use anabranch_trace::{Context, ContextId, ContextKind, FileId, WriteHint};

    fn streams(roles: &[&str], host_streams: u16) -> Vec<u16> {
        let rows = roles.iter().enumerate();
        let contexts: Vec<Context> = rows
            .map(|(row, role)| {
                Context::new(ContextId(row as u32), 0, ContextKind::Application, *role)
            })
            .collect();
        let mut scheme = Placed::new(host_streams);
        scheme.learn(&Names::of_rows(0, &[], &contexts));
        let write = |context| Write {
            pages: PageRange::new(0, 1),
            context: ContextId(context),
            file: FileId(0),
            hint: WriteHint::NotSet,
            tenant: 0,
            now_pages: 0,
        };
        let ids = 0..=roles.len() as u32;
        ids.map(|id| scheme.assign(&write(id)).0).collect()
    }

    #[test]
    fn a_placement_is_a_stream_and_what_names_none_is_in_the_first() {
        let roles = [
            "",
            "cache (placement 3)",
            "cache",
            "cache (placement 0)",
            "x (placement 7)",
        ];
        assert_eq!(streams(&roles, 8), [0, 3, 0, 0, 7, 0]);
    }

    #[test]
    fn a_placement_that_the_drive_has_not_is_the_first_stream() {
        assert_eq!(
            streams(&["", "x (placement 7)", "x (placement 3)"], 4),
            [0, 0, 3, 0]
        );
        assert_eq!(
            streams(&["", "x (placement 65536)", "x (placement )"], 8),
            [0, 0, 0, 0]
        );
    }
}
