//! `steer --collect host`: whether the host can collect on a drive, and whether that pays.

use anabranch_collect::{
    Collector, Contest, FEWEST_HANDLES, FEWEST_SPARE_UNITS, Moved, can_pay, model_of,
};
use anabranch_nvme_host::Written;
use anabranch_placement::{Choice, Collection, DeviceHalf, Policy, SchemeSpec, Site};
use anabranch_report::{HostCollected, bytes};
use anabranch_ssd::{Config, Keeps};
use anabranch_steer::{Collecting, Counters, Directive, PAGE_BYTES, Placer, Server, SteeredDrive};
use anabranch_trace::Rate;

use super::{
    Plan,
    arguments::{Collect, Metadata, SPARE, Shadow as WantedShadow, SteerArguments},
    kept_models::{HostHeader, KeptHost, KeptModels},
    report::small,
    shadow::{self, Counted},
};
use crate::{
    error::{CommandError, Result},
    say,
};

/// The suffix of a scheme whose copies the host makes.
const SUFFIX: &str = "+host";

/// A host that collects on a drive in use, beside the models of the host half alone.
pub struct HostCollects {
    spec: SchemeSpec,
    /// The drive as the host takes it to be.
    drive: Config,
    /// None where the host collects whatever it costs, and once it has given up.
    contest: Option<Contest>,
    given_up_at_bytes: Option<u64>,
    memory_bytes: u64,
}

/// The scheme of `--scheme` with `--collect host`: the whole of it, whose copies the host makes.
///
/// # Errors
/// When options contradict each other, and where the scheme has settings that a drive in use has not.
pub fn collected_spec(arguments: &SteerArguments) -> Result<Option<String>> {
    if arguments.collect == Collect::Drive {
        return Ok(None);
    }
    let wrong = |words: &str| Err(CommandError::wrong_use(format!("--collect host: {words}")));
    if arguments.metadata == Some(Metadata::Apart) {
        return wrong("metadata goes where the scheme says: leave out `--metadata apart`");
    }
    if arguments.compare_every.is_some() {
        return wrong(
            "a period in one handle would undo what the host has collected: leave out `--compare-every`; the models tell \
             what collecting saves",
        );
    }
    if arguments.shadow == WantedShadow::Off {
        return wrong("the models tell whether it pays: leave out `--shadow off`");
    }
    let text = &arguments.scheme;
    let (name, settings) = text
        .split_once(':')
        .map_or((text.as_str(), None), |(name, settings)| {
            (name, Some(settings))
        });
    let name = name.strip_suffix(SUFFIX).unwrap_or(name);
    let settings = settings.map_or_else(String::new, |settings| format!(":{settings}"));
    Ok(Some(format!("{name}{SUFFIX}{settings}")))
}

/// Refuses the disturbances of a replay on a drive in use.
///
/// # Errors
/// When there is one.
fn settings(spec: &SchemeSpec) -> Result<Collection> {
    let settings = spec.collection().cloned().unwrap_or_default();
    let known = Collection {
        spare: settings.spare,
        copies: settings.copies,
        choice: settings.choice,
        ..Collection::default()
    };
    if settings == known {
        return Ok(settings);
    }
    Err(CommandError::wrong_use(format!(
        "{spec}: of a drive in use `host-spare`, `host-copies` and `host-collects` can be set; the other settings disturb \
         replays"
    )))
}

/// A sentence on the reason that no host can collect on a drive, and what would help; nothing where one can.
fn obstacle(arguments: &SteerArguments, drive: &SteeredDrive) -> Option<String> {
    if drive.directive() != Directive::Placement {
        return Some(
            "it takes streams, whose units a host can neither see nor end: a drive with Flexible Data Placement would do"
                .to_owned(),
        );
    }
    if drive.unit_bytes().is_none() {
        return Some(
            "it does not tell the size of its reclaim unit: a firmware that fills in the FDP configuration would do"
                .to_owned(),
        );
    }
    if drive.reclaim_groups() > 1 {
        return Some(format!(
            "it has {} reclaim groups, and the model has one: a configuration of one group would do",
            drive.reclaim_groups()
        ));
    }
    if arguments.spare.is_none() {
        return Some(
            "nobody told what it keeps spare: `--spare` with the maker's figure, or what `anabranch calibrate` finds, would do"
                .to_owned(),
        );
    }
    drive.is_counted_with_others().then(|| {
        "other namespaces write to its units, too, and its log counts theirs with ours: a drive with this namespace alone \
         would do"
            .to_owned()
    })
}

/// A host that collects, or the reason that none can.
pub enum Start {
    Host(Box<HostCollects>, Box<Placer>),
    /// The drive goes on collecting, for this reason.
    Drive(String),
}

/// Makes the placer of a host that collects, by the model that was kept if there is one.
///
/// # Errors
/// When settings are wrong, or what was kept is damaged.
pub fn start(
    arguments: &SteerArguments,
    plan: &Plan,
    drive: &SteeredDrive,
    models: &KeptModels,
) -> Result<Start> {
    let spec = &plan.spec;
    let settings = settings(spec)?;
    if let Some(why) = obstacle(arguments, drive) {
        return Ok(Start::Drive(why));
    }
    let spare = arguments.spare.unwrap_or(SPARE);
    let sold = shadow::model(drive, plan.streams, spare, Rate::WHOLE).config;
    let model = match model_of(spec, &settings, &sold) {
        Ok(model) => model,
        Err(why) => return Ok(Start::Drive(why.to_string())),
    };
    let is_rehearsed = settings.choice != Choice::Always;
    if is_rehearsed && !can_pay(&sold) {
        return Ok(Start::Drive(format!(
            "it has {} spare units of {}, and {} handles, and collecting by the host paid in replays from {FEWEST_SPARE_UNITS} \
             and {FEWEST_HANDLES} on: a smaller namespace would leave more spare; the setting `host-collects=always` collects \
             nevertheless",
            sold.spare_units(),
            bytes(sold.unit_bytes()),
            sold.handles()
        )));
    }
    let mut policy = spec.policy(&model, None).map_err(CommandError::usage)?;
    let collecting = match kept(spec, drive, models)? {
        Some(bytes) => {
            let relocation = policy.relocation_mut();
            let kept = Collecting::load(&mut &bytes[..], &model, &sold, relocation);
            kept.map_err(CommandError::usage)?
        }
        None => None,
    };
    let collecting = match collecting {
        Some(collecting) => collecting,
        None => {
            let collector =
                Collector::new(model.clone(), &sold, Keeps::Units, policy.relocation_mut());
            // What a drive holds it does not tell: a file system that is made there discards it all first.
            Collecting::new(collector.map_err(CommandError::usage)?, false)
        }
    };
    let host = HostCollects {
        spec: spec.clone(),
        memory_bytes: memory_bytes(&collecting, &policy),
        contest: is_rehearsed.then(|| Contest::new(&sold)),
        drive: sold,
        given_up_at_bytes: None,
    };
    let placer = Placer::collecting(policy, collecting);
    Ok(Start::Host(Box::new(host), Box::new(placer)))
}

/// Bytes of memory of a model and its scheme.
fn memory_bytes(collecting: &Collecting, policy: &Policy) -> u64 {
    collecting.memory_bytes() + policy.host().memory_bytes() as u64
}

/// The model that was kept, if it is of this scheme and nobody has written to the drive since.
fn kept(spec: &SchemeSpec, drive: &SteeredDrive, models: &KeptModels) -> Result<Option<Vec<u8>>> {
    let Some((header, bytes)) = models.take_host()? else {
        return Ok(None);
    };
    if Some(&header) == header_of(spec, drive).as_ref() {
        return Ok(Some(bytes));
    }
    say::print_note(
        "the drive was written past the command, or the host collected by another scheme: its model begins anew",
    );
    Ok(None)
}

/// The line that names a model; nothing where the drive does not count what hosts write.
fn header_of(spec: &SchemeSpec, drive: &SteeredDrive) -> Option<HostHeader> {
    Some(HostHeader {
        scheme: spec.name().to_owned(),
        drive_host_bytes: small(drive.written()?.host_bytes),
    })
}

impl HostCollects {
    /// The model, to be kept, once the server has stopped; nothing where the host has given up.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn kept(&self, server: &Server) -> Result<Option<KeptHost>> {
        let mut bytes = Vec::new();
        let saved = server.placer().save_model(&mut bytes);
        let is_saved = saved.map_err(CommandError::work)?;
        let header = header_of(&self.spec, server.drive()).filter(|_| is_saved);
        Ok(header.map(|header| (header, bytes)))
    }

    /// Memory that it takes with its scheme, in a sentence, before it begins.
    pub fn cost(&self) -> String {
        let pages = f64::from(self.drive.logical_pages.max(1));
        format!(
            "the host collects: its model of the drive and the scheme hold {} of memory, {:.2} bytes for each page of 4 KiB",
            bytes(self.memory_bytes),
            self.memory_bytes as f64 / pages
        )
    }

    /// Compares collecting with the host half alone once in a while, by the drive's log and the models. Answers with a
    /// sentence when it leaves the collecting to the drive.
    ///
    /// # Errors
    /// When the host half cannot be built.
    pub fn judge(
        &mut self,
        server: &Server,
        drive: Option<Written>,
        half: Option<&Counted>,
    ) -> Result<Option<String>> {
        let (Some(contest), Some(drive), Some(half)) = (&mut self.contest, drive, half) else {
            return Ok(None);
        };
        let counters = server.counters();
        let ours = moved(counters, drive);
        let half = Moved {
            host_pages: half.steered.host_pages,
            copied_pages: half.steered.copied_pages,
        };
        if !contest.is_due(ours.host_pages) || !contest.is_lost(ours, half) {
            return Ok(None);
        }
        self.contest = None;
        self.given_up_at_bytes = Some(user_bytes(counters));
        let kind = shadow::relocation(server.drive());
        let halves = self
            .spec
            .with_relocation(kind)
            .build(&Site::new(&self.drive, DeviceHalf::Relocation(kind)))
            .map_err(CommandError::usage)?;
        server.placer().give_up_collecting(halves.into_assign());
        Ok(Some(format!(
            "the host leaves the collecting to the drive: it moved {}, where the host half alone would have moved {} by the \
             models",
            bytes(ours.copied_pages * PAGE_BYTES),
            bytes(half.copied_pages * PAGE_BYTES)
        )))
    }

    /// The counts of this moment.
    pub fn counts(
        &self,
        server: &Server,
        drive: Option<Written>,
        half: Option<&Counted>,
    ) -> HostCollected {
        let counters = server.counters();
        let written = user_bytes(counters);
        let rewritten = counters.all_rewritten_bytes();
        let media = drive.map(|drive| small(drive.media_bytes));
        let placer = server.placer();
        let model = placer.model();
        let waf = media
            .filter(|_| written > 0)
            .map(|media| media as f64 / written as f64);
        HostCollected {
            rewritten_bytes: rewritten,
            copied_bytes: drive.map(copied_bytes),
            warranty_bytes: written + rewritten,
            waf,
            half_waf: half.and_then(|half| half.steered.waf),
            unknown_bytes: model
                .filter(|model| !model.is_known())
                .map_or(0, |model| model.unknown_pages() * PAGE_BYTES),
            left_bytes: model.map_or(0, |model| model.left_pages() * PAGE_BYTES),
            ended_units: counters.ended_units.get(),
            failed_rewrites: counters.failed_rewrites.get(),
            waits: counters.waits.get(),
            given_up_at_bytes: self.given_up_at_bytes,
            memory_bytes: self.memory_bytes,
            words: String::new(),
        }
        .with_words()
    }
}

/// Bytes that the block device's users wrote.
fn user_bytes(counters: &Counters) -> u64 {
    counters.all_written_bytes() + counters.zeroed_bytes.get()
}

/// Bytes that the drive copied by itself.
fn copied_bytes(drive: Written) -> u64 {
    small(drive.media_bytes.saturating_sub(drive.host_bytes))
}

/// Pages that users wrote, and those that host and drive moved.
fn moved(counters: &Counters, drive: Written) -> Moved {
    Moved {
        host_pages: user_bytes(counters) / PAGE_BYTES,
        copied_pages: (counters.all_rewritten_bytes() + copied_bytes(drive)) / PAGE_BYTES,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec_of(words: &[&str]) -> Result<Option<String>> {
        let all = ["steer", "--device=/dev/ng0n1", "--collect=host"];
        collected_spec(&SteerArguments::of(all.iter().chain(words)))
    }

    #[test]
    fn the_scheme_is_the_whole_one_that_the_host_collects_by() {
        let of = |scheme: &str| spec_of(&["--scheme", scheme]).unwrap().unwrap();
        assert_eq!(spec_of(&[]).unwrap().unwrap(), "anabranch+host");
        assert_eq!(of("sepbit"), "sepbit+host");
        assert_eq!(
            of("anabranch+host:host-spare=2"),
            "anabranch+host:host-spare=2"
        );
        assert_eq!(of("pcstream:alpha=0.5"), "pcstream+host:alpha=0.5");
    }

    #[test]
    fn what_would_undo_it_is_refused_with_a_remedy() {
        let refused = |words: &[&str]| {
            let error = spec_of(words).unwrap_err().error.unwrap();
            error.to_string()
        };
        assert!(refused(&["--shadow", "off"]).contains("leave out `--shadow off`"));
        assert!(refused(&["--metadata", "apart"]).contains("leave out `--metadata apart`"));
        assert!(refused(&["--compare-every", "1d"]).contains("`--compare-every`"));
    }

    #[test]
    fn disturbances_of_replays_are_none_of_a_drive_in_use() {
        let of = |text: &str| settings(&text.parse().unwrap());
        assert_eq!(of("sepbit+host:host-spare=3").unwrap().spare, 3);
        assert!(of("sepbit+host:host-collects=always").is_ok());
        let words = of("sepbit+host:host-jitter=3").unwrap_err().error.unwrap();
        assert!(words.to_string().contains("disturb replays"), "{words}");
    }

    #[test]
    fn model_and_scheme_take_ten_and_a_half_bytes_a_page_of_a_drive_of_64_gib() {
        let pages = 1 << 24;
        let drive = Config {
            host_streams: 8,
            ..Config::new(pages, 6144, 2922)
        };
        let spec: SchemeSpec = "anabranch+host".parse().unwrap();
        let model = model_of(&spec, spec.collection().unwrap(), &drive).unwrap();
        let mut policy = spec.policy(&model, None).unwrap();
        let collector = Collector::new(model, &drive, Keeps::Units, policy.relocation_mut());
        let collecting = Collecting::new(collector.unwrap(), false);
        let each = memory_bytes(&collecting, &policy) as f64 / f64::from(pages);
        assert!((10.0..=10.5).contains(&each), "{each}");
    }

    #[test]
    fn both_kinds_of_copies_are_weighed_together() {
        let counters = Counters::default();
        let drive = Written {
            host_bytes: 10 * u128::from(PAGE_BYTES),
            media_bytes: 13 * u128::from(PAGE_BYTES),
            grain_bytes: 1,
        };
        assert_eq!(moved(&counters, drive).copied_pages, 3);
    }
}
