use anabranch_ssd::{Config, profile::Profile};
use anabranch_trace::{Io, Operation, Rate, Sampled};

use super::*;

/// The demo's drive with one page of so many.
fn drive(one_of: u32) -> Config {
    let profile = Profile::parse("demo", Profile::text("demo").unwrap()).unwrap();
    profile.resolve_sampled("demo", one_of).unwrap()
}

fn sample(one_of: u32) -> Sample {
    Sample::new(Sampled {
        rate: Rate::one_of(one_of).unwrap(),
        hash: 3,
        page_bytes: 4096,
    })
}

/// Writes and discards of a few contexts, in runs and single pages.
fn load() -> Vec<Io> {
    let mut state = 7_u64;
    let mut drawn = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    };
    let mut ios = Vec::new();
    for _ in 0..20_000 {
        let (first, pages) = (drawn(30_000), 1 + drawn(64));
        ios.push(Io {
            context: ContextId(1 + drawn(5) as u32),
            operation: match drawn(8) {
                0 => Operation::Discard,
                _ => Operation::Write,
            },
            ..Io::write(first * 4096, pages * 4096)
        });
    }
    ios
}

fn survey(one_of: u32, ios: &[Io]) -> Survey {
    let mut survey = Survey::new(&drive(one_of));
    let sample = sample(one_of);
    ios.iter()
        .filter_map(|io| sample.apply(io))
        .for_each(|io| survey.apply(&io));
    survey
}

#[test]
fn a_survey_that_was_kept_goes_on_as_one_that_never_stopped() {
    let ios = load();
    let (before, after) = ios.split_at(ios.len() / 2);
    let whole = survey(8, &ios);
    let kept = survey(8, before).kept();
    let mut resumed = Survey::resume(&drive(8), &kept, &sample(8));
    assert_eq!(resumed.kept(), kept);
    let same = sample(8);
    after
        .iter()
        .filter_map(|io| same.apply(io))
        .for_each(|io| resumed.apply(&io));
    assert_eq!(resumed.kept(), whole.kept());
}

#[test]
fn at_a_coarser_rate_what_lives_is_the_coarser_samples() {
    let ios = load();
    let (fine, coarse) = (survey(4, &ios), survey(16, &ios));
    let resumed = Survey::resume(&drive(16), &fine.kept(), &sample(16));
    // Who wrote each page that lives, whenever: times of a sample are its own count of writes.
    let owners = |survey: &Survey| {
        let mut pages: Vec<(u64, u32)> = Vec::new();
        for run in survey.kept().alive {
            let first = run.offset_bytes / (16 * 4096);
            let count = run.length_bytes / (16 * 4096);
            pages.extend((first..first + count).map(|page| (page, run.context)));
        }
        pages.sort_unstable();
        pages
    };
    assert_eq!(owners(&resumed), owners(&coarse));
    let bytes = |survey: &Survey| -> u64 {
        let contexts = survey.kept().contexts;
        contexts.iter().map(|context| context.written_bytes).sum()
    };
    let (told, fine) = (bytes(&resumed) as f64, bytes(&fine) as f64);
    assert!((told / fine - 1.0).abs() < 1e-3, "{told} {fine}");
}
