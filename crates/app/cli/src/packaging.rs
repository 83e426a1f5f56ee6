//! The files that packages carry besides the command, made by the command itself: completions and
//! manual pages.

use std::{fs, io, path::PathBuf};

use anabranch_placement::SCHEMES;
use anabranch_ssd::profile::Profile;
use clap::{
    Args, Command,
    builder::{PossibleValuesParser, Resettable},
};
use clap_complete::Shell;

use crate::{
    error::{CommandError, Result},
    experiment,
    output::print,
    scenario::{Scale, all},
};

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell that is to complete
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManArguments {
    /// The directory to write the pages to; it is made if it is not there
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
}

/// The command as users see it: without the verbs for packagers.
fn shown(command: Command) -> Command {
    // A page is read elsewhere: it must not speak of this machine's kernel.
    let whole = command.long_version(env!("CARGO_PKG_VERSION"));
    whole.disable_help_subcommand(true)
}

/// The command whose options complete to the schemes, profiles, workloads and experiments there are. Users may give
/// others as well, so that it completes and never parses.
fn with_values(command: Command) -> Command {
    // The parser wants names that live as long as the process, which ends here.
    let kept = |names: Vec<String>| -> Vec<&'static str> {
        names.into_iter().map(|name| &*name.leak()).collect()
    };
    let schemes: Vec<&str> = SCHEMES.iter().map(|one| one.name).collect();
    let profiles: Vec<&str> = Profile::names().collect();
    let workloads = all(Scale::Quick).unwrap_or_default();
    let workloads = kept(workloads.into_iter().map(|one| one.name).collect());
    let values = [
        ("schemes", schemes.clone()),
        ("scheme", schemes),
        ("profiles", profiles.clone()),
        ("show", profiles),
        ("workload", workloads),
        ("names", kept(experiment::names())),
    ];
    command.mut_subcommands(|verb| {
        verb.mut_args(|option| {
            let known = values
                .iter()
                .find(|(id, _)| option.get_id().as_str() == *id);
            match known.filter(|(_, values)| !values.is_empty()) {
                None => option,
                Some((_, values)) => option
                    .default_value(Resettable::Reset)
                    .value_parser(PossibleValuesParser::new(values.iter().copied())),
            }
        })
    })
}

/// Prints the completions for a shell.
pub fn completions(arguments: &CompletionsArguments, command: Command) -> Result {
    let mut text = Vec::new();
    let mut command = with_values(shown(command));
    clap_complete::generate(arguments.shell, &mut command, "anabranch", &mut text);
    print(&String::from_utf8_lossy(&text))
}

/// Writes a manual page for the command and one for each verb.
pub fn man(arguments: &ManArguments, command: Command) -> Result {
    let directory = &arguments.directory;
    let write = || -> io::Result<()> {
        fs::create_dir_all(directory)?;
        clap_mangen::generate_to(shown(command), directory)?;
        for page in fs::read_dir(directory)? {
            let path = page?.path();
            // Others' pages may lie there as well.
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("anabranch") && name.ends_with(".1") {
                fs::write(&path, with_examples(&fs::read_to_string(&path)?))?;
            }
        }
        Ok(())
    };
    write().map_err(|error| {
        let words = format!("manual pages in {}: {error}", directory.display());
        CommandError::work(anyhow::anyhow!("{words}"))
    })
}

/// A manual page whose examples stay as they are: commands, which are indented, in lines of their own.
fn with_examples(page: &str) -> String {
    let Some((before, examples)) = page.split_once(".SH EXTRA\n") else {
        return page.to_owned();
    };
    let heading = if examples.starts_with("Example") {
        "EXAMPLES"
    } else {
        "NOTES"
    };
    let mut text = format!("{before}.SH {heading}\n");
    let mut is_command = false;
    for line in examples.lines() {
        let is_next = line.starts_with(' ');
        match (is_command, is_next) {
            (false, true) => text += ".nf\n",
            (true, false) => text += ".fi\n",
            (false, false) => text += ".br\n",
            (true, true) => {}
        }
        is_command = is_next;
        text += line;
        text.push('\n');
    }
    text
}
