//! `anabranch emmc`: the commands of a trace go through the rules of eMMC's contexts to a drive.

use std::path::PathBuf;

use anabranch_compare::{DriveOptions, TraceOrigin, one_drive};
use anabranch_report::{Cell, Column, Grid, Look, bytes, foreign, ratio};
use anabranch_ssd::{
    Device,
    streams::{EmmcCard, EmmcCommand, Refused, Rule},
};
use anabranch_trace::foreign::{Input, MmcCommand, MmcCommands};
use clap::Args;
use serde_json::{Value, json};

use crate::{
    answer::AnswerArguments,
    error::{CommandError, Result},
};

/// The drive, where no other is asked for.
const PROFILE: &str = "emmc-64g";

/// Breaches that are shown one by one. Our choice.
const MOST_SHOWN: usize = 20;

/// Shown below the verb's help.
pub const EXAMPLE: &str = "\
Example: record a card's commands, then put them to the rules and to a drive
  echo 1 >/sys/kernel/tracing/events/mmc/mmc_request_start/enable
  cat /sys/kernel/tracing/trace_pipe >phone.txt
  anabranch emmc phone.txt --device emmc-64g";

#[derive(Debug, Args)]
#[command(
    mut_arg("profiles", |profile| profile.help(
        "Device profile: a name `anabranch devices` lists, or a TOML file [default: emmc-64g]"
    ))
)]
pub struct EmmcArguments {
    /// Text of the trace event mmc_request_start, plain or packed by gzip or zstd
    #[arg(value_name = "TRACE")]
    pub trace: PathBuf,
    /// The host whose card it is, as the trace names it [default: the first with data]
    #[arg(long, value_name = "NAME")]
    pub card: Option<String>,
    #[command(flatten)]
    pub drive: DriveOptions,
    #[command(flatten)]
    pub answer: AnswerArguments,
}

/// A command that was refused.
struct Breach {
    line: u64,
    rule: Rule,
}

/// The outcome of a trace.
struct Done {
    card: EmmcCard,
    commands: MmcCommands,
    performed: u64,
    breaches: Vec<Breach>,
}

/// Puts the commands of a trace to a card, and prints what came of it.
pub fn emmc(arguments: &EmmcArguments) -> Result {
    let mut drive = arguments.drive.clone();
    if drive.profiles.is_empty() {
        drive.profiles = vec![PROFILE.to_owned()];
    }
    let one = "a card is one drive: give each option one value";
    let (drive, _) = one_drive(&drive, &TraceOrigin::default(), one)?;
    let device = Device::new(drive.config, &()).map_err(CommandError::usage)?;
    let commands = MmcCommands::new(Input::open(&arguments.trace)?, arguments.card.clone());
    let done = perform(EmmcCard::new(device), commands)?;
    if done.performed == 0 {
        return Err(CommandError::wrong_use(format!(
            "{} has no commands of mmc_request_start to {}",
            arguments.trace.display(),
            arguments.card.as_deref().unwrap_or("any card")
        )));
    }
    arguments
        .answer
        .give(&as_json(&done), |look| render(&done, look))
}

fn perform(mut card: EmmcCard, mut commands: MmcCommands) -> Result<Done> {
    let (mut performed, mut breaches) = (0, Vec::new());
    while let Some(command) = commands.next_command()? {
        performed += 1;
        match card.perform(&mut (), &as_command(&command)) {
            Ok(()) => {}
            Err(Refused::Rule(rule)) if breaches.len() < MOST_SHOWN => breaches.push(Breach {
                line: commands.line(),
                rule,
            }),
            Err(Refused::Rule(_)) => {}
            Err(Refused::Device(error)) => return Err(CommandError::work(error)),
        }
    }
    Ok(Done {
        card,
        commands,
        performed,
        breaches,
    })
}

/// Numbers that no command can have lead beyond every card.
fn as_command(command: &MmcCommand) -> EmmcCommand {
    let fit = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    EmmcCommand {
        opcode: u8::try_from(command.opcode).unwrap_or(u8::MAX),
        argument: fit(command.argument),
        set_block_count: command.set_block_count.map(fit),
        length_bytes: command.length_bytes,
        sector: command.sector,
    }
}

fn as_json(done: &Done) -> Value {
    let card = &done.card;
    let (device, counters) = (card.device(), card.device().counters());
    let page_bytes = u64::from(device.config().page_bytes);
    let contexts = card.counts().iter().enumerate().map(|(context, counts)| {
        let mut row = json!(counts);
        row["context"] = json!(context);
        row
    });
    let rules = card.broken().iter().map(|(rule, times)| {
        json!({ "rule": rule, "about": rule.to_string(), "clause": rule.clause(), "times": times })
    });
    let breaches = done.breaches.iter();
    let breaches = breaches.map(|breach| json!({ "line": breach.line, "rule": breach.rule }));
    json!({
        "schema": anabranch_replay::SCHEMA,
        "config": { "verb": "emmc", "drive": device.config() },
        "seed": device.config().seed,
        "card": done.commands.card(),
        "commands": done.performed,
        "commands_to_other_cards": done.commands.others(),
        "lost_events": done.commands.lost_events(),
        "contexts": contexts.collect::<Vec<_>>(),
        "erased": card.erased(),
        "flushes": card.flushes(),
        "other_partitions": card.elsewhere(),
        "rules": rules.collect::<Vec<_>>(),
        "first_breaches": breaches.collect::<Vec<_>>(),
        "asked_bytes": asked_bytes(card),
        "host_page_bytes": counters.host_pages * page_bytes,
        "media_bytes": counters.media_pages() * page_bytes,
        "waf": counters.waf(),
    })
}

/// Bytes that commands wrote; the drive writes whole pages.
fn asked_bytes(card: &EmmcCard) -> u64 {
    card.counts()
        .iter()
        .map(|counts| counts.written_bytes)
        .sum()
}

fn render(done: &Done, look: &Look) -> String {
    let card = &done.card;
    let contexts = contexts(card);
    if look.csv {
        return format!("{}\n", contexts.text(look));
    }
    let counters = card.device().counters();
    let page_bytes = u64::from(card.device().config().page_bytes);
    let mut text = format!(
        "{}: {} commands, {} flushes, {} erased or discarded; {} written, {} in whole pages; the drive wrote {}, WAF {}\n\n{}\n",
        foreign(done.commands.card().unwrap_or_default()),
        done.performed,
        card.flushes(),
        bytes(card.erased().bytes),
        bytes(asked_bytes(card)),
        bytes(counters.host_pages * page_bytes),
        bytes(counters.media_pages() * page_bytes),
        ratio(counters.waf()),
        contexts.text(look),
    );
    if !card.broken().is_empty() {
        text += &format!("\nbroken rules:\n{}\n", rules(card).text(look));
        for breach in &done.breaches {
            text += &format!("line {}: {}\n", breach.line, breach.rule);
        }
    }
    let (others, elsewhere) = (done.commands.others(), card.elsewhere());
    if others > 0 {
        text += &format!("passed over: {others} commands to other cards (--card NAME)\n");
    }
    if elsewhere > 0 {
        text += &format!(
            "passed over: {elsewhere} reads, writes and erases of boot and replay-protected partitions\n"
        );
    }
    let lost = done.commands.lost_events();
    if lost > 0 {
        text += &format!("LOST EVENTS: {lost} kernel events were not captured\n");
    }
    look.wrapped(&text)
}

/// A row for each context that was used; the first is that of no context.
fn contexts(card: &EmmcCard) -> Grid {
    let columns = [
        ("context", "context"),
        ("opened", "opened"),
        ("writes", "writes"),
        ("written", "written_bytes"),
        ("reads", "reads"),
        ("read", "read_bytes"),
        ("refused", "refused"),
    ];
    let mut grid = Grid::new(columns.map(|(name, key)| Column::number(name).key(key)));
    let rows = card.counts().iter().enumerate();
    for (context, counts) in rows.filter(|(at, counts)| *at == 0 || **counts != Default::default())
    {
        grid.push([
            Cell::from(context as u64),
            Cell::from(counts.opened),
            Cell::from(counts.writes),
            Cell::new(bytes(counts.written_bytes), counts.written_bytes),
            Cell::from(counts.reads),
            Cell::new(bytes(counts.read_bytes), counts.read_bytes),
            Cell::from(counts.refused),
        ]);
    }
    grid
}

fn rules(card: &EmmcCard) -> Grid {
    let words = ["rule", "clause"].map(Column::words);
    let mut grid = Grid::new(words.into_iter().chain([Column::number("times")]));
    for (rule, times) in card.broken() {
        grid.push([
            Cell::from(rule.to_string().as_str()),
            Cell::from(rule.clause()),
            Cell::from(*times),
        ]);
    }
    grid
}
