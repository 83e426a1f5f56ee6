//! The samples, and how a trace is read in these tests.

use std::fs;
use std::io::Cursor;
use std::path::PathBuf;

use anabranch_trace::foreign::{ColumnMap, Event, Format, ImportError, Importer, Input, Options};
use anabranch_trace::{ContextId, FileId, Io, Operation};

/// A sample: its files, format, the columns to name, and the event to take.
#[derive(Debug)]
pub struct Sample {
    pub name: &'static str,
    pub files: &'static [&'static str],
    pub format: Format,
    pub columns: Option<&'static str>,
    pub event: Option<Event>,
}

const fn sample(name: &'static str, files: &'static [&'static str], format: Format) -> Sample {
    Sample {
        name,
        files,
        format,
        columns: None,
        event: None,
    }
}

/// Every sample.
pub const SAMPLES: [Sample; 23] = [
    sample("blkparse", &["blkparse.txt"], Format::Blkparse),
    Sample {
        event: Some(Event::Queue),
        ..sample("blkparse.queue", &["blkparse.txt"], Format::Blkparse)
    },
    sample("blk-tracer", &["blk-tracer.txt"], Format::Blkparse),
    sample(
        "blktrace",
        &["blktrace.0.hex", "blktrace.1.hex"],
        Format::Blktrace,
    ),
    sample("blktrace-v8", &["blktrace-v8.hex"], Format::Blktrace),
    sample("fio-v2", &["fio-v2.log"], Format::FioIolog),
    sample("fio-v3", &["fio-v3.log"], Format::FioIolog),
    sample("msr", &["msr.csv"], Format::Msr),
    sample("alibaba", &["alibaba.csv"], Format::Alibaba),
    sample("tencent", &["tencent.csv"], Format::Tencent),
    sample("mqsim", &["mqsim.trace"], Format::MqSim),
    sample("spc", &["spc.txt"], Format::Spc),
    Sample {
        columns: Some("time-col=1,volume-col=2,op-col=3,obj-id-col=4,obj-size-col=5,id-unit=byte"),
        ..sample("volumes", &["volumes.csv"], Format::Csv)
    },
    sample("systor17", &["systor17.csv"], Format::Systor17),
    sample("io-tracer", &["io-tracer.csv"], Format::IoTracer),
    sample("vscsi-v1", &["vscsi-v1.hex"], Format::Vscsi),
    sample("vscsi-v2", &["vscsi-v2.hex"], Format::Vscsi),
    sample("midas", &["midas.txt"], Format::Midas),
    sample("fiu", &["fiu.blkparse"], Format::Fiu),
    sample("ftrace-block", &["ftrace-block.txt"], Format::Ftrace),
    sample("ftrace-mmc", &["ftrace-mmc.txt"], Format::Ftrace),
    sample(
        "oracle-general",
        &["oracle-general.hex"],
        Format::OracleGeneral,
    ),
    Sample {
        columns: Some(
            "time-col=1,obj-size-col=2,obj-id-col=3,op-col=4,delimiter=|,has-header=true,\
             read=get,write=SET,discard=delete",
        ),
        ..sample("libcachesim", &["libcachesim.csv"], Format::Csv)
    },
];

impl Sample {
    pub fn options(&self) -> Options {
        Options {
            event: self.event,
            columns: self.columns.map(|map| ColumnMap::parse(map).unwrap()),
            ..Options::default()
        }
    }

    /// The bytes of its files.
    pub fn bytes(&self) -> Vec<Vec<u8>> {
        self.files.iter().map(|file| bytes(file)).collect()
    }

    pub fn expected(&self) -> String {
        fs::read_to_string(path(&format!("{}.expected", self.name))).unwrap()
    }
}

pub fn path(file: &str) -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/foreign/samples").join(file)
}

/// The bytes of a file; of a `.hex`, those its digits stand for.
pub fn bytes(file: &str) -> Vec<u8> {
    let raw = fs::read(path(file)).unwrap();
    if !file.ends_with(".hex") {
        return raw;
    }
    let text = String::from_utf8(raw).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let digits: Vec<char> = lines
        .flat_map(str::chars)
        .filter(|c| !c.is_whitespace())
        .collect();
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// An input of these bytes.
pub fn input(name: &str, bytes: impl Into<Vec<u8>>) -> Input {
    Input::new(name, Cursor::new(bytes.into())).unwrap()
}

/// Everything an importer has, or its first error.
pub fn read_all(importer: &mut Importer) -> Result<Vec<Io>, ImportError> {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    while importer.read_batch(&mut batch)? {
        all.append(&mut batch);
    }
    Ok(all)
}

/// Reads texts or bytes as one trace of a format.
pub fn import(
    inputs: Vec<Input>,
    format: Format,
    options: &Options,
) -> Result<(Vec<Io>, Importer), ImportError> {
    let mut importer = Importer::new(inputs, format, options)?;
    let ios = read_all(&mut importer)?;
    Ok((ios, importer))
}

/// A request as a line of an `.expected` file has it.
pub fn io(line: &str) -> Io {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap();
    let time_ns = word().parse().unwrap();
    let operation = Operation::from_name(word()).unwrap();
    let mut number = || word().parse::<u64>().unwrap();
    let (offset_bytes, length_bytes) = (number(), number());
    let (context, file, tenant) = (number(), number(), number());
    Io {
        time_ns,
        operation,
        context: ContextId(context as u32),
        file: FileId(file as u32),
        tenant: tenant as u32,
        ..Io::write(offset_bytes, length_bytes)
    }
}
