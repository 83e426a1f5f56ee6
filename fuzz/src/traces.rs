//! What must hold of any bytes that are read as another's trace.
//!
//! The fuzz target and the tests of `crates/core/trace` share this; it panics when it does not hold.

use std::io::Cursor;

use anabranch_trace::Io;
use anabranch_trace::foreign::{
    ColumnMap, Event, Exporter, Form, Format, ImportError, Importer, Input, Options, Survey,
};

/// A CSV with a column of every kind.
const COLUMNS: &str = "time-col=1,op-col=2,obj-id-col=3,obj-size-col=4,volume-col=5,time-unit=us";

/// No bytes make a reader panic, hold more than a batch, or yield a request that makes no sense; and
/// what was read can be written in every form. The first byte says which format it shall be, and
/// what the reader is told; packed bytes are unpacked.
pub fn traces(input: &[u8]) {
    let Some((&how, bytes)) = input.split_first() else {
        return;
    };
    let format = Format::ALL[usize::from(how & 0x1f) % Format::ALL.len()];
    let has_events = matches!(format, Format::Blktrace | Format::Blkparse | Format::Ftrace);
    let event = Event::ALL.get(usize::from(how >> 5 & 3)).copied();
    let options = Options {
        skip_bad: how & 0x80 == 0,
        event: event.filter(|_| has_events),
        volume: (bytes.len() % 2 == 1).then(|| "0".into()),
        // Other forms refuse columns.
        columns: ColumnMap::parse(COLUMNS)
            .ok()
            .filter(|_| format == Format::Csv),
    };
    let _ = read(bytes, format, &options);
}

fn read(bytes: &[u8], format: Format, options: &Options) -> Result<(), ImportError> {
    let mut input = Input::new("fuzzed", Cursor::new(bytes.to_vec()))?;
    // Whether it is known or not, looking at it must not hurt.
    let _ = input.sniff();
    let mut importer = Importer::new(vec![input], format, options)?;
    let (mut ios, mut survey) = (Vec::new(), Survey::default());
    let mut first = Vec::new();
    while importer.read_batch(&mut ios)? {
        assert!(ios.capacity() <= 1 << 14, "a batch stays a batch");
        for io in &ios {
            assert!(
                io.offset_bytes.checked_add(io.length_bytes).is_some(),
                "{io:?}"
            );
            survey.record(io);
        }
        if first.is_empty() {
            first.clone_from(&ios);
        }
    }
    let _ = survey.summary();
    write(&first, &importer);
    Ok(())
}

fn write(ios: &[Io], importer: &Importer) {
    for form in Form::ALL.iter().copied() {
        let mut exporter = Exporter::new(form, &importer.tables(), Vec::new());
        for io in ios {
            // Memory takes everything; splitting what is long must come to an end.
            if io.length_bytes < 1 << 40 {
                exporter.push(io).expect("memory takes it");
            }
        }
        exporter.finish().expect("memory takes it");
    }
}
