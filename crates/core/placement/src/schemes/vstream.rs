//! `vstream`: many virtual streams on few physical ones (vStream, HotStorage'18).

use anabranch_lifetime::{Averaging, ContextStats, Death, LbaTable, Weighted, cluster};
use anabranch_ssd::{PageRange, StreamId};
use anabranch_trace::ContextId;

use crate::{
    assign::{Assign, Names, Write},
    file_classes::FileClasses,
    geometry::HostGeometry,
    halves::Halves,
    parameter::{Period, named, one_of, parameters},
    scheme::{HostScheme, Unfit},
    site::Site,
    size::Bytes,
};

one_of! {
    /// Purpose of a virtual stream.
    Virtual {
        /// Each program context.
        Context = "context",
        /// Each kind of file: extension, or name without digits.
        File = "file",
    }
}

/// Weight of a death of 1 MiB in a virtual stream's mean lifetime (our choice, as `pcstream`).
const ALPHA: f64 = 0.125;
const STEP_BYTES: u64 = 1 << 20;
/// Pages of a virtual stream that must have ended before its lifetime counts (our choice).
const SAMPLES: u64 = 64;

parameters! {
    /// Parameters of [`VStream`]. The paper's values were not found; all are our choice.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct Parameters {
        /// Meaning of virtual streams.
        by: Word(Virtual) = Virtual::Context,
            "what virtual streams stand for";
        /// Virtual streams there are; writers beyond share them by number.
        max_virtual as "max-virtual": Count(1..=65_536) = 1024,
            "virtual streams there are; writers beyond share them by number";
        /// Memory for lifetimes: 1 MiB, which follows one page in 32 of a 16 GiB drive ("little
        /// memory" is the paper's point).
        table: Size = Bytes(1 << 20),
            "bound on the memory for lifetimes";
        /// Writes to the drive from one mapping of virtual to physical streams to the next.
        remap: Period = Period::CapacityOver(8),
            "writes to the drive from one mapping to the next";
    }
}

impl HostScheme for Parameters {
    named!("vstream");

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(VStream::new(self, &site.geometry())))
    }
}

/// One virtual stream. 32 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct VirtualStream {
    stats: ContextStats,
    physical: StreamId,
}

/// Lets the host open a virtual stream for every writer it can tell apart, follows in little
/// memory how long the data of each lives, and maps virtual streams of like lifetime to one
/// physical stream, anew at the end of each period.
///
/// Lifetimes end with overwrite and discard; a table of a bounded number of pages, spread evenly
/// over the drive, stands for all. Virtual streams whose lifetime is known are grouped so that the
/// squares of the distances of their lifetimes' logarithms, weighted by what they wrote of late,
/// are least. The shortest-lived group gets stream 1, and so on; stream 0 is for the unknown.
/// Against `pcstream`: fixed little memory, every physical stream is used, nothing keeps a
/// virtual stream where it was, and nobody waits for a first clustering out of turn.
///
/// Memory: the table's bound, 32 bytes for each virtual stream, and with `by=file` that of the
/// file classes (at most 2.2 MiB).
#[derive(Debug, Clone)]
pub struct VStream {
    table: LbaTable,
    streams: Vec<VirtualStream>,
    files: FileClasses,
    averaging: Averaging,
    by: Virtual,
    host_streams: u16,
    period_pages: u64,
    remap_at: u64,
}

impl VStream {
    /// For a drive; no lifetime is known yet.
    pub fn new(parameters: &Parameters, geometry: &HostGeometry) -> VStream {
        let table_bytes = usize::try_from(parameters.table.0).unwrap_or(usize::MAX);
        let period_pages = parameters.remap.pages(geometry);
        let step_pages = STEP_BYTES / u64::from(geometry.page_bytes);
        VStream {
            table: LbaTable::new(geometry.logical_pages, table_bytes),
            streams: vec![VirtualStream::default(); parameters.max_virtual.max(1) as usize],
            files: FileClasses::default(),
            averaging: Averaging::new(ALPHA, step_pages),
            by: parameters.by,
            host_streams: geometry.host_streams,
            period_pages,
            remap_at: period_pages,
        }
    }

    #[inline]
    fn virtual_of(&self, write: &Write) -> u32 {
        let number = match self.by {
            Virtual::Context => write.context.0,
            Virtual::File => self.files.class_of(write.file).into(),
        };
        number % self.streams.len() as u32
    }

    fn remap(&mut self, now_pages: u64) {
        let known = |one: &VirtualStream| {
            (one.stats.ended_pages() >= SAMPLES).then(|| Weighted {
                value: one.stats.mean_lifetime_pages().max(1.0).log2(),
                weight: one.stats.written_pages() as f64,
            })
        };
        let points: Vec<Weighted> = self.streams.iter().filter_map(known).collect();
        let most = usize::from(self.host_streams.saturating_sub(1).max(1));
        let groups = cluster(&points, most, 0.0);
        let last = self.host_streams - 1;
        for one in &mut self.streams {
            if let Some(point) = known(one)
                && !groups.is_empty()
            {
                one.physical = StreamId((nearest(&groups, point.value) as u16 + 1).min(last));
            }
            one.stats.fade();
        }
        self.remap_at = now_pages + self.period_pages;
    }

    #[inline]
    fn learner(&mut self) -> (&mut LbaTable, impl FnMut(Death) + '_) {
        let (streams, averaging) = (&mut self.streams, self.averaging);
        let learn = move |death: Death| {
            if let Some(one) = streams.get_mut(death.context.0 as usize) {
                let stats = &mut one.stats;
                stats.record_death(death.pages, death.lifetime_pages, averaging);
            }
        };
        (&mut self.table, learn)
    }
}

/// The group of a value; there is one at least.
fn nearest(groups: &[Weighted], value: f64) -> usize {
    let distance = |group: &Weighted| (group.value - value).abs();
    let by_distance =
        |a: &(usize, &Weighted), b: &(usize, &Weighted)| distance(a.1).total_cmp(&distance(b.1));
    groups
        .iter()
        .enumerate()
        .min_by(by_distance)
        .map_or(0, |(group, _)| group)
}

impl Assign for VStream {
    fn assign(&mut self, write: &Write) -> StreamId {
        if write.now_pages >= self.remap_at {
            self.remap(write.now_pages);
        }
        let number = self.virtual_of(write);
        let one = &mut self.streams[number as usize];
        one.stats.record_write(write.pages.count.into());
        let physical = one.physical;
        let (table, learn) = self.learner();
        let pages = write.pages.indices();
        table.write(pages, ContextId(number), write.now_pages, learn);
        physical
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        let (table, learn) = self.learner();
        table.discard(pages.indices(), now_pages, learn);
    }

    fn learn(&mut self, names: &Names) {
        if self.by == Virtual::File {
            for (file, name) in &names.files {
                self.files.learn(*file, name);
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
            + self.streams.capacity() * size_of::<VirtualStream>()
            + self.files.memory_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_trace::{FileId, WriteHint};

    const DRIVE: HostGeometry = HostGeometry {
        logical_pages: 10_000,
        page_bytes: 4096,
        host_streams: 4,
        internal_streams: 8,
        pages_per_unit: 100,
        physical_units: 120,
    };

    struct Host {
        scheme: VStream,
        now_pages: u64,
    }

    impl Host {
        fn new(host_streams: u16, change: impl FnOnce(&mut Parameters)) -> Host {
            let mut parameters = Parameters::default();
            change(&mut parameters);
            let geometry = HostGeometry {
                host_streams,
                ..DRIVE
            };
            Host {
                scheme: VStream::new(&parameters, &geometry),
                now_pages: 0,
            }
        }

        fn write(&mut self, first: u32, count: u32, context: u32, file: u32) -> u16 {
            let write = Write {
                pages: PageRange::new(first, count),
                context: ContextId(context),
                file: FileId(file),
                hint: WriteHint::NotSet,
                tenant: 0,
                now_pages: self.now_pages,
            };
            self.now_pages += u64::from(count);
            self.scheme.assign(&write).0
        }

        /// Four writers of lifetimes about 40, 160, 4,000 and 6,000 pages, for a while.
        fn turns(&mut self, by_file: bool) -> [u16; 4] {
            let mut streams = [0; 4];
            for turn in 0..1600 {
                for (writer, slots) in [(0, 1), (1, 4), (2, 100), (3, 150)] {
                    let first = 2000 * writer + turn % slots * 10;
                    let (context, file) = if by_file {
                        (7, writer + 1)
                    } else {
                        (writer + 1, 7)
                    };
                    streams[writer as usize] = self.write(first, 10, context, file);
                }
            }
            streams
        }
    }

    #[test]
    fn virtual_streams_of_like_lifetime_share_a_physical_one() {
        let mut host = Host::new(4, |_| ());
        assert_eq!(host.turns(false), [1, 2, 3, 3]);
        assert_eq!(host.write(9000, 1, 77, 0), 0, "nothing is known of it");
        assert_eq!(Host::new(3, |_| ()).turns(false), [1, 1, 2, 2]);
        assert_eq!(Host::new(1, |_| ()).turns(false), [0; 4]);
    }

    #[test]
    fn virtual_streams_may_stand_for_kinds_of_files() {
        let mut host = Host::new(4, |parameters| parameters.by = Virtual::File);
        let names = ["1.log", "2.wal", "3.sst", "4.db"];
        let files = (1..).zip(names).map(|(id, name)| (FileId(id), name.into()));
        host.scheme.learn(&Names {
            files: files.collect(),
            contexts: Vec::new(),
        });
        assert_eq!(host.turns(true), [1, 2, 3, 3]);
    }

    #[test]
    fn memory_is_what_was_allowed_however_large_the_drive() {
        let geometry = HostGeometry {
            logical_pages: 1 << 28,
            ..DRIVE
        };
        let scheme = VStream::new(&Parameters::default(), &geometry);
        assert!(scheme.memory_bytes() <= (1 << 20) + 1024 * 32);
    }

    #[test]
    fn writers_beyond_the_bound_share_virtual_streams() {
        let mut host = Host::new(4, |parameters| parameters.max_virtual = 4);
        let streams = host.turns(false);
        assert_eq!(streams, [1, 2, 3, 3], "4 is 0");
        assert_eq!(host.write(9000, 1, 400, 0), 3);
    }
}
