use serde_json::{Value, json};

use super::*;

/// A scheme of a settled run that wrote 10 GiB, with its WAF over the last capacity.
fn scheme(name: &str, waf_window: f64) -> Value {
    json!({
        "name": name, "parameters": {}, "streams_used": 1, "host_bytes": 10_u64 << 30,
        "media_bytes": 0, "copied_bytes": 0, "erased_bytes": 0, "erased_units": 9,
        "sealed_units": 0, "discarded_bytes": 0, "mapped_bytes": 1 << 30, "waf": 1.2,
        "waf_window": waf_window, "waf_second_half": null, "lifetime_vs_baseline": null,
        "steady": true, "memory_bytes": 0, "series": [], "drive_half": "mixed",
        "streams": [
            { "id": 0, "internal": false, "host_bytes": 1, "copied_bytes": 0, "media_bytes": 1, "erased_bytes": 0 },
            { "id": 1, "internal": false, "host_bytes": 1, "copied_bytes": 0, "media_bytes": 1, "erased_bytes": 0 },
            { "id": 8, "internal": true, "host_bytes": 0, "copied_bytes": 1, "media_bytes": 1, "erased_bytes": 0 },
        ],
    })
}

fn outcome(schemes: &[Value]) -> Comparison {
    let result = json!({
        "schema": 1, "config": { "trace": "my app.parquet" }, "seed": 0, "steady": true,
        "steady_reason": "",
        "source": { "records": 0, "write_bytes": 0, "host_bytes": 10_u64 << 30, "discarded_bytes": 0,
            "read_bytes": 0, "flushes": 0, "lost_events": 0, "capacities_written": 10.0 },
        "device": { "profile": "", "logical_bytes": 1 << 30, "physical_bytes": 1 << 30,
            "unit_bytes": 1, "page_bytes": 4096, "physical_units": 1, "host_streams": 8,
            "internal_streams": 8 },
        "schemes": schemes,
    });
    serde_json::from_value(result).unwrap()
}

#[test]
fn what_is_told_is_of_the_last_capacity_and_not_of_the_way_there() {
    let verdict = Verdict::of(&outcome(&[
        scheme("baseline", 1.61),
        scheme("pcstream*", 1.06),
    ]));
    assert_eq!(verdict.answer, Answer::WorthIt);
    assert_eq!(
        verdict.headline,
        "Worth it: with pcstream* the flash lasts 1.52 times as long, and 90 % of the copies are spared."
    );
    assert!(
        verdict
            .evidence
            .contains("1.61 with baseline, 1.06 with pcstream*"),
        "{}",
        verdict.evidence
    );
    assert!(
        verdict.takes.contains("offers 2 streams") && verdict.takes.contains("stays as it is"),
        "{}",
        verdict.takes
    );
    assert!(
        verdict
            .next
            .ends_with("export 'my app.parquet' --scheme 'pcstream*' --to rules,fdp,fio -o advice"),
        "{}",
        verdict.next
    );
    assert!(verdict.warnings.is_empty() && verdict.is_settled);
}

#[test]
fn a_drive_that_hardly_copies_is_not_worth_it_whatever_share_of_its_copies_is_spared() {
    let verdict = Verdict::of(&outcome(&[
        scheme("baseline", 1.03),
        scheme("pcstream", 1.0),
    ]));
    assert_eq!(verdict.answer, Answer::NotWorthIt);
    assert!(
        verdict
            .headline
            .starts_with("Not worth it: without streams each byte written costs 1.03"),
        "{}",
        verdict.headline
    );
    assert!(verdict.takes.is_empty() && verdict.next.is_empty());
}

#[test]
fn only_the_two_schemes_compared_need_to_have_settled() {
    let mut other = scheme("autostream-sfr", 2.0);
    other["steady"] = json!(false);
    other["steady_reason"] = json!("it moves");
    let schemes = [
        scheme("baseline", 1.6),
        other.clone(),
        scheme("pcstream", 1.1),
    ];
    assert!(Verdict::of(&outcome(&schemes)).is_settled);
    other["name"] = json!("baseline");
    let verdict = Verdict::of(&outcome(&[other, scheme("pcstream", 1.1)]));
    assert!(
        !verdict.is_settled && verdict.headline.contains("not settled"),
        "{}",
        verdict.headline
    );
    assert_eq!(verdict.warnings, ["Not settled: baseline: it moves."]);
    let mut calm = scheme("baseline", 1.03);
    calm["steady"] = json!(false);
    let verdict = Verdict::of(&outcome(&[calm, scheme("pcstream", 1.0)]));
    assert!(
        verdict.headline.starts_with("Not worth it so far: "),
        "{}",
        verdict.headline
    );
}

#[test]
fn hints_that_the_kernel_refused_are_not_recommended_as_they_are() {
    let mut hints = scheme("hints", 1.02);
    hints["goes_by_hints"] = json!(true);
    let schemes = [scheme("baseline", 1.6), hints, scheme("pcstream", 1.1)];
    let mut outcome = outcome(&schemes);
    outcome.source.hinted_bytes = 100;
    assert_eq!(Verdict::of(&outcome).best.as_deref(), Some("hints"));
    outcome.source.refused_hint_bytes = 100;
    let verdict = Verdict::of(&outcome);
    assert_eq!(verdict.best.as_deref(), Some("pcstream"));
    assert!(
        verdict.warnings[0].contains("the kernel refused 100 %"),
        "{:?}",
        verdict.warnings
    );
}

#[test]
fn a_scheme_that_asks_more_of_the_drive_than_streams_names_the_best_that_does_not() {
    let mut whole = scheme("sepbit", 1.02);
    whole["drive_half"] = json!("own");
    let verdict = Verdict::of(&outcome(&[
        scheme("baseline", 1.6),
        whole,
        scheme("pcstream*", 1.1),
    ]));
    assert!(
        verdict
            .takes
            .ends_with("The best that needs streams alone is pcstream*, at 1.10."),
        "{}",
        verdict.takes
    );
}

#[test]
fn what_needs_streams_alone_and_gains_nothing_is_not_named() {
    let mut whole = scheme("sepbit", 1.9);
    whole["drive_half"] = json!("own");
    let verdict = Verdict::of(&outcome(&[
        scheme("baseline", 4.01),
        whole,
        scheme("pcstream*", 4.12),
    ]));
    assert!(!verdict.takes.contains("pcstream*"), "{}", verdict.takes);
}

#[test]
fn of_a_trace_of_other_tools_no_advice_by_calls_is_promised() {
    let mut outcome = outcome(&[scheme("baseline", 1.6), scheme("pcstream", 1.1)]);
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
fn a_drive_that_never_filled_gives_no_answer_but_a_drive_that_would() {
    let mut young = scheme("baseline", 1.0);
    young["erased_units"] = json!(0);
    let mut other = young.clone();
    other["name"] = json!("pcstream");
    let verdict = Verdict::of(&outcome(&[young, other]));
    assert_eq!(verdict.answer, Answer::TooLittleWritten);
    assert!(
        verdict
            .next
            .ends_with("anabranch replay 'my app.parquet' --fill 90%"),
        "{}",
        verdict.next
    );
}

#[test]
fn advice_is_made_on_the_drive_that_was_judged() {
    let mut outcome = outcome(&[scheme("baseline", 1.6), scheme("pcstream", 1.1)]);
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
    let drive = "--device 'my drive.toml' --size 1GiB --unit 4MiB";
    let told = format!("export 'my app.parquet' {drive} --scheme pcstream");
    assert!(next.contains(&told), "{next}");
    let streams = outcome.schemes.split_off(1);
    let next = Verdict::of(&outcome).next;
    let told = format!("replay 'my app.parquet' {drive}");
    assert!(next.ends_with(&told), "{next}");
    outcome.schemes.extend(streams);
    for scheme in &mut outcome.schemes {
        scheme.erased_units = 0;
    }
    let next = Verdict::of(&outcome).next;
    let told = "replay 'my app.parquet' --device 'my drive.toml' --unit 4MiB --fill 90%";
    assert!(next.ends_with(told), "{next}");
}
