//! One file per scheme, one table of them all. A scheme sees writes and invalidations and
//! answers with a stream; it touches no device, file or kernel.
//!
//! [`SchemeSpec`] reads a scheme's name as a person writes it and builds the host's half of it,
//! an [`Assign`]; the device's half is a [`RelocationKind`](anabranch_ssd::RelocationKind), or of
//! the scheme's own ([`Whole`]). A new scheme is one file that gives a [`HostScheme`], and one row
//! of [`SCHEMES`].

mod assign;
mod autostream_sfr;
mod by_page;
mod catalog;
mod dac;
mod dogi;
mod error;
mod eti;
mod fadac;
mod future;
mod hints;
mod last_writes;
mod midas;
mod multilog;
mod parameter;
mod pcstream;
mod scheme;
mod sepbit;
mod sfs;
mod single;
mod size;
mod spec;
mod warcip;

pub use assign::{Assign, Names, Write};
pub use autostream_sfr::{AutoStreamSfr, AutoStreamSfrParameters};
pub use catalog::{SCHEMES, Scheme};
pub use dac::{Dac, DacScheme};
pub use dogi::{Dogi, DogiScheme};
pub use error::{DidYouMean, SchemeError};
pub use eti::{Eti, EtiScheme};
pub use fadac::{Fadac, FadacScheme};
pub use future::Future;
pub use hints::{Hints, HintsScheme, hint_stream};
pub use midas::{Midas, MidasScheme};
pub use multilog::{MultiLog, MultiLogScheme};
pub use parameter::{Parameter, Period, Value};
pub use pcstream::{PcStream, PcStreamParameters};
pub use scheme::{HostGeometry, HostScheme, Unfit, Whole};
pub use sepbit::{SepBit, SepBitScheme};
pub use sfs::{Sfs, SfsScheme};
pub use single::{Single, SingleScheme};
pub use size::{Bytes, NotASize};
pub use spec::{Built, DeviceHalf, SchemeSpec};
pub use warcip::{Warcip, WarcipScheme};
