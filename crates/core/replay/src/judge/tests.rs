use serde_json::{Value, json};

use anabranch_trace::Capture;

use super::*;
use crate::{
    endurance::{Endurance, Limit, Stands},
    outcome::WholeDrive,
    ways::{OtherWays, WafAtSpare},
};

/// A scheme of a settled run that wrote 10 GiB, with its WAF over the last capacity.
fn scheme(name: &str, waf_window: f64) -> Value {
    json!({
        "name": name, "parameters": {}, "streams_used": 1, "host_page_bytes": 10_u64 << 30,
        "media_bytes": 0, "copied_bytes": 0, "erased_bytes": 0, "erased_units": 9,
        "sealed_units": 0, "discarded_bytes": 0, "mapped_bytes": 1 << 30, "peak_mapped_bytes": 1 << 30, "waf": 1.2,
        "waf_window": waf_window, "waf_second_half": null, "lifetime_vs_ordinary": null,
        "steady": true, "memory_bytes": 0, "series": [], "drive_half": half(name),
        "streams": [
            { "id": 0, "internal": false, "host_page_bytes": 1, "copied_bytes": 0, "media_bytes": 1, "erased_bytes": 0 },
            { "id": 1, "internal": false, "host_page_bytes": 1, "copied_bytes": 0, "media_bytes": 1, "erased_bytes": 0 },
            { "id": 8, "internal": true, "host_page_bytes": 0, "copied_bytes": 1, "media_bytes": 1, "erased_bytes": 0 },
        ],
    })
}

/// Placement of the copies of a scheme with that name.
fn half(name: &str) -> &str {
    match name.split_once('+') {
        Some((_, half)) => half,
        None if name == "baseline" => "mixed",
        None => "own",
    }
}

fn outcome(schemes: &[Value]) -> Comparison {
    let result = json!({
        "schema": 3, "config": { "trace": "my app.parquet" }, "seed": 0, "steady": true,
        "steady_reason": "",
        "source": { "records": 0, "write_bytes": 0, "host_page_bytes": 10_u64 << 30, "discarded_bytes": 0,
            "read_bytes": 0, "flushes": 0, "lost_events": 0, "capacities_written": 10.0 },
        "device": { "profile": "", "logical_bytes": 1 << 30, "physical_bytes": 1 << 30,
            "unit_bytes": 1 << 20, "page_bytes": 4096, "physical_units": 1, "host_streams": 8,
            "internal_streams": 8 },
        "schemes": schemes,
    });
    serde_json::from_value(result).unwrap()
}

/// The default comparison: an ordinary drive, one that is sold, firmware and bound.
fn whole(ordinary: f64, sold: f64, firmware: f64, bound: f64) -> Comparison {
    let mut oracle = scheme("oracle", bound);
    oracle["is_bound"] = json!(true);
    outcome(&[
        scheme("baseline", 9.0),
        scheme("baseline+gc", ordinary),
        scheme("anabranch+fdp", sold),
        scheme("anabranch", firmware),
        oracle,
    ])
}

#[test]
fn three_drives_are_answered_in_order_and_the_first_is_the_headline() {
    let verdict = Verdict::of(&whole(1.61, 1.24, 1.1, 1.05));
    assert_eq!(verdict.answer, Answer::WorthIt);
    assert_eq!(
        verdict.headline,
        "Worth it: on a drive that is sold the flash lasts 1.30 times as long as on an ordinary drive, and 61 % of \
         the copies are spared."
    );
    let kinds: Vec<DriveKind> = verdict.drives.iter().map(|one| one.drive).collect();
    assert_eq!(
        kinds,
        [DriveKind::Sold, DriveKind::Firmware, DriveKind::Bound]
    );
    let lives: Vec<String> = verdict
        .drives
        .iter()
        .map(|one| format!("{:.2}", one.life.unwrap()))
        .collect();
    assert_eq!(lives, ["1.30", "1.46", "1.53"]);
    assert_eq!(
        (verdict.before.as_deref(), verdict.best.as_deref()),
        (Some("baseline+gc"), Some("anabranch+fdp"))
    );
    assert!(
        verdict
            .takes
            .contains("2 of its handles, and `anabranch steer --scheme anabranch`"),
        "{}",
        verdict.takes
    );
    assert!(
        verdict.next.ends_with(
            "export 'my app.parquet' --scheme anabranch+fdp --to rules,fdp,fio -o advice"
        ),
        "{}",
        verdict.next
    );
    assert!(verdict.warnings.is_empty() && verdict.is_settled);
}

#[test]
fn the_spare_that_is_as_good_as_streams_is_read_between_two_that_were_measured() {
    let mut result = whole(1.6, 1.25, 1.1, 1.05);
    assert!(Verdict::of(&result).other_ways.is_empty());
    let at = |spare, waf| WafAtSpare { spare, waf };
    result.other_ways = Some(OtherWays {
        spares: vec![at(0.07, 1.6), at(0.2, 1.3), at(0.3, 1.2), at(1.0, 1.1)],
        half_as_full: Some(1.2),
        daily_discards: None,
        no_discards: Some(2.0),
    });
    let ways = Verdict::of(&result).other_ways;
    let told: Vec<String> = ways
        .iter()
        .map(|way| {
            format!(
                "{}: {:.2} {:.2}",
                way.words,
                way.waf.unwrap(),
                way.life.unwrap()
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "as it is, 7 % of spare: 1.60 1.00",
            "25 % of spare in place of 7 %, as good as streams: 1.25 1.28",
            "half as full: 1.20 1.33",
            "without discards: 2.00 0.80",
        ]
    );
    let unreached = |waf| {
        let mut result = whole(1.6, waf, 1.0, 1.0);
        result.other_ways = Some(OtherWays {
            spares: vec![at(0.07, 1.6), at(1.0, 1.1)],
            ..OtherWays::default()
        });
        Verdict::of(&result).other_ways
    };
    let few = unreached(1.05);
    assert_eq!(
        few[1].words,
        "100 % of spare in place of 7 %, not as good as streams"
    );
    // Streams that spare nothing are no goal.
    assert_eq!(unreached(1.7).len(), 1);
}

#[test]
fn a_scaled_drive_is_told_with_what_it_stands_for() {
    let mut result = whole(1.6, 1.25, 1.1, 1.05);
    result.device.profile = "fdp-pm9d3".to_owned();
    result.device.unit_bytes = 7 << 20;
    result.device.scaled = Some(WholeDrive {
        logical_bytes: 1900 << 30,
        unit_bytes: 13 << 30,
    });
    assert_eq!(
        Verdict::of(&result).about,
        "The drive is fdp-pm9d3 at 1/1900 of its size: an erase unit of 7.0 MiB stands for one of 13 GiB."
    );
}

const DAY_BYTES: f64 = 1e12;

/// Returns what a drive of 1 TB stands: five years at a WAF of 1.6 and its size written a day.
fn endured() -> Endurance {
    Endurance {
        limit: Limit::Flash {
            rated_erases: 3000,
            bytes: 1.6 * DAY_BYTES * 365.25 * 5.0,
        },
        logical_bytes: Some(1_000_000_000_000),
        writes_per_day: Some(DAY_BYTES),
        measured_seconds: None,
        page_rounding: 1.0,
        years: Some(2.5),
        price: Some(128.0),
    }
}

#[test]
fn a_drive_whose_pages_are_larger_than_the_writes_stands_as_much_less() {
    let mut result = whole(1.6, 1.25, 1.1, 1.05);
    result.endurance = Some(Endurance {
        page_rounding: 4.0,
        ..endured()
    });
    let verdict = Verdict::of(&result);
    assert_eq!(verdict.stands[0].years, Some(1.25));
    assert_eq!(
        verdict.endurance,
        "Endurance by 3000 rated erases a unit and 4.00 bytes of whole pages for each that is asked for, at 931 GiB a day."
    );
}

#[test]
fn years_follow_from_the_limit_that_is_known_and_from_the_writes_a_day() {
    let mut result = whole(1.6, 1.25, 1.1, 1.05);
    assert!(Verdict::of(&result).stands.is_empty());
    let endurance = endured();
    result.endurance = Some(endurance.clone());
    let verdict = Verdict::of(&result);
    assert_eq!(
        verdict.endurance,
        "Endurance by 3000 rated erases a unit, at 931 GiB a day."
    );
    let figures = |verdict: &Verdict| -> Vec<String> {
        let told = |one: &Stands| {
            format!(
                "{} {:.2} {:.2} {:.2}",
                one.scheme,
                one.years.unwrap(),
                one.drive_writes_per_day.unwrap(),
                one.price_per_year.unwrap()
            )
        };
        verdict.stands.iter().map(told).collect()
    };
    let expected = [
        "baseline+gc 5.00 2.00 25.60",
        "anabranch+fdp 6.40 2.56 20.00",
        "anabranch 7.27 2.91 17.60",
    ];
    assert_eq!(figures(&verdict), expected);
    // A TBW is what the ordinary drive stands.
    let limit = Limit::Host {
        bytes: DAY_BYTES * 365.25 * 5.0,
    };
    result.endurance = Some(Endurance { limit, ..endurance });
    let verdict = Verdict::of(&result);
    assert_eq!(figures(&verdict), expected);
    assert_eq!(
        verdict.endurance,
        "Endurance if an ordinary drive just stands the 1.8 PB of its data sheet, at 931 GiB a day."
    );
    // Another drive than the one of the data sheet was compared.
    if let Some(endurance) = &mut result.endurance {
        endurance.logical_bytes = None;
    }
    let verdict = Verdict::of(&result);
    assert!(verdict.endurance.contains("name its profile with --device"));
    let unknown = |one: &Stands| one.drive_writes_per_day.is_none() && one.years.is_some();
    assert!(verdict.stands.iter().all(unknown));
    // Nor without an ordinary drive beside it.
    let mut alone = result.clone();
    alone.schemes.retain(|scheme| scheme.name != "baseline+gc");
    let alone = Verdict::of(&alone);
    assert!(alone.stands.is_empty() && alone.endurance.is_empty());
    // No answer, no years.
    result.schemes[2].steady = false;
    let open = Verdict::of(&result);
    assert!(open.stands.is_empty() && open.endurance.is_empty());
}

#[test]
fn a_drive_that_mixes_copies_is_not_what_others_are_compared_with() {
    let verdict = Verdict::of(&outcome(&[
        scheme("baseline", 3.4),
        scheme("anabranch+fdp", 1.9),
    ]));
    assert_eq!(
        (verdict.answer, verdict.life, verdict.before),
        (Answer::NotCompared, None, None)
    );
    assert!(
        verdict.headline.contains("`baseline+gc`"),
        "{}",
        verdict.headline
    );
    assert!(verdict.drives.is_empty());
}

#[test]
fn firmware_that_would_pay_does_not_make_a_drive_that_is_sold_worth_it() {
    let verdict = Verdict::of(&whole(1.65, 1.63, 1.2, 1.1));
    assert_eq!(verdict.answer, Answer::NotWorthIt);
    assert!(
        verdict
            .headline
            .starts_with("Not worth it: on a drive that is sold the flash lasts 1.01 times"),
        "{}",
        verdict.headline
    );
    assert_eq!(verdict.drives[1].answer, Answer::WorthIt);
    assert!(verdict.takes.is_empty() && verdict.next.is_empty());
}

#[test]
fn another_host_half_is_named_only_where_it_is_better_by_more_than_a_hundredth() {
    let with = |other: f64| {
        let schemes = [
            scheme("baseline+gc", 1.6),
            scheme("anabranch+fdp", 1.2),
            scheme("manual+fdp", other),
        ];
        Verdict::of(&outcome(&schemes))
    };
    assert_eq!(with(1.19).best.as_deref(), Some("anabranch+fdp"));
    let better = with(1.1);
    assert_eq!(better.best.as_deref(), Some("manual+fdp"));
    let words = &better.drives[0].words;
    assert!(words.contains("(`anabranch+fdp` 1.33 times)"), "{words}");
}

#[test]
fn a_drive_that_is_sold_is_answered_with_the_other_end_of_its_band() {
    let mut outcome = whole(1.61, 1.24, 1.1, 1.05);
    outcome.other_victims = Some(crate::OtherVictims {
        victim_rule: "cost-benefit-root".to_owned(),
        waf_before: Some(1.5),
        waf_with: Some(1.25),
    });
    let sold = &Verdict::of(&outcome).drives[0];
    let band = "; 1.20 times with cost-benefit-root victims in place of greedy";
    assert!(sold.words.ends_with(band), "{}", sold.words);
    assert_eq!(sold.life_other_victims, Some(1.2));
}

#[test]
fn a_drive_that_was_never_full_never_settled_or_was_hardly_written_gives_no_answer() {
    let answer = |change: &dyn Fn(&mut Comparison)| {
        let mut outcome = whole(1.61, 1.24, 1.1, 1.05);
        change(&mut outcome);
        let verdict = Verdict::of(&outcome);
        assert_eq!(verdict.answer, Answer::NoAnswerYet, "{}", verdict.headline);
        assert_eq!((verdict.life, verdict.drives[0].life), (None, None));
        assert!(verdict.next.ends_with("--fill 90%"), "{}", verdict.next);
        verdict.headline
    };
    let empty = answer(&|outcome| {
        let each = outcome.schemes.iter_mut();
        each.for_each(|one| (one.mapped_bytes, one.peak_mapped_bytes) = (1 << 27, 1 << 28));
    });
    assert!(empty.contains("25 % full at most"), "{empty}");
    let short = answer(&|outcome| outcome.source.capacities_written = 1.2);
    assert!(short.contains("1.20 capacities"), "{short}");
    let young = answer(&|outcome| {
        outcome
            .schemes
            .iter_mut()
            .for_each(|one| one.erased_units = 0)
    });
    assert!(young.contains("never filled"), "{young}");
    let moving = answer(&|outcome| {
        outcome.schemes[2].steady = false;
        outcome.schemes[2].steady_reason = "it moves".to_owned();
    });
    assert!(
        moving.contains("`anabranch+fdp` has not settled: it moves"),
        "{moving}"
    );
}

#[test]
fn a_scheme_that_is_not_compared_need_not_have_settled() {
    let mut outcome = whole(1.61, 1.24, 1.1, 1.05);
    outcome.schemes[3].steady = false;
    let verdict = Verdict::of(&outcome);
    assert!(verdict.is_settled && verdict.answer == Answer::WorthIt);
    assert_eq!(verdict.drives[1].answer, Answer::NoAnswerYet);
}

#[test]
fn a_trace_of_reads_alone_is_told_to_record_a_program_that_writes() {
    let mut outcome = whole(1.0, 1.0, 1.0, 1.0);
    outcome.source.host_page_bytes = 0;
    let verdict = Verdict::of(&outcome);
    assert!(
        verdict.headline.contains("nothing was written"),
        "{}",
        verdict.headline
    );
    assert!(
        verdict.next.ends_with("anabranch run -- PROGRAM"),
        "{}",
        verdict.next
    );
}

#[test]
fn hints_that_the_kernel_refused_are_not_recommended_as_they_are() {
    let mut hints = scheme("hints+fdp", 1.02);
    hints["goes_by_hints"] = json!(true);
    let schemes = [
        scheme("baseline+gc", 1.6),
        hints,
        scheme("anabranch+fdp", 1.1),
    ];
    let mut outcome = outcome(&schemes);
    outcome.source.hinted_bytes = 100;
    assert_eq!(Verdict::of(&outcome).best.as_deref(), Some("hints+fdp"));
    outcome.source.refused_hint_bytes = 100;
    let verdict = Verdict::of(&outcome);
    assert_eq!(verdict.best.as_deref(), Some("anabranch+fdp"));
    assert!(
        verdict.warnings[0].contains("the kernel refused 100 %"),
        "{:?}",
        verdict.warnings
    );
}

#[test]
fn of_a_trace_of_other_tools_no_advice_by_calls_is_promised() {
    let mut outcome = whole(1.61, 1.24, 1.1, 1.05);
    let mut capture = Capture::default();
    outcome.config.insert("capture".to_owned(), json!(capture));
    assert!(Verdict::of(&outcome).next.contains("anabranch export"));
    let limitation = "imported (msr): contexts are names of processes, if anything";
    capture.limitations.push(limitation.to_owned());
    outcome.config.insert("capture".to_owned(), json!(capture));
    let next = Verdict::of(&outcome).next;
    assert!(next.ends_with(": anabranch run -- PROGRAM"), "{next}");
}

#[test]
fn bounds_and_drives_without_streams_are_never_recommended() {
    let mut bound = scheme("oracle", 1.0);
    bound["is_bound"] = json!(true);
    let schemes = [scheme("baseline", 1.6), scheme("baseline+gc", 1.3), bound];
    let verdict = Verdict::of(&outcome(&schemes));
    assert_eq!((verdict.answer, verdict.best), (Answer::NotCompared, None));
}

#[test]
fn each_fuller_drive_is_fuller_than_the_one_before_until_there_is_none() {
    let mut outcome = whole(1.61, 1.24, 1.1, 1.05);
    let each = outcome.schemes.iter_mut();
    each.for_each(|one| (one.mapped_bytes, one.peak_mapped_bytes) = (1 << 28, 1 << 28));
    let options = json!([
        "--device",
        "my drive.toml",
        "--size",
        "1GiB",
        "--unit",
        "4MiB"
    ]);
    outcome.config.insert("drive_options".to_owned(), options);
    let next = Verdict::of(&outcome).next;
    let told = "replay 'my app.parquet' --device 'my drive.toml' --unit 4MiB --fill 90%";
    assert!(next.ends_with(told), "{next}");
    // Erase units of which the data fill too few are made smaller.
    outcome.device.unit_bytes = 1 << 30;
    let next = Verdict::of(&outcome).next;
    assert!(
        next.ends_with("--device 'my drive.toml' --unit 2048KiB --fill 90%"),
        "{next}"
    );
    outcome.config.insert("fill".to_owned(), json!(0.9));
    let next = Verdict::of(&outcome).next;
    assert!(next.ends_with("--fill 90% --pack"), "{next}");
    outcome.config.insert("pack".to_owned(), json!(true));
    // That drive is as full as the data ever are.
    assert_eq!(Verdict::of(&outcome).answer, Answer::WorthIt);
    outcome.source.capacities_written = 1.0;
    let next = Verdict::of(&outcome).next;
    assert!(next.starts_with("Next, record for longer"), "{next}");
}

#[test]
fn advice_is_made_on_the_drive_that_was_judged() {
    let mut outcome = whole(1.61, 1.24, 1.1, 1.05);
    let options = json!(["--size", "1GiB", "--unit", "4MiB"]);
    outcome.config.insert("drive_options".to_owned(), options);
    let next = Verdict::of(&outcome).next;
    let told = "export 'my app.parquet' --size 1GiB --unit 4MiB --scheme anabranch+fdp";
    assert!(next.contains(told), "{next}");
}
