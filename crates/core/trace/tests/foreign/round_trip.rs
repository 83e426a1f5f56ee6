//! A trace written in a form and read again is the same trace, as far as the form can hold it.

use std::collections::HashMap;

use anabranch_trace::foreign::{ColumnMap, Event, Exported, Exporter, Form, Importer, Options};
use anabranch_trace::{
    Capture, Context, ContextId, ContextKind, FileId, Io, Operation, Tables, WriteHint,
};
use proptest::prelude::*;

use super::sample::{import, input};

/// When the traces began: formats that count from a year keep it.
const STARTED_UNIX_S: u64 = 1_577_808_144;

/// Writers of every kind that a process's name tells.
const WRITERS: [(ContextKind, &str); 4] = [
    (ContextKind::Application, "rocksdb:low"),
    (ContextKind::Journal, "jbd/sda-"),
    (ContextKind::Kernel, "kworker/u:"),
    (ContextKind::Kernel, "loop"),
];

fn tables() -> Tables {
    let mut tables = Tables::new(Capture {
        started_unix_s: STARTED_UNIX_S,
        ..Capture::default()
    });
    for (id, (kind, role)) in (1..).zip(WRITERS) {
        tables
            .contexts
            .push(Context::new(ContextId(id), id.into(), kind, role));
    }
    tables
}

/// Requests a form can hold, in order of time, the first at 0.
fn holdable(form: Form) -> impl Strategy<Value = Vec<Io>> {
    let holds = form.holds();
    let volumes = if holds.volumes { 8 } else { 1 };
    let contexts = if holds.names { WRITERS.len() as u32 } else { 0 };
    let request = (
        prop::sample::select(holds.operations),
        0_u64..10,
        0_u64..1 << 40,
        1_u64..1 << 12,
        0_u32..volumes,
        0..=contexts,
    );
    prop::collection::vec(request, 1..50).prop_map(move |requests| {
        let mut time_ns = 0;
        let mut ios = Vec::new();
        for (place, (operation, wait, offset, length, tenant, context)) in (0..).zip(requests) {
            if place > 0 {
                time_ns += wait * holds.time_unit_ns;
            }
            let (offset, length) = match operation {
                Operation::Flush => (0, 0),
                _ => (
                    offset * holds.offset_unit_bytes,
                    length * holds.length_unit_bytes,
                ),
            };
            ios.push(Io {
                time_ns,
                operation,
                tenant,
                context: ContextId(context),
                ..Io::write(offset, length)
            });
        }
        ios
    })
}

/// Any requests that make sense by themselves.
fn any_trace() -> impl Strategy<Value = Vec<Io>> {
    let request = (
        prop::sample::select(&Operation::ALL[..]),
        any::<u32>(),
        0_u64..1 << 44,
        1_u64..1 << 34,
        0_u32..3,
        0..=WRITERS.len() as u32,
    );
    let io = |(operation, time, offset, length, tenant, context)| {
        let (offset, length) = match operation {
            Operation::Flush => (0, 0),
            _ => (offset, length),
        };
        Io {
            time_ns: u64::from(time),
            operation,
            tenant,
            context: ContextId(context),
            hint: WriteHint::Short,
            ..Io::write(offset, length)
        }
    };
    prop::collection::vec(request.prop_map(io), 1..50)
}

fn export(ios: &[Io], form: Form) -> (Vec<u8>, Exported) {
    let mut exporter = Exporter::new(form, &tables(), Vec::new());
    ios.iter().for_each(|io| exporter.push(io).unwrap());
    exporter.finish().unwrap()
}

fn read_again(bytes: Vec<u8>, form: Form) -> (Vec<Io>, Importer) {
    let columns = (form == Form::Csv).then(|| ColumnMap::parse(Form::COLUMNS).unwrap());
    let options = Options {
        columns,
        ..Options::default()
    };
    import(vec![input("t", bytes)], form.format(), &options).unwrap()
}

/// Volumes are numbered as they appear where a form names them, and so are contexts; of a fio log
/// the volume is the file, too. What a request belongs to is therefore compared by name.
fn volume_name(form: Form, number: u32) -> String {
    match form {
        Form::Blkparse | Form::Blktrace | Form::Ftrace | Form::Fiu => format!("259,{number}"),
        Form::Msr => format!("anabranch_{number}"),
        Form::FioIologV2 | Form::FioIologV3 => format!("volume-{number}"),
        _ => number.to_string(),
    }
}

fn comes_back(ios: &[Io], form: Form) -> Result<(), TestCaseError> {
    let (bytes, exported) = export(ios, form);
    let all = Exported {
        requests: ios.len() as u64,
        ..Exported::default()
    };
    prop_assert_eq!(exported, all, "nothing is lost, and nothing said to be");
    let (found, importer) = read_again(bytes, form);
    prop_assert_eq!(importer.skipped().malformed, 0);
    prop_assert_eq!(found.len(), ios.len());
    let tables = importer.tables();
    let named: HashMap<u32, &String> = (0..).zip(importer.volumes()).collect();
    for (io, back) in ios.iter().zip(&found) {
        let file = match form {
            Form::FioIologV2 | Form::FioIologV3 => FileId(back.tenant + 1),
            _ => FileId(0),
        };
        let expected = Io {
            tenant: back.tenant,
            context: back.context,
            file,
            ..*io
        };
        prop_assert_eq!(*back, expected);
        let volume = named.get(&back.tenant).map(|name| (*name).clone());
        let volume = volume.unwrap_or_else(|| back.tenant.to_string());
        prop_assert_eq!(volume, volume_name(form, io.tenant));
        let context = &tables.contexts[back.context.0 as usize];
        let told = (context.kind, context.role.as_str());
        let expected = match io.context {
            ContextId(0) => (ContextKind::Unknown, ""),
            ContextId(number) => WRITERS[number as usize - 1],
        };
        prop_assert_eq!(told, expected);
    }
    Ok(())
}

/// Losses are exactly those counted: the rest comes back.
fn rest_comes_back(ios: &[Io], form: Form) -> Result<(), TestCaseError> {
    let holds = form.holds();
    let (bytes, exported) = export(ios, form);
    let left_out = exported.reads_left_out + exported.discards_left_out + exported.flushes_left_out;
    let without_word = ios
        .iter()
        .filter(|io| !holds.operations.contains(&io.operation));
    prop_assert!(left_out >= without_word.count() as u64);
    prop_assert_eq!(exported.hints_lost, ios.len() as u64 - left_out);
    if exported.requests == 0 {
        return Ok(());
    }
    let (found, importer) = read_again(bytes, form);
    prop_assert_eq!(importer.skipped().malformed, 0);
    prop_assert_eq!(found.len() as u64, exported.requests);
    // Every byte that is written is written again, in as many requests as it takes.
    let written = |ios: &[Io]| {
        let writes = ios.iter().filter(|io| io.operation == Operation::Write);
        writes.map(|io| io.length_bytes).sum::<u64>()
    };
    let widened = exported.unaligned * 2 * holds.offset_unit_bytes;
    prop_assert!(written(&found) >= written(ios));
    prop_assert!(written(&found) <= written(ios) + widened);
    Ok(())
}

fn any_form() -> impl Strategy<Value = Form> {
    prop::sample::select(Form::ALL)
}

proptest! {
    #[test]
    fn a_trace_comes_back_from_every_form_as_it_went(
        (form, ios) in any_form()
            .prop_flat_map(|form| holdable(form).prop_map(move |ios| (form, ios)))
    ) {
        comes_back(&ios, form)?;
    }

    #[test]
    fn of_any_trace_comes_back_what_is_not_said_to_be_lost(form in any_form(), ios in any_trace()) {
        rest_comes_back(&ios, form)?;
    }
}

#[test]
fn formats_that_count_from_a_year_keep_when_the_trace_began() {
    for form in [Form::Msr, Form::Alibaba, Form::Tencent] {
        let (bytes, _) = export(&[Io::write(0, 4096)], form);
        let (_, importer) = read_again(bytes, form);
        let began = importer.tables().capture.started_unix_s;
        assert_eq!(began, STARTED_UNIX_S, "{}", form.name());
    }
}

#[test]
fn each_event_of_an_exported_blktrace_has_every_request_once() {
    let flush = Io {
        operation: Operation::Flush,
        ..Io::write(0, 0)
    };
    let discard = Io {
        operation: Operation::Discard,
        ..Io::write(0, 8192)
    };
    // The same request again at the same time is a second one.
    let ios = [Io::write(0, 4096), Io::write(0, 4096), flush, discard];
    for event in Event::ALL {
        let (bytes, _) = export(&ios, Form::Blktrace);
        let options = Options {
            event: Some(event),
            ..Options::default()
        };
        let inputs = vec![input("t", bytes)];
        let (found, importer) = import(inputs, Form::Blktrace.format(), &options).unwrap();
        assert_eq!(found, ios, "{event:?}");
        assert_eq!(importer.skipped().other_events, 2 * ios.len() as u64);
    }
}

#[test]
fn every_form_is_known_by_its_looks_but_a_csv() {
    let ios: Vec<Io> = (0..100)
        .map(|number| Io::write(number * 4096, 4096))
        .collect();
    for form in Form::ALL.iter().copied().filter(|form| *form != Form::Csv) {
        let (bytes, _) = export(&ios, form);
        assert_eq!(
            input("t", bytes).sniff().unwrap(),
            form.format(),
            "{}",
            form.name()
        );
    }
}
