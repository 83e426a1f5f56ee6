//! The table of schemes.

use anabranch_ssd::RelocationKind;

use crate::{
    autostream_sfr::AutoStreamSfrParameters, fk::FkParameters, hints::HintsScheme,
    oracle::OracleParameters, oracle_rate::OracleRateParameters, pcstream::PcStreamParameters,
    scheme::HostScheme, single::SingleScheme, spec::DeviceHalf,
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
    Scheme {
        name: "fk",
        host: || Box::<FkParameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "knows the future: one class for each unit of writes until death; no bound",
        source: "SepBIT (FAST'22) as FK",
    },
    Scheme {
        name: "oracle",
        host: || Box::<OracleParameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "knows the future: what dies together lies together, victims by what is to come",
        source: "ours, after DOGI (FAST'26) as NoDaP",
    },
    Scheme {
        name: "oracle-rate",
        host: || Box::<OracleRateParameters>::default(),
        relocation: DeviceHalf::Own,
        summary: "knows each page's rate of death, but not the moment",
        source: "ours",
    },
];
