//! Watches a block device while a command runs, and prints who wrote how much.
//!
//! ```text
//! capture DEVICE [--no-hints] [--ring-bytes N] -- COMMAND…
//! ```
// An example is there to show something.
#![allow(clippy::print_stdout)]

use std::process::{Child, Command};
use std::time::Duration;

use anabranch_probe::{Captured, Options, Probe, ProbeError};
use anabranch_trace::{ContextKind, Io, Operation};

const USAGE: &str = "usage: capture DEVICE [--no-hints] [--ring-bytes N] -- COMMAND…";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (options, command) = parse(std::env::args().skip(1)).ok_or(USAGE)?;
    let mut probe = Probe::attach(&options)?;
    let (program, arguments) = command.split_first().ok_or(USAGE)?;
    let child = Command::new(program).args(arguments).spawn()?;
    let ios = capture(&mut probe, child)?;
    print(&ios, &probe.finish());
    Ok(())
}

fn parse(mut arguments: impl Iterator<Item = String>) -> Option<(Options, Vec<String>)> {
    let mut options = Options::new(arguments.next()?);
    loop {
        match arguments.next()?.as_str() {
            "--no-hints" => options.hints = false,
            "--ring-bytes" => options.ring_bytes = arguments.next()?.parse().ok()?,
            "--" => return Some((options, arguments.collect())),
            _ => return None,
        }
    }
}

fn capture(probe: &mut Probe, mut child: Child) -> Result<Vec<Io>, ProbeError> {
    let mut ios = Vec::new();
    while matches!(child.try_wait(), Ok(None)) {
        probe.poll(Duration::from_millis(100), &mut |io| ios.push(io))?;
    }
    probe.drain(&mut |io| ios.push(io))?;
    Ok(ios)
}

fn print(ios: &[Io], captured: &Captured) {
    let mut bytes = vec![0_u64; captured.contexts.len()];
    let writes = ios.iter().filter(|io| io.operation == Operation::Write);
    writes
        .clone()
        .for_each(|io| bytes[io.context.0 as usize] += io.length_bytes);
    let total: u64 = bytes.iter().sum();
    let share = |part: u64| 100.0 * part as f64 / total.max(1) as f64;
    let application: u64 = captured
        .contexts
        .iter()
        .filter(|context| context.kind == ContextKind::Application)
        .map(|context| bytes[context.id.0 as usize])
        .sum();
    println!(
        "{} requests, {} writes of {total} bytes, {} discards, {} contexts, {} files, {} lost; {:.2} % of the bytes have an application's context",
        ios.len(),
        writes.count(),
        ios.iter()
            .filter(|io| io.operation == Operation::Discard)
            .count(),
        captured.contexts.len(),
        captured.files.len(),
        captured.lost_events,
        share(application),
    );
    captured
        .limitations
        .iter()
        .for_each(|limitation| println!("{limitation}"));
    let mut order: Vec<usize> = (0..bytes.len()).filter(|&id| bytes[id] > 0).collect();
    order.sort_by_key(|&id| std::cmp::Reverse(bytes[id]));
    for id in order {
        let context = &captured.contexts[id];
        println!(
            "\n{:6.2} %  {:?} {:?} {:016x}",
            share(bytes[id]),
            context.kind,
            context.role,
            context.signature
        );
        for frame in &context.frames {
            let symbol = frame.symbol.as_deref().unwrap_or("?");
            println!(
                "          {symbol}  {}+{:#x}",
                frame.object, frame.file_offset
            );
        }
    }
}
