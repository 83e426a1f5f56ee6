//! Export of advice to other programs. Each piece is fed back to the simulated drive before it is
//! given.

mod advice;
mod by_context;
mod check;
mod fio;
mod names;
mod namespaces;
mod plan;
mod ranges;
mod rules;
mod survey;

use std::fmt;

use anabranch_compare::{CompareError, Result, Watch};
use anabranch_placement::KnownLifetimes;

use crate::{ExportOptions, ExportTarget};
pub use advice::{Advice, Checked};
pub use check::Cost;
pub use plan::Source;
use plan::{Given, Plan};
use survey::WriterSurvey;

/// Number of streams that lifetimes without a trace are grouped into, unless an option says
/// otherwise.
const STREAMS: u16 = 8;

/// A kind of advice.
pub struct ExportKind {
    /// The name by which it is asked for.
    pub name: &'static str,
    /// A description in a few words.
    pub about: &'static str,
    /// Makes its files, and checks what they are worth.
    make: fn(&Plan, &WriterSurvey, &mut Advice, &mut dyn Watch) -> Result,
}

/// Placement identifiers by program context, which lifetimes without a trace suffice for.
const FDP: ExportKind = ExportKind {
    name: "fdp",
    about: "Placement identifiers by program context",
    make: by_context::by_context,
};

impl ExportKind {
    /// Every kind of advice. A kind is one row and one function.
    pub const ALL: &[ExportKind] = &[
        ExportKind {
            name: "auto",
            about: "rules, fdp, and the text for the database whose files are seen",
            make: namespaces::auto,
        },
        ExportKind {
            name: "rules",
            about: "Rules by file name and thread: for people, and for the scheme `manual`",
            make: names::by_name,
        },
        ExportKind {
            name: "hints",
            about: "The same as life-time hints, for `fcntl(F_SET_RW_HINT)`",
            make: names::as_hints,
        },
        FDP,
        ExportKind {
            name: "fio",
            about: "fio jobs that replay the trace with its placement, and a `dp_scheme` of address ranges",
            make: fio::jobs,
        },
        ExportKind {
            name: "rocksdb",
            about: "What RocksDB writes, what lives how long, and how to keep it apart",
            make: namespaces::rocksdb,
        },
        ExportKind {
            name: "mysql",
            about: "The same of MySQL or MariaDB",
            make: namespaces::mysql,
        },
        ExportKind {
            name: "postgres",
            about: "The same of PostgreSQL",
            make: namespaces::postgres,
        },
        ExportKind {
            name: "cassandra",
            about: "The same of Cassandra",
            make: namespaces::cassandra,
        },
    ];
}

impl PartialEq for ExportKind {
    fn eq(&self, other: &ExportKind) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for ExportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Makes the advice that is asked for, in one pass over the trace and one more for each kind.
///
/// # Errors
/// When the source is of no known kind or the options do not fit it, when a trace cannot be read,
/// or when the watch ends the work.
pub fn advise(source: Source, options: &ExportOptions, watch: &mut dyn Watch) -> Result<Advice> {
    let plan = match plan::given(source, options, watch)? {
        Given::Lifetimes(profile) => return from_lifetimes(options, &profile),
        Given::Plan(plan) => plan,
    };
    let survey = survey::survey(&plan, watch)?;
    let mut advice = Advice::new(&plan, &survey);
    for target in &options.targets {
        if let ExportTarget::Advice(kind) = target {
            (kind.make)(&plan, &survey, &mut advice, watch)?;
        }
    }
    Ok(advice)
}

/// Advice from lifetimes without a trace, which describe contexts only.
fn from_lifetimes(options: &ExportOptions, profile: &KnownLifetimes) -> Result<Advice> {
    if options.targets != [ExportTarget::Advice(&FDP)] {
        return Err(CompareError::wrong_use(
            "lifetimes tell of contexts alone: export them `--to fdp`, or give the trace, \
             and the lifetimes with --lifetimes",
        ));
    }
    let streams = options.drive.streams.first().copied().unwrap_or(STREAMS);
    Ok(Advice::unchecked(by_context::of_lifetimes(
        profile, streams,
    )))
}
