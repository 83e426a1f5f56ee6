//! One file per scheme, one table of them all. A scheme sees writes and invalidations and
//! answers with a stream; it touches no device, file or kernel.
//!
//! [`SchemeSpec`] reads a scheme's name as a person writes it and makes a [`Policy`] of it: the host's
//! half, an [`Assign`], with the device's half, a [`RelocationKind`](anabranch_ssd::RelocationKind)
//! or the scheme's own ([`Whole`]). Whoever drives a device has the policy beside it. A new scheme is
//! one file that gives a [`HostScheme`], and one row of [`SCHEMES`].

mod anabranch;
mod assign;
mod autostream_mq;
mod autostream_sfr;
mod by_page;
mod catalog;
mod chunks;
mod dac;
mod dogi;
mod error;
mod eti;
mod fadac;
mod file_classes;
mod fk;
mod fstream;
mod future;
mod hints;
mod last_writes;
mod manual;
mod midas;
mod multilog;
mod oracle;
mod oracle_rate;
mod parameter;
mod pcstream;
mod pcstream_fcfs;
mod policy;
mod profile_store;
mod rules;
mod scheme;
mod sepbit;
mod sequential;
mod settings;
mod sfs;
mod single;
mod size;
mod spec;
mod tenants;
mod vstream;
mod warcip;

pub use anabranch::{Anabranch, AnabranchScheme};
pub use assign::{Assign, ContextName, Names, Write};
pub use autostream_mq::{AutoStreamMq, AutoStreamMqParameters, Demotion, Requeue};
pub use autostream_sfr::{AutoStreamSfr, AutoStreamSfrParameters, Order, Scope, Sequential};
pub use catalog::{SCHEMES, Scheme};
pub use chunks::{Answer, CountedChunks};
pub use dac::{Dac, DacScheme};
pub use dogi::{Dogi, DogiScheme};
pub use error::{DidYouMean, SchemeError};
pub use eti::{Eti, EtiScheme};
pub use fadac::{Fadac, FadacScheme};
pub use file_classes::FileClasses;
pub use fk::{Fk, FkParameters};
pub use fstream::{FStream, FStreamScheme};
pub use future::Future;
pub use hints::{Hints, HintsScheme, hint_stream};
pub use manual::{Manual, ManualParameters};
pub use midas::{Midas, MidasScheme};
pub use multilog::{MultiLog, MultiLogScheme};
pub use oracle::{Oracle, OracleParameters};
pub use oracle_rate::{OracleRate, OracleRateParameters};
pub use parameter::{OneOf, Parameter, Period, ReadText, Value};
pub use pcstream::{ByFile, Grouping, PcStream, PcStreamParameters};
pub use pcstream_fcfs::{FirstCome, FirstComeParameters};
pub use policy::Policy;
pub use profile_store::{KnownLifetime, LifetimeProfile, ProfileError};
pub use rules::{RuleUse, Rules};
pub use scheme::{Host, HostGeometry, HostScheme, Preset, Setting, Unfit, Whole};
pub use sepbit::{SepBit, SepBitScheme};
pub use sequential::{SequentialDetector, SequentialParameters};
pub use sfs::{Sfs, SfsScheme};
pub use single::{Single, SingleScheme};
pub use size::{Bytes, NotASize};
pub use spec::{DeviceHalf, SchemeSpec};
pub use vstream::{VStream, VStreamParameters, Virtual};
pub use warcip::{Warcip, WarcipScheme};
