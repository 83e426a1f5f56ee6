//! One file per scheme, one table of them all. A scheme sees writes and invalidations and
//! answers with a stream; it touches no device, file or kernel.
//!
//! [`SchemeSpec`] reads a scheme's name as a person writes it and builds the host's half of it,
//! an [`Assign`]; the device's half is a [`RelocationKind`](anabranch_ssd::RelocationKind), or of
//! the scheme's own ([`Whole`]). A new scheme is one file that gives a [`HostScheme`], and one row
//! of [`SCHEMES`].

mod assign;
mod autostream_mq;
mod autostream_sfr;
mod catalog;
mod chunks;
mod error;
mod file_classes;
mod fstream;
mod future;
mod hints;
mod manual;
mod parameter;
mod pcstream;
mod pcstream_fcfs;
mod profile_store;
mod rules;
mod scheme;
mod sequential;
mod settings;
mod single;
mod size;
mod spec;
mod tenants;
mod vstream;

pub use assign::{Assign, ContextName, Names, Write};
pub use autostream_mq::{AutoStreamMq, AutoStreamMqParameters, Demotion, Requeue};
pub use autostream_sfr::{AutoStreamSfr, AutoStreamSfrParameters, Order, Scope, Sequential};
pub use catalog::{SCHEMES, Scheme};
pub use chunks::{Answer, CountedChunks};
pub use error::{DidYouMean, SchemeError};
pub use fstream::{FStream, FStreamScheme};
pub use future::Future;
pub use hints::{Hints, HintsScheme, hint_stream};
pub use manual::{Manual, ManualParameters};
pub use parameter::{OneOf, Parameter, Period, ReadText, Value};
pub use pcstream::{PcStream, PcStreamParameters};
pub use pcstream_fcfs::{FirstCome, FirstComeParameters};
pub use profile_store::{KnownLifetime, LifetimeProfile, ProfileError};
pub use rules::Rules;
pub use scheme::{HostGeometry, HostScheme, Preset, Unfit, Whole};
pub use sequential::{SequentialDetector, SequentialParameters};
pub use single::{Single, SingleScheme};
pub use size::{Bytes, NotASize};
pub use spec::{Built, DeviceHalf, SchemeSpec};
pub use vstream::{VStream, VStreamParameters, Virtual};
