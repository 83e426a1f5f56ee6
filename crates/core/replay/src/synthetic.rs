//! Synthetic loads: writes that follow the papers' loads, made by rule and seed, the same
//! everywhere. One file a load.
//!
//! They stand in for what cannot be shipped (a drive of 12 GiB written seven times over) and for
//! what cannot be recorded here (256 GB, four hours); they are no programs. Each file says what
//! of its load is published and what is our choice.

mod cachelib;
mod cassandra;
mod fio;
mod held;
mod jobs;
mod llm;
mod lsm;
mod mail;
mod mysql;
mod rocksdb;
mod sampled_jobs;
mod settings;
mod shuffle;
mod tenants;
mod tpcc;
mod warp;

use anabranch_placement::Bytes;
use anabranch_trace::{
    Capture, Context, ContextId, ContextKind, File, FileId, Io, Operation, Rate, Sample, Tables,
    WriteHint,
};
use held::Held;
use jobs::{Job, side_by_side};
pub use sampled_jobs::Kept;
use settings::Setting;
use thiserror::Error;

/// Bytes of a page, in which all loads write.
pub const PAGE_BYTES: u64 = 4096;

/// Time that a byte written takes, as on a drive of 200 MB/s (our choice).
const NS_PER_BYTE: u64 = 5;

/// The requests of a load: endless, or until the bytes asked for are written.
pub type LoadRequests = Box<dyn Iterator<Item = Io> + Send>;

/// The size, length and settings asked of a load.
#[derive(Debug, Clone, PartialEq)]
struct Plan {
    /// Bytes of the part of the drive that the load has; its data nearly fill it.
    size_bytes: u64,
    /// Bytes that the load writes before it ends.
    write_bytes: u64,
    /// Seed of everything random.
    seed: u64,
    /// Values of the load's own settings, in the order of its kind.
    own: Vec<f64>,
}

impl Plan {
    /// Pages of the drive.
    fn pages(&self) -> u64 {
        self.size_bytes / PAGE_BYTES
    }

    /// Pages in `percent` percent of the drive.
    fn percent(&self, percent: u64) -> u64 {
        self.pages() * percent / 100
    }

    /// The value of one of the load's own settings.
    fn own(&self, setting: &Setting) -> f64 {
        setting.value_in(&self.own)
    }
}

/// One kind of load.
#[derive(Debug)]
pub struct LoadKind {
    /// The load's name.
    pub name: &'static str,
    /// Description of the load, one line.
    pub summary: &'static str,
    /// Bytes of the smallest drive that the load fits.
    least_bytes: u64,
    /// Settings besides size, bytes written and seed.
    settings: &'static [Setting],
    /// Makes the tables of its contexts and files.
    tables: fn() -> Tables,
    make: Make,
}

/// Generator of a load.
#[derive(Debug)]
enum Make {
    Rule(fn(&Plan) -> LoadRequests),
    /// Of jobs side by side, each with its share of the bytes: what samples keep of them is made without the rest.
    Jobs(fn(&Plan) -> Vec<(f64, Job)>),
}

/// Every load.
pub static KINDS: [LoadKind; 16] = [
    fio::FMS16,
    fio::EMMC,
    fio::ZIPF,
    warp::ONE,
    warp::THREE,
    cachelib::CACHELIB,
    llm::KV_CACHE,
    cassandra::CASSANDRA,
    rocksdb::YCSB,
    mysql::YCSB,
    tpcc::TPCC,
    mail::VARMAIL,
    tenants::BOTH,
    rocksdb::UPDATE,
    rocksdb::APPEND,
    rocksdb::FILL,
];

/// Errors in the request for a load.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SyntheticError {
    /// There is no load of that name.
    #[error("no synthetic load is called \"{0}\"; there are {known}", known = known())]
    Unknown(String),
    /// A setting that the load does not have.
    #[error(
        "\"{setting}\" is no setting of synthetic load {name}: write size=BYTES, write=BYTES, seed=N{own}"
    )]
    Setting {
        /// The setting as it was given.
        setting: String,
        /// The load's name.
        name: &'static str,
        /// The settings with defaults as they are written, each after a comma.
        own: String,
    },
    /// A setting with a value out of its range.
    #[error("synthetic load {name}: {problem}")]
    Value {
        /// The load's name.
        name: &'static str,
        /// The fault, in words.
        problem: String,
    },
}

fn known() -> String {
    KINDS.each_ref().map(|kind| kind.name).join(", ")
}

/// A load with its plan.
#[derive(Debug, Clone)]
pub struct Synthetic {
    kind: &'static LoadKind,
    plan: Plan,
    held: Held,
}

impl Synthetic {
    /// Parses `NAME` or `NAME:key=value,…`. Keys are `size` (default 4 GiB), `write` (default eight
    /// times the size), `seed` (default 1), `held`, `overwritten` and `filled` (default 0) and the load's own settings.
    ///
    /// # Errors
    /// When there is no such load or setting, or the drive is too small for it.
    pub fn parse(text: &str) -> Result<Synthetic, SyntheticError> {
        let (name, settings) = text.split_once(':').unwrap_or((text, ""));
        let kind = KINDS
            .iter()
            .find(|kind| kind.name == name)
            .ok_or_else(|| SyntheticError::Unknown(name.to_owned()))?;
        let wrong = |problem: String| SyntheticError::Value {
            name: kind.name,
            problem,
        };
        let bytes = |text: &str| settings::bytes(text).map_err(wrong);
        let (mut size, mut write, mut seed) = (4 << 30, None, 1);
        let mut own = settings::defaults(kind.settings);
        let mut held = settings::defaults(held::SETTINGS);
        for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
            match setting.split_once('=') {
                Some(("size", value)) => size = bytes(value)?,
                Some(("write", value)) => write = Some(bytes(value)?),
                Some(("seed", value)) => {
                    seed = value
                        .parse()
                        .map_err(|_| wrong(format!("\"{value}\" is no seed")))?;
                }
                _ => {
                    let is_read = settings::read(held::SETTINGS, setting, &mut held)
                        .or_else(|| settings::read(kind.settings, setting, &mut own));
                    is_read
                        .ok_or_else(|| SyntheticError::Setting {
                            setting: setting.to_owned(),
                            name: kind.name,
                            own: settings::examples(held::SETTINGS)
                                + &settings::examples(kind.settings),
                        })?
                        .map_err(wrong)?;
                }
            }
        }
        let least = Bytes(kind.least_bytes);
        if size < kind.least_bytes || size > u64::from(u32::MAX) * PAGE_BYTES {
            return Err(wrong(format!("its drive has from {least} to 16TiB")));
        }
        let held = Held::new(&held, size / PAGE_BYTES, seed).map_err(wrong)?;
        if held.left_bytes() < kind.least_bytes {
            let left = Bytes(held.left_bytes());
            return Err(wrong(format!(
                "held data leave it {left} of its drive, and it takes {least} at least"
            )));
        }
        let plan = Plan {
            size_bytes: held.left_bytes(),
            write_bytes: write.unwrap_or(size.saturating_mul(8)),
            seed,
            own,
        };
        Ok(Synthetic { kind, plan, held })
    }

    /// Bytes of the drive: the load's part and the held data.
    pub fn size_bytes(&self) -> u64 {
        self.plan.size_bytes + self.held.bytes()
    }

    /// Bytes that are written in all: those before the load begins, and the load's.
    pub fn write_bytes(&self) -> u64 {
        self.held
            .write_bytes()
            .saturating_add(self.plan.write_bytes)
    }

    /// The tables of the load's writers, and its drive.
    pub fn tables(&self) -> Tables {
        let mut tables = (self.kind.tables)();
        tables.capture = Capture {
            device_bytes: self.size_bytes(),
            command: vec![format!("synthetic:{}", self.kind.name)],
            ..Capture::default()
        };
        tables
    }

    /// Bytes a load has written when its clock shows `time_ns`.
    pub fn written_by(time_ns: u64) -> u64 {
        time_ns / NS_PER_BYTE
    }

    /// The requests, from the first.
    pub fn requests(&self) -> LoadRequests {
        let most = self.write_bytes();
        let mut written = 0;
        let requests = match self.kind.make {
            Make::Rule(make) => make(&self.plan),
            Make::Jobs(make) => Box::new(side_by_side(make(&self.plan), self.plan.seed)),
        };
        let timed = self
            .held
            .requests()
            .chain(requests)
            .map_while(move |mut io| {
                if written >= most {
                    return None;
                }
                io.time_ns = written * NS_PER_BYTE;
                if io.operation == Operation::Write {
                    written += io.length_bytes;
                }
                Some(io)
            });
        Box::new(timed)
    }
}

impl Synthetic {
    /// The requests that samples of pages of 4 KiB keep something of, made without the others; none where the load's
    /// rule or data held before it do not allow that.
    pub fn kept(&self, samples: &[Sample]) -> Option<Kept> {
        let is_own = |sample: &Sample| {
            (sample.page_bytes(), sample.trace_rate()) == (PAGE_BYTES, Rate::WHOLE)
        };
        match self.kind.make {
            Make::Jobs(make)
                if self.held.is_none() && !samples.is_empty() && samples.iter().all(is_own) =>
            {
                let plan = &self.plan;
                Some(Kept::new(make(plan), plan.seed, plan.write_bytes, samples))
            }
            _ => None,
        }
    }
}

/// The writer of a request: a row of the context table, a row of the file table, and a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Tag {
    context: ContextId,
    file: FileId,
    hint: WriteHint,
}

impl Tag {
    /// The writer of row `row` of tables that [`tables`] made.
    const fn new(row: u32, hint: WriteHint) -> Tag {
        Tag {
            context: ContextId(row),
            file: FileId(row),
            hint,
        }
    }

    /// A write of some pages by this writer.
    fn write(self, first: u64, pages: u64) -> Io {
        Io {
            context: self.context,
            file: self.file,
            hint: self.hint,
            hint_granted: self.hint > WriteHint::None,
            ..Io::write(first * PAGE_BYTES, pages * PAGE_BYTES)
        }
    }
}

/// A request that is not a write, without a writer.
fn nobodys(operation: Operation, first: u64, pages: u64) -> Io {
    Io {
        operation,
        ..Io::write(first * PAGE_BYTES, pages * PAGE_BYTES)
    }
}

/// Tables of writers, each with its kind, the role of its thread and the name of its files; the
/// first has row 1.
fn tables(writers: &[(ContextKind, &str, &str)]) -> Tables {
    let mut tables = Tables::new(Capture::default());
    for (row, (kind, role, file)) in (1..).zip(writers) {
        tables
            .contexts
            .push(Context::new(ContextId(row), u64::from(row), *kind, *role));
        tables.files.push(File {
            name: (*file).to_owned(),
            ..File::default()
        });
    }
    tables
}

#[cfg(test)]
mod tests;
