//! The table of all schemes, which have a file each.

mod anabranch;
mod autostream_mq;
mod autostream_sfr;
mod dac;
mod dogi;
mod eti;
mod fadac;
mod fk;
mod flashalloc;
mod fstream;
mod hints;
mod manual;
mod midas;
mod multilog;
mod oracle;
mod oracle_rate;
mod pcstream;
mod pcstream_fcfs;
mod placed;
mod sepbit;
mod sequential;
mod sfs;
mod single;
mod vstream;
mod warcip;

use anabranch_ssd::relocate::RelocationKind;

use crate::{halves::DeviceHalf, scheme::HostScheme};

/// A scheme with a name of its own. Besides, any host half goes with any relocation
/// (`hints+substream`).
#[derive(Debug)]
pub struct Scheme {
    /// The scheme's name.
    pub name: &'static str,
    /// Makes the host half, with its default parameters.
    pub host: fn() -> Box<dyn HostScheme>,
    /// The device half, unless another is asked for.
    pub relocation: DeviceHalf,
    /// Description of the scheme, one line.
    pub summary: &'static str,
    /// The scheme's source.
    pub source: &'static str,
}

/// Every scheme, in the order people see them.
pub const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "baseline",
        host: || Box::<single::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "one stream, copies mixed with new data, also named mixed: the papers' legacy drive",
        source: "PCStream draft, section 4",
    },
    Scheme {
        name: "baseline+gc",
        host: || Box::<single::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Gc),
        summary: "one stream, copies in units of their own: an ordinary drive, which others are compared with",
        source: "SepBIT (FAST'22) as SepGC",
    },
    Scheme {
        name: "hints",
        host: || Box::<hints::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "the application's own write hints, as asked for: the papers' Manual",
        source: "Linux F_SET_RW_HINT; stream = hint - 1 as in Linux 4.13 to 5.17",
    },
    Scheme {
        name: "placed",
        host: || Box::<placed::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "the placements that the program named itself, by NVMe passthrough",
        source: "NVM Express TP4146 (FDP)",
    },
    Scheme {
        name: "manual",
        host: || Box::<manual::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by rules over file name, thread, tenant and hint; sets are shipped",
        source: "HotStorage'14 and others, each set of rules names its own",
    },
    Scheme {
        name: "sequential",
        host: || Box::<sequential::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "the drive finds up to four sequential writers by itself",
        source: "HotStorage'14, automatic detection",
    },
    Scheme {
        name: "autostream-sfr",
        host: || Box::<autostream_sfr::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by address: sequentiality, frequency and recency of each chunk's writes",
        source: "AutoStream (SYSTOR'17)",
    },
    Scheme {
        name: "autostream-mq",
        host: || Box::<autostream_mq::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by address: chunks in queues by how often they are written, until they expire",
        source: "AutoStream (SYSTOR'17)",
    },
    Scheme {
        name: "fstream",
        host: || Box::<fstream::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by what the file system writes: journal, metadata, kinds of files",
        source: "FStream (FAST'18)",
    },
    Scheme {
        name: "flashalloc",
        host: || Box::<flashalloc::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "a stream for each file while it is written, given back at its end",
        source: "FlashAlloc (PVLDB 16, 2023)",
    },
    Scheme {
        name: "vstream",
        host: || Box::<vstream::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "many virtual streams, mapped to the drive's by how long their data lived",
        source: "vStream (HotStorage'18)",
    },
    Scheme {
        name: "pcstream-fcfs",
        host: || Box::<pcstream_fcfs::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by program context, first come first served, no lifetimes",
        source: "the PCStream authors' emulator, ftl/pc.c",
    },
    Scheme {
        name: "pcstream*",
        host: || Box::<pcstream::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by program context, clustered by how long its data lived; host half only",
        source: "PCStream (HotStorage'18 draft, FAST'19) without internal streams",
    },
    Scheme {
        name: "pcstream",
        host: || Box::<pcstream::Parameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::SUBSTREAM),
        summary: "pcstream*, and survivors of garbage collection in substreams: two phases",
        source: "PCStream (HotStorage'18 draft, FAST'19)",
    },
    // Published separation schemes that decide about writes and copies alike.
    Scheme {
        name: "dac",
        host: || Box::<dac::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "a page rises a class when it is written again, sinks one when it is copied",
        source: "Chiang, Lee and Chang (SPE 1999), as in SepBIT's simulator",
    },
    Scheme {
        name: "eti",
        host: || Box::<eti::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "hot and cold extents of the address space; copies apart",
        source: "ETI (HotStorage'16), as in SepBIT's simulator",
    },
    Scheme {
        name: "fadac",
        host: || Box::<fadac::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "by writes less copies of each page, in powers of a fading average",
        source: "FADaC (SYSTOR'19), as in SepBIT's simulator",
    },
    Scheme {
        name: "warcip",
        host: || Box::<warcip::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "writes clustered by rewrite interval; copies apart",
        source: "WARCIP (SYSTOR'19), as in SepBIT's simulator",
    },
    Scheme {
        name: "multilog",
        host: || Box::<multilog::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "copies sink to a colder log, pages written early rise by chance",
        source: "MultiLog (VLDB'13), as in SepBIT's simulator",
    },
    Scheme {
        name: "sfs",
        host: || Box::<sfs::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "by hotness, writes over age, in groups found among the units",
        source: "SFS (FAST'12), as in SepBIT's simulator",
    },
    Scheme {
        name: "sepbit",
        host: || Box::<sepbit::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "writes by the life of what they replace, copies by their age",
        source: "SepBIT (FAST'22)",
    },
    Scheme {
        name: "midas",
        host: || Box::<midas::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "a chain of groups, their number and sizes found by a model of it",
        source: "MiDAS (FAST'24)",
    },
    Scheme {
        name: "dogi",
        host: || Box::<dogi::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "lifetimes predicted by a small network, groups emptied as they expire",
        source: "DOGI (FAST'26)",
    },
    Scheme {
        name: "fk",
        host: || Box::<fk::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "knows the future: one class for each unit of writes until death; no bound",
        source: "SepBIT (FAST'22) as FK",
    },
    Scheme {
        name: "oracle",
        host: || Box::<oracle::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "knows the future: what dies together lies together, victims by what is to come",
        source: "ours, after DOGI (FAST'26) as NoDaP",
    },
    Scheme {
        name: "oracle-rate",
        host: || Box::<oracle_rate::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "knows each page's rate of death, but not the moment",
        source: "ours",
    },
    Scheme {
        name: "anabranch",
        host: || Box::<anabranch::Parameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "lives predicted as branches are, settings rehearsed on miniature drives",
        source: "ours, docs/anabranch-scheme.md",
    },
];
