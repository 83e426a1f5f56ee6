//! `anabranch export`: advice that leaves the house, each piece fed back before it is given; and
//! traces in the forms of others.

mod advice;
mod arguments;
mod by_context;
mod check;
mod fio;
mod foreign;
mod names;
mod namespaces;
mod ranges;
mod rules;
mod source;
mod survey;

use std::{fs, io::Write as _, path::Path};

use anabranch_placement::LifetimeProfile;
use anabranch_trace::WholeFile;

use crate::{
    comparison::{print, write_json},
    failure::{Failure, Outcome},
};
use advice::Advice;
pub use arguments::{EXAMPLE, ExportArguments, Target};
use source::{Given, Plan};

/// Writes what is asked for: advice into a directory, telling what each piece is worth, or a trace
/// into a file.
pub fn export(arguments: &ExportArguments) -> Outcome {
    match foreign::asked(arguments)? {
        Some(form) => foreign::write(arguments, form),
        None => advise(arguments),
    }
}

fn advise(arguments: &ExportArguments) -> Outcome {
    let advice = match source::given(arguments)? {
        Given::Lifetimes(profile) => from_lifetimes(arguments, &profile)?,
        Given::Plan(plan) => from_trace(arguments, &plan)?,
    };
    let directory = &arguments.output;
    fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error))?;
    for file in &advice.files {
        write(&directory.join(&file.name), &file.text)?;
    }
    let told = advice.as_json();
    write_json(&directory.join("export.json"), &told)?;
    match arguments.json {
        true => print(&format!("{told:#}\n")),
        false => print(&advice.as_text(directory)),
    }
}

/// All targets that are asked for, over one reading of the trace.
fn from_trace(arguments: &ExportArguments, plan: &Plan) -> Outcome<Advice> {
    let survey = survey::survey(plan)?;
    let mut advice = Advice::new(plan, &survey);
    for target in &arguments.targets {
        match target {
            Target::Rules => names::by_name(plan, &survey, &mut advice)?,
            Target::Hints => names::as_hints(plan, &survey, &mut advice)?,
            Target::Fdp => by_context::by_context(plan, &survey, &mut advice)?,
            Target::Fio => {
                ranges::by_address(plan, &survey, &mut advice)?;
                fio::replay(plan, &mut advice)?;
            }
            Target::Rocksdb => namespaces::rocksdb(plan, &survey, &mut advice)?,
            Target::Cassandra => namespaces::cassandra(plan, &survey, &mut advice)?,
            // A trace's form is alone, and was written before.
            Target::Trace(_) => {}
        }
    }
    Ok(advice)
}

/// Lifetimes alone tell of contexts, and of nothing else.
fn from_lifetimes(arguments: &ExportArguments, profile: &LifetimeProfile) -> Outcome<Advice> {
    if arguments.targets != [Target::Fdp] {
        return Err(Failure::say(
            "a lifetime profile tells of contexts alone: export it `--to fdp`, or give the trace, \
             and the profile with --profile",
        ));
    }
    let streams = arguments.drive.streams.first().copied().unwrap_or(8);
    Ok(Advice::unchecked(by_context::of_lifetimes(
        profile, streams,
    )))
}

fn write(path: &Path, text: &str) -> Outcome {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory).map_err(|error| cannot_write(directory, &error))?;
    }
    let mut file = WholeFile::create(path)?;
    file.write_all(text.as_bytes())
        .map_err(|error| cannot_write(path, &error))?;
    Ok(file.finish()?)
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    Failure::work(anyhow::anyhow!("cannot write {}: {error}", path.display()))
}
