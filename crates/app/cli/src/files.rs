//! The table of files that each verb reads and writes; it is checked before any verb begins.

use std::path::{Path, PathBuf};

use anabranch_compare::{ComparisonOptions, Files};
use anabranch_sweep::{Grid, local_traces};

use crate::{
    answer::AnswerArguments,
    arguments::{PublishArguments, Verb},
    experiment,
    export::ExportArguments,
    output::is_standard_output,
    report::ReportArguments,
    sweep::SweepArguments,
};

/// Characters that separate files in a scheme's text, as in `manual:rules=a.toml,sepbit`.
const PARTS: [char; 3] = [',', ':', '='];

impl Verb {
    /// The files that a verb reads and writes.
    pub fn files(&self) -> Files {
        let files = Files::default();
        match self {
            #[cfg(feature = "live")]
            Verb::Run(run) => {
                let files = run.comparison.publish.files(files);
                of_comparison(&run.comparison.options, files)
                    .reads(profile_files(&run.drive.profiles))
                    .keeps("--trace", run.trace_file())
                    .keeps("--log", &run.log)
            }
            #[cfg(feature = "live")]
            Verb::Record(record) => files
                .prints(printed("--json", record.json))
                .reads([&record.device])
                .writes("--trace", [&record.output]),
            #[cfg(feature = "live")]
            Verb::Watch(watch) => of_watch(watch, files),
            Verb::Import(import) => files
                .prints(printed("--json", import.json))
                .reads(local_traces(&import.files).unwrap_or_default())
                .writes("-o", [&import.output]),
            Verb::Replay(replay) => {
                let options = &replay.options;
                of_comparison(&options.comparison, replay.publish.files(files))
                    .reads(profile_files(&options.drive.profiles))
                    .reads(&replay.traces)
                    .reads(&options.drive_file)
            }
            Verb::Precondition(aged) => files
                .prints(printed("--json", aged.json))
                .reads(profile_files(&aged.drive.profiles))
                .writes("-o", [&aged.output]),
            Verb::Emmc(emmc) => of_emmc(emmc, files),
            Verb::Experiment(asked) => files
                .prints(printed("--json", asked.json))
                .reads(experiment::inputs(asked))
                .writes("-o", &asked.output)
                .writes("--html", &asked.html)
                .keeps("--document", &asked.document),
            #[cfg(feature = "serve")]
            Verb::Serve(serve) => of_serve(serve, files),
            #[cfg(feature = "doctor")]
            Verb::Doctor(doctor) => of_doctor(doctor, files),
            #[cfg(feature = "calibrate")]
            Verb::Calibrate(calibrate) => of_calibrate(calibrate, files),
            #[cfg(feature = "steer")]
            Verb::Steer(steer) => of_steer(steer, files),
            #[cfg(feature = "steer")]
            Verb::Top(top) => files
                .prints(printed("--json", top.json))
                .writes("-o", &top.output),
            #[cfg(feature = "steer")]
            Verb::Waf(waf) => of_waf(waf, files),
            Verb::Sweep(sweep) => of_sweep(sweep, files),
            Verb::Contexts(contexts) => contexts.answer.files(files).reads([&contexts.trace]),
            Verb::Report(report) => of_report(report, files),
            Verb::Export(export) => of_export(export, files),
            Verb::Diff(diff) => diff.answer.files(files).reads([&diff.before, &diff.after]),
            Verb::Coverage(coverage) => coverage.answer.files(files).reads(&coverage.traces),
            Verb::Schemes(answer) | Verb::Workloads(answer) => answer.files(files),
            Verb::Devices(devices) => devices
                .answer
                .files(files)
                .reads(profile_files(&devices.show)),
            // Pages that a packager asked for.
            Verb::Completions(_) | Verb::Man(_) => files,
        }
    }

    /// Turns a result file that is standard output into `--json`, so that nothing else is printed
    /// there.
    pub fn route_standard_output(&mut self) {
        let (output, json) = match self {
            #[cfg(feature = "live")]
            Verb::Run(run) => of_publish(&mut run.comparison.publish),
            Verb::Replay(replay) => of_publish(&mut replay.publish),
            Verb::Experiment(asked) => (&mut asked.output, &mut asked.json),
            #[cfg(feature = "serve")]
            Verb::Serve(serve) => (&mut serve.output, &mut serve.json),
            #[cfg(feature = "steer")]
            Verb::Steer(steer) => (&mut steer.output, &mut steer.json),
            #[cfg(feature = "steer")]
            Verb::Top(top) => (&mut top.output, &mut top.json),
            #[cfg(feature = "steer")]
            Verb::Waf(waf) => (&mut waf.output, &mut waf.json),
            #[cfg(feature = "doctor")]
            Verb::Doctor(doctor) => (&mut doctor.output, &mut doctor.json),
            #[cfg(feature = "live")]
            Verb::Watch(watch) => (&mut watch.output, &mut watch.json),
            Verb::Emmc(emmc) => emmc.answer.outputs(),
            Verb::Contexts(contexts) => contexts.answer.outputs(),
            Verb::Diff(diff) => diff.answer.outputs(),
            Verb::Coverage(coverage) => coverage.answer.outputs(),
            Verb::Schemes(answer) | Verb::Workloads(answer) => answer.outputs(),
            Verb::Devices(devices) => devices.answer.outputs(),
            _ => return,
        };
        if output.as_deref().is_some_and(is_standard_output) {
            *json = true;
            *output = None;
        }
    }
}

fn printed(option: &'static str, is_given: bool) -> Option<&'static str> {
    is_given.then_some(option)
}

#[cfg(feature = "serve")]
fn of_serve(serve: &crate::serve::ServeArguments, files: Files) -> Files {
    files
        .prints(printed("--json", serve.json))
        .reads(profile_files(&serve.drive.profiles))
        .reads(&serve.drive_file)
        .reads(&serve.host_secret)
        .reads(&serve.controller_secret)
        .reads(&serve.tls_key)
        .holds("--data", serve.data_file())
        .holds("--state", serve.state_file())
        .writes("-o", &serve.output)
}

fn of_emmc(emmc: &crate::emmc::EmmcArguments, files: Files) -> Files {
    let files = emmc.answer.files(files).reads([&emmc.trace]);
    files.reads(profile_files(&emmc.drive.profiles))
}

#[cfg(feature = "doctor")]
fn of_doctor(doctor: &crate::doctor::DoctorArguments, files: Files) -> Files {
    files
        .prints(printed("--json", doctor.json))
        .reads(&doctor.device)
        .writes("-o", &doctor.output)
}

#[cfg(feature = "calibrate")]
fn of_calibrate(calibrate: &crate::calibrate::CalibrateArguments, files: Files) -> Files {
    files
        .prints(printed("--json", calibrate.json))
        .reads(calibrate.device_file())
        .writes("-o", [&calibrate.output])
}

#[cfg(feature = "steer")]
fn of_waf(waf: &crate::waf::WafArguments, files: Files) -> Files {
    files
        .prints(printed("--json", waf.json))
        .reads(waf.inputs())
        .writes("-o", &waf.output)
}

#[cfg(feature = "steer")]
fn of_steer(steer: &crate::steer::SteerArguments, files: Files) -> Files {
    files
        .prints(printed("--json", steer.json))
        .reads(&steer.device)
        .reads(steer.scheme.split(PARTS))
        .writes("-o", &steer.output)
        .writes("--html", &steer.html)
        .keeps("--lifetimes", &steer.lifetimes)
}

#[cfg(feature = "live")]
fn of_watch(watch: &crate::watch::WatchArguments, files: Files) -> Files {
    files
        .prints(printed("--json", watch.json))
        .reads(&watch.devices)
        .reads(profile_files(&watch.drive.profiles))
        .reads(watch.schemes.iter().flat_map(|list| list.split(PARTS)))
        .writes("-o", &watch.output)
        .keeps("--state", &watch.state)
        .fills("--traces", &watch.traces)
}

fn of_report(report: &ReportArguments, files: Files) -> Files {
    files
        .prints(printed("--json", report.json))
        .reads(report.results.iter().flat_map(|path| of_result(path)))
        .writes("-o", [&report.output])
}

fn of_export(export: &ExportArguments, files: Files) -> Files {
    let options = &export.options;
    let files = files
        .prints(printed("--json", export.json))
        .reads([&export.source])
        .reads(&options.trace)
        .reads(&options.lifetimes)
        .reads(options.scheme.iter().flat_map(|scheme| scheme.split(PARTS)))
        .reads(profile_files(&options.drive.profiles));
    if options.is_one_file() {
        files.writes("-o", [&export.output])
    } else {
        files.fills("-o", [&export.output])
    }
}

/// Adds the files of a sweep, whose rows go into two directories of its own.
fn of_sweep(sweep: &SweepArguments, files: Files) -> Files {
    let Some(grid) = &sweep.grid else {
        return files;
    };
    let text = anabranch_compare::small_file::settings(grid).unwrap_or_default();
    // What is wrong with the grid is told by whoever sweeps.
    let known = Grid::parse("", &text).ok();
    let traces = known
        .as_ref()
        .and_then(|grid| local_traces(&grid.traces).ok());
    let schemes = known.iter().flat_map(|grid| &grid.schemes);
    files
        .reads([grid])
        .reads(traces.unwrap_or_default())
        .reads(schemes.flat_map(|scheme| scheme.split(PARTS)))
        .fills("-o", anabranch_sweep::directories(&sweep.output))
}

impl AnswerArguments {
    fn outputs(&mut self) -> (&mut Option<PathBuf>, &mut bool) {
        (&mut self.output, &mut self.json)
    }

    fn files(&self, files: Files) -> Files {
        files
            .prints(printed("--json", self.json))
            .writes("-o", &self.output)
    }
}

impl PublishArguments {
    fn files(&self, files: Files) -> Files {
        files
            .prints(printed("--json", self.json))
            .writes("-o", &self.output)
            .writes("--html", &self.html)
    }
}

fn of_publish(arguments: &mut PublishArguments) -> (&mut Option<PathBuf>, &mut bool) {
    (&mut arguments.output, &mut arguments.json)
}

fn of_comparison(options: &ComparisonOptions, files: Files) -> Files {
    files
        .reads(options.schemes.iter().flat_map(|list| list.split(PARTS)))
        .keeps("--lifetimes", &options.lifetimes)
}

/// The profiles that are files.
fn profile_files<'a>(
    profiles: impl IntoIterator<Item = &'a String>,
) -> impl Iterator<Item = &'a Path> {
    let paths = profiles.into_iter().map(Path::new);
    paths.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "toml")
    })
}

/// The file of a result, or the files of a sweep's directory.
fn of_result(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        anabranch_sweep::files(path).unwrap_or_default()
    } else {
        vec![path.to_owned()]
    }
}
