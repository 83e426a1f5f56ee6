//! The table of schemes.

use anabranch_ssd::RelocationKind;

use crate::{
    autostream_sfr::AutoStreamSfrParameters, dac::DacScheme, dogi::DogiScheme, eti::EtiScheme,
    fadac::FadacScheme, hints::HintsScheme, midas::MidasScheme, multilog::MultiLogScheme,
    pcstream::PcStreamParameters, scheme::HostScheme, sepbit::SepBitScheme, sfs::SfsScheme,
    single::SingleScheme, spec::DeviceHalf, warcip::WarcipScheme,
};

/// A scheme that has a name of its own. Any host part goes with any relocation besides
/// (`hints+substream`).
#[derive(Debug)]
pub struct Scheme {
    /// The name people write.
    pub name: &'static str,
    /// Makes the host's half, with its default parameters.
    pub host: fn() -> Box<dyn HostScheme>,
    /// The device's half, unless another is asked for.
    pub relocation: DeviceHalf,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Where it comes from.
    pub source: &'static str,
}

/// Every scheme, in the order people see them.
pub const SCHEMES: &[Scheme] = &[
    Scheme {
        name: "baseline",
        host: || Box::new(SingleScheme),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "one stream, copies mixed with new data: the papers' legacy drive",
        source: "PCStream draft, section 4",
    },
    Scheme {
        name: "baseline+gc",
        host: || Box::new(SingleScheme),
        relocation: DeviceHalf::Relocation(RelocationKind::Gc),
        summary: "one stream, copies in units of their own: what a good legacy drive does",
        source: "SepBIT (FAST'22) as SepGC",
    },
    Scheme {
        name: "hints",
        host: || Box::new(HintsScheme),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "the application's own write hints, as asked for: the papers' Manual",
        source: "Linux F_SET_RW_HINT; stream = hint - 1 as in Linux 4.13 to 5.17",
    },
    Scheme {
        name: "autostream-sfr",
        host: || Box::<AutoStreamSfrParameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by address: sequentiality, frequency and recency of each chunk's writes",
        source: "AutoStream (SYSTOR'17)",
    },
    Scheme {
        name: "pcstream*",
        host: || Box::<PcStreamParameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::Mixed),
        summary: "by program context, clustered by how long its data lived; host side only",
        source: "PCStream (HotStorage'18 draft, FAST'19) without internal streams",
    },
    Scheme {
        name: "pcstream",
        host: || Box::<PcStreamParameters>::default(),
        relocation: DeviceHalf::Relocation(RelocationKind::SUBSTREAM),
        summary: "pcstream*, and survivors of garbage collection in substreams: two phases",
        source: "PCStream (HotStorage'18 draft, FAST'19)",
    },
    // Published separation schemes that decide about writes and copies alike.
    Scheme {
        name: "dac",
        host: || Box::<DacScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "a page rises a class when it is written again, sinks one when it is copied",
        source: "Chiang, Lee and Chang (SPE 1999), as in SepBIT's simulator",
    },
    Scheme {
        name: "eti",
        host: || Box::<EtiScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "hot and cold extents of the address space; copies apart",
        source: "ETI (HotStorage'16), as in SepBIT's simulator",
    },
    Scheme {
        name: "fadac",
        host: || Box::<FadacScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "by writes less copies of each page, in powers of a fading average",
        source: "FADaC (SYSTOR'19), as in SepBIT's simulator",
    },
    Scheme {
        name: "warcip",
        host: || Box::<WarcipScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "writes clustered by rewrite interval; copies apart",
        source: "WARCIP (SYSTOR'19), as in SepBIT's simulator",
    },
    Scheme {
        name: "multilog",
        host: || Box::<MultiLogScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "copies sink to a colder log, pages written early rise by chance",
        source: "MultiLog (VLDB'13), as in SepBIT's simulator",
    },
    Scheme {
        name: "sfs",
        host: || Box::<SfsScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "by hotness, writes over age, in groups found among the units",
        source: "SFS (FAST'12), as in SepBIT's simulator",
    },
    Scheme {
        name: "sepbit",
        host: || Box::<SepBitScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "writes by the life of what they replace, copies by their age",
        source: "SepBIT (FAST'22)",
    },
    Scheme {
        name: "midas",
        host: || Box::<MidasScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "a chain of groups, their number and sizes found by a model of it",
        source: "MiDAS (FAST'24)",
    },
    Scheme {
        name: "dogi",
        host: || Box::<DogiScheme>::default(),
        relocation: DeviceHalf::Own,
        summary: "lifetimes predicted by a small network, groups emptied as they expire",
        source: "DOGI (FAST'26)",
    },
];
