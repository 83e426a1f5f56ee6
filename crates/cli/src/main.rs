//! The `anabranch` command: arguments, progress, printing. Nothing below it prints.

mod arguments;
mod compare;
mod comparison;
mod contexts;
mod coverage;
mod experiment;
mod export;
mod failure;
mod formats;
mod import;
mod lists;
#[cfg(feature = "live")]
mod live;
mod options;
mod precondition;
mod progress;
mod replay;
mod report;
mod scenario;
#[cfg(feature = "serve")]
mod serve;
mod source;
mod sweep;
mod workloads;

use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Verb};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match &arguments.verb {
        #[cfg(feature = "live")]
        Verb::Run(arguments) => live::run(arguments),
        #[cfg(feature = "live")]
        Verb::Record(arguments) => live::record(arguments),
        Verb::Import(arguments) => import::import(arguments),
        Verb::Replay(arguments) => replay::replay(arguments),
        #[cfg(feature = "serve")]
        Verb::Serve(arguments) => serve::serve(arguments),
        Verb::Precondition(arguments) => precondition::precondition(arguments),
        Verb::Experiment(arguments) => experiment::experiment(arguments),
        Verb::Sweep(arguments) => sweep::sweep(arguments),
        Verb::Contexts(arguments) => contexts::contexts(arguments),
        Verb::Report(arguments) => report::report(arguments),
        Verb::Compare(arguments) => compare::compare(arguments),
        Verb::Export(arguments) => export::export(arguments),
        Verb::Schemes(arguments) => lists::schemes(arguments),
        Verb::Devices(arguments) => lists::devices(arguments),
        Verb::Coverage(arguments) => coverage::coverage(arguments),
        Verb::Workloads(arguments) => workloads::workloads(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(error) = failure.error {
                complain(&error);
            }
            ExitCode::from(failure.status)
        }
    }
}

#[expect(
    clippy::print_stderr,
    reason = "the one place where the command complains"
)]
fn complain(error: &anyhow::Error) {
    let mut words = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        // Most of our errors tell their cause themselves.
        if !words.contains(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    eprintln!("anabranch: {words}");
}
