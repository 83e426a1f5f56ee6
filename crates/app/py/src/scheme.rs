//! Schemes written in Python: slow, but with the same results as any other.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use anabranch_placement::{
    Assign, Halves, HostGeometry, HostScheme, Names, SchemeSpec, Site, Unfit,
};
use anabranch_ssd::{PageRange, StreamId, relocate::RelocationKind};
use pyo3::{
    exceptions::PyTypeError,
    intern,
    prelude::*,
    types::{PyBytes, PyDict, PyType},
};

use crate::{errors::usage, patience::Shared};

/// A write for which a scheme must choose a stream.
#[pyclass(frozen, get_all, module = "anabranch", skip_from_py_object)]
#[derive(Debug, Clone)]
pub struct Write {
    /// First logical page.
    first_page: u32,
    /// Number of pages, at least 1.
    pages: u32,
    /// The writer: row of the context table.
    context: u32,
    /// The file it belongs to: row of the file table.
    file: u32,
    /// The write hint, by the kernel's number: 0 not set, 1 none, 2 short to 5 extreme.
    hint: u8,
    /// Number of the program, where several share a drive.
    tenant: u32,
    /// The logical time: pages the host had written before.
    now_pages: u64,
}

#[pymethods]
impl Write {
    fn __repr__(&self) -> String {
        format!(
            "Write(first_page={}, pages={}, context={}, file={}, hint={}, tenant={}, now_pages={})",
            self.first_page,
            self.pages,
            self.context,
            self.file,
            self.hint,
            self.tenant,
            self.now_pages
        )
    }
}

/// Writes for which a scheme must choose streams: the columns of [`Write`] as NumPy arrays, in the order of the writes.
#[pyclass(frozen, get_all, module = "anabranch", skip_from_py_object)]
#[derive(Debug)]
pub struct Writes {
    /// First logical pages, `uint32`.
    first_page: Py<PyAny>,
    /// Numbers of pages, `uint32`.
    pages: Py<PyAny>,
    /// Rows of the context table, `uint32`.
    context: Py<PyAny>,
    /// Rows of the file table, `uint32`.
    file: Py<PyAny>,
    /// Write hints, `uint8`.
    hint: Py<PyAny>,
    /// Numbers of programs, `uint32`.
    tenant: Py<PyAny>,
    /// Logical times, `uint64`.
    now_pages: Py<PyAny>,
}

impl Writes {
    fn of(py: Python<'_>, writes: &[anabranch_placement::Write]) -> PyResult<Writes> {
        let numpy = py.import("numpy")?;
        let array = |kind: &str, bytes: Vec<u8>| -> PyResult<Py<PyAny>> {
            let array = numpy.call_method1("frombuffer", (PyBytes::new(py, &bytes), kind))?;
            Ok(array.unbind())
        };
        let words = |value: &dyn Fn(&anabranch_placement::Write) -> u32| {
            let bytes = writes.iter().flat_map(|write| value(write).to_ne_bytes());
            array("u4", bytes.collect())
        };
        let times = writes
            .iter()
            .flat_map(|write| write.now_pages.to_ne_bytes());
        Ok(Writes {
            first_page: words(&|write| write.pages.first)?,
            pages: words(&|write| write.pages.count)?,
            context: words(&|write| write.context.0)?,
            file: words(&|write| write.file.0)?,
            hint: array("u1", writes.iter().map(|write| write.hint as u8).collect())?,
            tenant: words(&|write| write.tenant)?,
            now_pages: array("u8", times.collect())?,
        })
    }
}

/// The first exception that a scheme raised; it ends the whole comparison.
#[derive(Debug)]
pub struct Trouble {
    shared: Arc<Shared>,
    error: Mutex<Option<PyErr>>,
}

impl Trouble {
    /// A trouble without an exception.
    pub fn new(shared: Arc<Shared>) -> Trouble {
        Trouble {
            shared,
            error: Mutex::new(None),
        }
    }

    fn record(&self, error: PyErr) {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
        self.shared.stop();
    }

    /// Takes the exception that was raised, if any was.
    pub fn take(&self) -> Option<PyErr> {
        let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }
}

/// The method that is asked about many writes at once.
const BATCH: &str = "assign_batch";

/// A scheme in Python before it has a drive: a class, which is instantiated for each drive, or an
/// object.
struct Guest {
    name: String,
    scheme: Py<PyAny>,
    trouble: Arc<Trouble>,
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Makes a scheme of a comparison from a Python class or object. `name` and `relocation` are
/// optional attributes of it.
pub fn python_scheme(scheme: &Bound<'_, PyAny>, trouble: &Arc<Trouble>) -> PyResult<SchemeSpec> {
    if !scheme.hasattr("assign")? && !scheme.hasattr(BATCH)? {
        return Err(PyTypeError::new_err(format!(
            "{} is no scheme: it has no method assign(write) or {BATCH}(writes)",
            scheme.repr()?
        )));
    }
    let class = match scheme.cast::<PyType>() {
        Ok(class) => class.clone(),
        Err(_) => scheme.get_type(),
    };
    let text = |attribute: &str| -> PyResult<Option<String>> {
        let found = scheme.getattr_opt(attribute)?;
        found.map(|value| value.extract()).transpose()
    };
    let name = match text("name")? {
        Some(name) => name,
        None => class.name()?.to_string(),
    };
    let relocation = match text("relocation")? {
        Some(relocation) => relocation.parse::<RelocationKind>().map_err(usage)?,
        None => RelocationKind::Mixed,
    };
    let guest = Guest {
        name: name.clone(),
        scheme: scheme.clone().unbind(),
        trouble: Arc::clone(trouble),
    };
    Ok(SchemeSpec::own(name, Arc::new(guest), relocation))
}

impl HostScheme for Guest {
    fn name(&self) -> &str {
        &self.name
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        let built = Python::attach(|py| self.at_work(py, &site.geometry()));
        match built {
            Ok(working) => Ok(Halves::host(working)),
            Err(error) => {
                self.trouble.record(error);
                Err(Unfit {
                    key: "begin",
                    expected: "done without an exception".to_owned(),
                })
            }
        }
    }
}

impl Guest {
    fn at_work(&self, py: Python<'_>, geometry: &HostGeometry) -> PyResult<Working> {
        let bound = self.scheme.bind(py);
        let object = match bound.cast::<PyType>() {
            Ok(class) => class.call0()?,
            Err(_) => bound.clone(),
        };
        if object.hasattr("begin")? {
            object.call_method1("begin", (drive(py, geometry)?,))?;
        }
        let by_page = object.getattr_opt("by_page")?;
        let by_page = by_page.map_or(Ok(false), |flag| flag.is_truthy())?;
        let by_batch = object.hasattr(BATCH)?;
        if by_page && by_batch {
            return Err(usage(format!(
                "scheme \"{}\" has {BATCH}, which is asked about whole requests, and by_page",
                self.name
            )));
        }
        Ok(Working {
            name: self.name.clone(),
            host_streams: geometry.host_streams,
            by_page,
            answers: by_batch.then(VecDeque::new),
            hears_deaths: object.hasattr("invalidate")?,
            hears_names: object.hasattr("learn")?,
            object: object.unbind(),
            trouble: Arc::clone(&self.trouble),
        })
    }
}

/// The drive's properties that a scheme may know.
fn drive<'py>(py: Python<'py>, geometry: &HostGeometry) -> PyResult<Bound<'py, PyDict>> {
    let drive = PyDict::new(py);
    drive.set_item("logical_pages", geometry.logical_pages)?;
    drive.set_item("page_bytes", geometry.page_bytes)?;
    drive.set_item("host_streams", geometry.host_streams)?;
    drive.set_item("pages_per_unit", geometry.pages_per_unit)?;
    drive.set_item("physical_units", geometry.physical_units)?;
    Ok(drive)
}

/// A scheme in Python at work on a drive.
struct Working {
    name: String,
    object: Py<PyAny>,
    host_streams: u16,
    by_page: bool,
    /// Streams of the writes that come next; `None` of a scheme that is asked about each write.
    answers: Option<VecDeque<StreamId>>,
    hears_deaths: bool,
    hears_names: bool,
    trouble: Arc<Trouble>,
}

impl Working {
    /// Calls Python, unless the comparison is ending already. An exception ends the comparison.
    fn call<T>(&self, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Option<T> {
        if self.trouble.shared.is_stopped() {
            return None;
        }
        match Python::attach(call) {
            Ok(answer) => Some(answer),
            Err(error) => {
                self.trouble.record(error);
                None
            }
        }
    }

    fn stream(&self, answer: &Bound<'_, PyAny>) -> PyResult<StreamId> {
        match answer.extract::<u16>() {
            Ok(stream) if stream < self.host_streams => Ok(StreamId(stream)),
            _ => Err(self.no_stream(&answer.repr()?.to_string())),
        }
    }

    fn no_stream(&self, answer: &str) -> PyErr {
        usage(format!(
            "scheme \"{}\" answered {answer}: the drive has the streams 0 to {}",
            self.name,
            self.host_streams.saturating_sub(1)
        ))
    }

    /// Asks about many writes at once.
    fn ask(&self, writes: &[anabranch_placement::Write]) -> Option<VecDeque<StreamId>> {
        self.call(|py| {
            let asked = Writes::of(py, writes)?;
            let answer = self.object.bind(py).call_method1(BATCH, (asked,))?;
            // Whatever NumPy takes for an array of whole numbers; it raises for what it cannot.
            let array = py.import("numpy")?.call_method1("asarray", (answer,))?;
            let array = array.call_method1("astype", ("i8", "K", "same_kind"))?;
            let bytes = array.call_method0("tobytes")?;
            let bytes = bytes.cast::<PyBytes>()?.as_bytes();
            let streams: Vec<i64> = bytes
                .chunks_exact(size_of::<i64>())
                .filter_map(|word| Some(i64::from_ne_bytes(word.try_into().ok()?)))
                .collect();
            if streams.len() != writes.len() {
                return Err(usage(format!(
                    "scheme \"{}\" answered {} streams for {} writes",
                    self.name,
                    streams.len(),
                    writes.len()
                )));
            }
            let stream = |stream: i64| match u16::try_from(stream) {
                Ok(known) if known < self.host_streams => Ok(StreamId(known)),
                _ => Err(self.no_stream(&stream.to_string())),
            };
            streams.into_iter().map(stream).collect()
        })
    }
}

impl Assign for Working {
    fn assign(&mut self, write: &anabranch_placement::Write) -> StreamId {
        if let Some(answers) = &mut self.answers {
            // Where nothing was announced, it is asked about this one alone.
            let stream = answers.pop_front();
            let alone = || self.ask(std::slice::from_ref(write))?.pop_front();
            return stream.or_else(alone).unwrap_or(StreamId::DEFAULT);
        }
        let asked = Write {
            first_page: write.pages.first,
            pages: write.pages.count,
            context: write.context.0,
            file: write.file.0,
            hint: write.hint as u8,
            tenant: write.tenant,
            now_pages: write.now_pages,
        };
        let stream = self.call(|py| {
            let object = self.object.bind(py);
            self.stream(&object.call_method1(intern!(py, "assign"), (asked,))?)
        });
        stream.unwrap_or(StreamId::DEFAULT)
    }

    fn discard(&mut self, pages: PageRange, now_pages: u64) {
        if self.hears_deaths {
            let told = (pages.first, pages.count, now_pages);
            self.call(|py| {
                self.object
                    .call_method1(py, intern!(py, "invalidate"), told)
            });
        }
    }

    fn learn(&mut self, names: &Names) {
        if !self.hears_names {
            return;
        }
        let files = names.files.iter().map(|(id, name)| (id.0, name.as_str()));
        let contexts = names.contexts.iter().map(|one| {
            let signature = format!("{:016x}", one.signature);
            (one.id.0, (signature, one.role.as_str()))
        });
        let (files, contexts): (Vec<_>, Vec<_>) = (files.collect(), contexts.collect());
        self.call(|py| {
            let (by_file, by_context) = (PyDict::new(py), PyDict::new(py));
            for (id, name) in files {
                by_file.set_item(id, name)?;
            }
            for (id, known) in contexts {
                by_context.set_item(id, known)?;
            }
            let object = self.object.bind(py);
            object.call_method1("learn", (by_file, by_context))?;
            Ok(())
        });
    }

    fn goes_by_page(&self) -> bool {
        self.by_page
    }

    fn looks_ahead(&self) -> bool {
        self.answers.is_some()
    }

    fn announce(&mut self, writes: &[anabranch_placement::Write]) {
        if self.answers.is_some() && !writes.is_empty() {
            self.answers = Some(self.ask(writes).unwrap_or_default());
        }
    }
}
