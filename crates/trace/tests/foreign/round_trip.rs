//! A trace written in a format and read again is the same trace, as far as the format can hold it.

use std::fmt::Write;

use anabranch_trace::foreign::{ColumnMap, Format, Options};
use anabranch_trace::{FileId, Io, Operation};
use proptest::prelude::*;

use super::sample::{import, input};

/// What a format can hold.
struct Holds {
    operations: &'static [Operation],
    /// Nanoseconds of its unit of time.
    time_ns: u64,
    /// Bytes of its units of offset and length.
    bytes: (u64, u64),
    volumes: u32,
}

const READ_WRITE: &[Operation] = &[Operation::Read, Operation::Write];
const WITH_DISCARD: &[Operation] = &[Operation::Read, Operation::Write, Operation::Discard];

fn holds(format: Format) -> Holds {
    let holds = |operations, time_ns, bytes, volumes| Holds {
        operations,
        time_ns,
        bytes,
        volumes,
    };
    match format {
        Format::Blkparse | Format::Blktrace => holds(&Operation::ALL, 1, (512, 512), 1),
        Format::FioIolog => holds(&Operation::ALL, 1000, (1, 1), 1),
        Format::Msr => holds(READ_WRITE, 100, (1, 1), 1),
        Format::Alibaba => holds(READ_WRITE, 1000, (1, 1), 1000),
        Format::Tencent => holds(READ_WRITE, 1_000_000_000, (512, 512), 6000),
        Format::MqSim => holds(READ_WRITE, 1, (512, 512), 8),
        Format::Spc => holds(READ_WRITE, 1, (512, 1), 8),
        Format::Fiu => holds(READ_WRITE, 1, (512, 512), 1),
        Format::OracleGeneral => holds(&[Operation::Write], 1_000_000_000, (4096, 1), 1),
        Format::Csv => holds(WITH_DISCARD, 1000, (512, 1), 1000),
        Format::Ftrace => holds(&Operation::ALL, 1000, (512, 512), 1),
    }
}

/// Requests a format can hold, in order of time, the first at 0.
fn trace(format: Format) -> impl Strategy<Value = Vec<Io>> {
    let holds = holds(format);
    let operation = prop::sample::select(holds.operations);
    let request = (
        operation,
        0_u64..10,
        0_u64..1 << 40,
        1_u64..1 << 12,
        0..holds.volumes,
    );
    prop::collection::vec(request, 1..50).prop_map(move |requests| {
        let mut time_ns = 0;
        let mut ios = Vec::new();
        for (place, (operation, wait, offset, length, tenant)) in (0..).zip(requests) {
            if place > 0 {
                time_ns += wait * holds.time_ns;
            }
            let (offset, length) = match operation {
                Operation::Flush => (0, 0),
                _ => (offset * holds.bytes.0, length * holds.bytes.1),
            };
            ios.push(Io {
                time_ns,
                operation,
                tenant,
                ..Io::write(offset, length)
            });
        }
        ios
    })
}

fn letters(io: &Io) -> &'static str {
    match io.operation {
        Operation::Read => "R",
        Operation::Write => "W",
        Operation::Discard => "D",
        Operation::Flush => "F",
    }
}

/// Writes a trace in a format.
fn export(ios: &[Io], format: Format) -> Vec<u8> {
    let mut text = String::new();
    if format == Format::FioIolog {
        text.push_str("fio version 3 iolog\n0 /dev/x add\n0 /dev/x open\n");
    }
    let mut binary = Vec::new();
    for io in ios {
        match format {
            Format::Blktrace => binary.extend(blktrace_record(io)),
            Format::OracleGeneral => {
                binary.extend(((io.time_ns / 1_000_000_000) as u32).to_le_bytes());
                binary.extend((io.offset_bytes / 4096).to_le_bytes());
                binary.extend((io.length_bytes as u32).to_le_bytes());
                binary.extend((-1_i64).to_le_bytes());
            }
            _ => writeln!(text, "{}", line(io, format)).unwrap(),
        }
    }
    if text.is_empty() {
        binary
    } else {
        text.into_bytes()
    }
}

fn line(io: &Io, format: Format) -> String {
    let (time, offset, length) = (io.time_ns, io.offset_bytes, io.length_bytes);
    let (sector, sectors) = (offset / 512, length / 512);
    let (volume, letters) = (io.tenant, letters(io));
    let seconds = format!("{}.{:09}", time / 1_000_000_000, time % 1_000_000_000);
    let is_flush = io.operation == Operation::Flush;
    let is_write = u8::from(io.operation == Operation::Write);
    match format {
        Format::Blkparse if is_flush => {
            format!("  8,0    1        1 {seconds:>17}     0  D  FN [0]")
        }
        Format::Blkparse => {
            format!(
                "  8,0    1        1 {seconds:>17}     0  D  {letters} {sector} + {sectors} [0]"
            )
        }
        Format::FioIolog => {
            let action = match io.operation {
                Operation::Discard => "trim",
                Operation::Flush => "sync",
                other => other.name(),
            };
            format!("{} /dev/x {action} {offset} {length}", time / 1000)
        }
        Format::Msr => {
            let kind = if is_write == 1 { "Write" } else { "Read" };
            format!(
                "{},host,0,{kind},{offset},{length},0",
                128_166_372_000_000_000 + time / 100
            )
        }
        Format::Alibaba => format!("{volume},{letters},{offset},{length},{}", time / 1000),
        Format::Tencent => format!(
            "{},{sector},{sectors},{is_write},{volume}",
            time / 1_000_000_000
        ),
        Format::MqSim => format!("{time} {volume} {sector} {sectors} {}", 1 - is_write),
        Format::Spc => format!("{volume},{sector},{length},{letters},{seconds}"),
        Format::Fiu => format!("{time} 0 0 {sector} {sectors} {letters} 8 0 00ff"),
        Format::Csv => format!("{volume};{sector};{};{letters};{length}", time / 1000),
        Format::Ftrace => {
            let microseconds = &seconds[..seconds.len() - 3];
            let kind = if is_flush { "FF" } else { letters };
            format!(
                "<idle>-0 [000] ..... {microseconds}: block_rq_issue: 8,0 {kind} {length} () \
                 {sector} + {sectors} none,0,0 [0]"
            )
        }
        Format::Blktrace | Format::OracleGeneral => unreachable!("binary"),
    }
}

fn blktrace_record(io: &Io) -> Vec<u8> {
    let category: u32 = match io.operation {
        Operation::Read => 1,
        Operation::Write => 2,
        Operation::Discard => 2 | 1 << 13,
        Operation::Flush => 4,
    };
    let mut record = Vec::new();
    record.extend(0x6561_7407_u32.to_le_bytes());
    record.extend(0_u32.to_le_bytes());
    record.extend(io.time_ns.to_le_bytes());
    record.extend((io.offset_bytes / 512).to_le_bytes());
    record.extend((io.length_bytes as u32).to_le_bytes());
    record.extend(((category | 1 << 6) << 16 | 7).to_le_bytes());
    for number in [0_u32, 8 << 20, 0] {
        record.extend(number.to_le_bytes());
    }
    record.extend([0; 4]);
    record
}

/// What comes back: a fio log tells the file, too.
fn expected(ios: &[Io], format: Format) -> Vec<Io> {
    let file = FileId(u32::from(format == Format::FioIolog));
    ios.iter().map(|io| Io { file, ..*io }).collect()
}

fn comes_back(ios: &[Io], format: Format) -> Result<(), TestCaseError> {
    let options = Options {
        columns: (format == Format::Csv).then(|| {
            let map = "volume-col=1,obj-id-col=2,time-col=3,op-col=4,obj-size-col=5,delimiter=;,\
                       id-unit=sector,time-unit=us";
            ColumnMap::parse(map).unwrap()
        }),
        ..Options::default()
    };
    let bytes = export(ios, format);
    let (found, importer) = import(vec![input("t", bytes)], format, &options).unwrap();
    prop_assert_eq!(found, expected(ios, format));
    prop_assert_eq!(importer.skipped().malformed, 0);
    Ok(())
}

proptest! {
    #[test]
    fn a_trace_comes_back_from_every_format_as_it_went(
        (format, ios) in prop::sample::select(&Format::ALL[..])
            .prop_flat_map(|format| trace(format).prop_map(move |ios| (format, ios)))
    ) {
        comes_back(&ios, format)?;
    }
}
