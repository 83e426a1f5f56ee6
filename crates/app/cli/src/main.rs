//! The `anabranch` command: arguments, progress, printing. Nothing below it prints.

mod answer;
mod arguments;
#[cfg(feature = "live")]
mod attaching;
#[cfg(feature = "live")]
mod block;
#[cfg(feature = "calibrate")]
mod calibrate;
mod comparison;
mod contexts;
mod coverage;
mod diff;
#[cfg(feature = "doctor")]
mod doctor;
#[cfg(any(feature = "live", feature = "steer"))]
mod duration;
mod emmc;
mod error;
mod experiment;
mod export;
mod files;
mod formats;
#[cfg(any(feature = "live", feature = "steer"))]
mod generations;
mod import;
mod kernel;
mod lists;
#[cfg(feature = "live")]
mod live;
#[cfg(any(feature = "live", feature = "steer"))]
mod metrics;
mod output;
mod packaging;
mod precondition;
mod progress;
#[cfg(any(feature = "live", feature = "serve"))]
mod rate;
#[cfg(feature = "live")]
mod readiness;
mod replay;
mod report;
mod say;
mod scenario;
#[cfg(feature = "serve")]
mod serve;
mod source;
#[cfg(feature = "steer")]
mod steer;
mod sweep;
mod table_layout;
#[cfg(any(feature = "live", feature = "steer"))]
mod tenants;
#[cfg(feature = "steer")]
mod top;
mod version;
#[cfg(feature = "steer")]
mod waf;
#[cfg(feature = "live")]
mod watch;
mod workloads;
mod wrong_file;

use std::{panic, process::ExitCode};

use arguments::{Arguments, Verb};
use clap::CommandFactory as _;

fn main() -> ExitCode {
    #[cfg(any(feature = "live", feature = "steer"))]
    anabranch_probe::inspect_if_asked();
    keep_contained_panics_quiet();
    let mut arguments = Arguments::of_process();
    arguments.say.begin();
    match done(&mut arguments.verb) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.complain();
            ExitCode::from(failure.status)
        }
    }
}

/// Prints no panic that a trace's reader turns into an error: the error is printed.
fn keep_contained_panics_quiet() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !anabranch_trace::contains_panics() {
            print(panic);
        }
    }));
}

/// Runs a verb, once it is certain that it destroys none of its files.
fn done(verb: &mut Verb) -> error::Result {
    verb.files().check()?;
    verb.route_standard_output();
    match verb {
        #[cfg(feature = "live")]
        Verb::Run(arguments) => live::run(arguments),
        #[cfg(feature = "live")]
        Verb::Record(arguments) => live::record(arguments),
        #[cfg(feature = "live")]
        Verb::Watch(arguments) => watch::watch(arguments),
        Verb::Import(arguments) => import::import(arguments),
        Verb::Replay(arguments) => replay::replay(arguments),
        #[cfg(feature = "serve")]
        Verb::Serve(arguments) => serve::serve(arguments),
        #[cfg(feature = "steer")]
        Verb::Steer(arguments) => steer::steer(arguments),
        #[cfg(feature = "steer")]
        Verb::Top(arguments) => top::top(arguments),
        #[cfg(feature = "steer")]
        Verb::Waf(arguments) => waf::waf(arguments),
        #[cfg(feature = "doctor")]
        Verb::Doctor(arguments) => doctor::doctor(arguments),
        #[cfg(feature = "calibrate")]
        Verb::Calibrate(arguments) => calibrate::calibrate(arguments),
        Verb::Precondition(arguments) => precondition::precondition(arguments),
        Verb::Emmc(arguments) => emmc::emmc(arguments),
        Verb::Experiment(arguments) => experiment::experiment(arguments),
        Verb::Sweep(arguments) => sweep::sweep(arguments),
        Verb::Contexts(arguments) => contexts::contexts(arguments),
        Verb::Report(arguments) => report::report(arguments),
        Verb::Diff(arguments) => diff::diff(arguments),
        Verb::Export(arguments) => export::export(arguments),
        Verb::Schemes(arguments) => lists::schemes(arguments),
        Verb::Devices(arguments) => lists::devices(arguments),
        Verb::Coverage(arguments) => coverage::coverage(arguments),
        Verb::Workloads(arguments) => workloads::workloads(arguments),
        Verb::Completions(arguments) => packaging::completions(arguments, Arguments::command()),
        Verb::Man(arguments) => packaging::man(arguments, Arguments::command()),
    }
}
