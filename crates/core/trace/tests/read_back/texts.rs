//! The lines that tools print of the trace, and the columns that forms document.

use anabranch_trace::foreign::Form;
use anabranch_trace::{Io, Operation};

const SECTOR: u64 = 512;

/// The letters of an operation in the block layer (blkparse(1), "RWBS").
fn letters(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "R",
        Operation::Write => "W",
        Operation::Discard => "D",
        Operation::Flush => "FN",
    }
}

/// The three events of a request as blkparse prints them: device, time, event, letters, sectors, process or error.
pub fn lines_of_blkparse(io: &Io) -> [String; 3] {
    let (seconds, ns) = (io.time_ns / 1_000_000_000, io.time_ns % 1_000_000_000);
    let (sector, sectors) = (io.offset_bytes / SECTOR, io.length_bytes / SECTOR);
    let name = ["", "writer", "reader"][io.context.0 as usize];
    ["Q", "D", "C"].map(|event| {
        let what = match (io.operation, event) {
            (Operation::Flush, "C") => "0 [0]".into(),
            (Operation::Flush, _) => format!("[{name}]"),
            (_, "C") => format!("{sector} + {sectors} [0]"),
            _ => format!("{sector} + {sectors} [{name}]"),
        };
        let letters = letters(io.operation);
        format!(
            "259,{} {seconds}.{ns:09} {event} {letters} {what}",
            io.tenant
        )
    })
}

/// The events that blkparse printed, in words, without processor, number and process.
pub fn events(printed: &str) -> Vec<String> {
    let words = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [device, _, _, time, _, what @ ..] = &words[..] else {
            panic!("{line}");
        };
        format!("{device} {time} {}", what.join(" "))
    };
    let events = printed.lines().filter(|line| line.starts_with("259,"));
    events.map(words).collect()
}

/// Lines of blkparse with their blanks, without the events' numbers.
pub fn without_numbers(printed: &str) -> Vec<String> {
    let cut = |line: &str| {
        // Device and processor are 10 letters, the number behind them 9.
        let (device, rest) = line.split_at(10);
        format!("{device}{}", &rest[9..])
    };
    let events = printed.lines().filter(|line| line.starts_with("259,"));
    events.map(cut).collect()
}

/// A request in btt's file of blocks: time, first sector, and the end.
pub fn line_of_btt(io: &Io) -> String {
    let (seconds, ns) = (io.time_ns / 1_000_000_000, io.time_ns % 1_000_000_000);
    let (first, end) = (
        io.offset_bytes / SECTOR,
        (io.offset_bytes + io.length_bytes) / SECTOR,
    );
    format!("{seconds}.{ns:09} {first} {end}")
}

/// The forms of which no tool is in a registry, with the trace in their columns as documented: SNIA's FIU traces
/// (time, process, name, sector, sectors, operation, device), MQSim's README and `ASCII_Trace_Definition.h`, the README
/// of Tencent's traces, Linux' `include/trace/events/block.h`.
pub const DOCUMENTED: [(Form, &str); 4] = [
    (
        Form::Fiu,
        "0 1 writer 0 8 W 259 0\n\
         200000 1 writer 8 16 R 259 0\n\
         300500 2 reader 2048 256 W 259 1\n\
         400000 1 writer 1 2 W 259 2\n\
         7200000000000 2 reader 6442450944 1 R 259 1\n\
         7200000000001 2 reader 6442450944 8 W 259 1\n",
    ),
    (
        Form::MqSim,
        "0 0 0 8 0\n\
         200000 0 8 16 1\n\
         300500 1 2048 256 0\n\
         400000 2 1 2 0\n\
         7200000000000 1 6442450944 1 1\n\
         7200000000001 1 6442450944 8 0\n",
    ),
    (
        Form::Tencent,
        "0,0,8,1,0\n\
         0,8,16,0,0\n\
         0,2048,256,1,1\n\
         0,1,2,1,2\n\
         7200,6442450944,1,0,1\n\
         7200,6442450944,8,1,1\n",
    ),
    (Form::Ftrace, include_str!("ftrace.txt")),
];

pub mod libcachesim {
    //! The trace as libCacheSim's readers have it: time, object, bytes, operation.

    use std::{
        env,
        path::{Path, PathBuf},
    };

    use super::super::tool;
    use super::Form;

    const SCRIPT: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/read_back/libcachesim.py"
    );

    type Objects = Vec<(u64, u64, u64, String)>;

    /// Each form that it reads, with the objects: seconds and numbers are cut to whole ones, a time of more than 2^53
    /// is rounded to a multiple of 16, and it knows no discards.
    pub fn expected() -> Vec<(Form, Objects)> {
        const FROM_1601: u64 = 116_444_736_000_000_000;
        let own = |rows: &[(u64, u64, u64, &str)]| -> Objects {
            rows.iter()
                .map(|&(time, object, bytes, word)| (time, object, bytes, word.to_owned()))
                .collect()
        };
        let rounded = |time: u64| (time as f64) as u64;
        vec![
            (
                Form::Alibaba,
                own(&[
                    (0, 0, 4096, "WRITE"),
                    (200, 4096, 8192, "READ"),
                    (300, 1_048_576, 131_072, "WRITE"),
                    (400, 700, 400, "WRITE"),
                    (7_200_000_000, 3 << 40, 512, "READ"),
                    (7_200_000_000, 3 << 40, 4096, "WRITE"),
                ]),
            ),
            (
                Form::Msr,
                own(&[
                    (rounded(FROM_1601), 0, 4096, "WRITE"),
                    (rounded(FROM_1601 + 2_000), 4096, 8192, "READ"),
                    (rounded(FROM_1601 + 3_005), 1_048_576, 131_072, "WRITE"),
                    (rounded(FROM_1601 + 4_000), 700, 400, "WRITE"),
                    (rounded(FROM_1601 + 72_000_000_000), 3 << 40, 512, "READ"),
                    (rounded(FROM_1601 + 72_000_000_000), 3 << 40, 4096, "WRITE"),
                ]),
            ),
            (
                Form::Spc,
                own(&[
                    (0, 0, 4096, "WRITE"),
                    (0, 8, 8192, "READ"),
                    (0, 2048, 131_072, "WRITE"),
                    (0, 1, 588, "WRITE"),
                    (7200, 3 << 31, 512, "READ"),
                    (7200, 3 << 31, 4096, "WRITE"),
                ]),
            ),
            (
                Form::Csv,
                own(&[
                    (0, 0, 4096, "WRITE"),
                    (200_000, 4096, 8192, "READ"),
                    (300_500, 8192, 16_384, "NOP"),
                    (300_500, 1_048_576, 131_072, "WRITE"),
                    (400_000, 700, 400, "WRITE"),
                    (500_000, 700, 2000, "NOP"),
                    (500_001, 700, 400, "NOP"),
                    (7_200_000_000_000, 3 << 40, 512, "READ"),
                    (7_200_000_000_001, 3 << 40, 4096, "WRITE"),
                ]),
            ),
            (
                Form::OracleGeneral,
                own(&[
                    (0, 0, 4096, "NOP"),
                    (0, 256, 131_072, "NOP"),
                    (0, 0, 1100, "NOP"),
                    (7200, 3 << 28, 4096, "NOP"),
                ]),
            ),
        ]
    }

    /// Reads a file with libCacheSim.
    pub fn read(form: Form, file: &Path, directory: &Path) -> Objects {
        let of_tree =
            || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../target/venv/bin/python");
        let python = env::var_os("ANABRANCH_PYTHON").map_or_else(of_tree, PathBuf::from);
        let output = tool(
            &python,
            &[SCRIPT, form.name(), file.to_str().unwrap()],
            directory,
        );
        // Its own warnings are on standard output, too.
        let words = String::from_utf8(output.stdout).unwrap();
        let last = words.lines().last().unwrap();
        serde_json::from_str(last).unwrap()
    }
}
