//! Sampled drives on the command line.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;

use std::fs;

use command::{anabranch, complaint, json};
use serde_json::Value;
use tempfile::TempDir;

/// A shipped trace.
const TRACE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../../traces/mariadb-tpcc.parquet"
);
const UNIT: [&str; 2] = ["--unit", "4MiB"];
/// The compared schemes: by page, by context, by requests, and by the future.
const SCHEMES: &str = "baseline,baseline+gc,sepbit,pcstream,autostream-sfr,eti,sequential,fk";

fn replay(more: &[&str]) -> Value {
    let output = anabranch(&[&["replay", TRACE, "--json"], &UNIT[..], more].concat());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{words}");
    json(&output)
}

/// Each scheme with all that its drive counted.
fn counts(result: &Value) -> Vec<Value> {
    let keys = [
        "name",
        "host_page_bytes",
        "media_bytes",
        "erased_units",
        "discarded_bytes",
        "mapped_bytes",
    ];
    let schemes = result["schemes"].as_array().unwrap();
    let keys = |scheme: &Value| keys.iter().map(|key| scheme[key].clone()).collect();
    schemes.iter().map(keys).collect()
}

fn waf(result: &Value, scheme: usize) -> (f64, f64) {
    let scheme = &result["schemes"][scheme];
    (
        scheme["waf"].as_f64().unwrap(),
        scheme["sampled"]["error"].as_f64().unwrap(),
    )
}

#[test]
fn every_page_sampled_is_the_drive_to_the_page() {
    let schemes = ["--scheme", "all"];
    let full = replay(&schemes);
    let sampled = replay(&[&schemes[..], &["--sample", "1/1"]].concat());
    assert_eq!(counts(&sampled), counts(&full));
    assert!(full["schemes"].as_array().unwrap().len() > 20);
    assert!(full["sampled"].is_null());
    assert_eq!(sampled["sampled"]["hashes"].as_array().unwrap().len(), 1);
    let note = |more: &[&str]| {
        let output =
            anabranch(&[&["replay", TRACE, "--scheme", "baseline"], &UNIT[..], more].concat());
        String::from_utf8(output.stdout).unwrap()
    };
    let one = "one sample: its error is not known";
    let whole = note(&["--sample", "1/1"]);
    assert!(
        whole.contains("no error comes from sampling") && !whole.contains(one),
        "{whole}"
    );
    let part = note(&["--sample", "1/8", "--samples", "1"]);
    assert!(part.contains(one), "{part}");
}

#[test]
fn a_sample_is_near_the_drive_and_says_how_near() {
    let schemes = ["--scheme", SCHEMES];
    let full = replay(&schemes);
    let sampled = replay(&[&schemes[..], &["--sample", "1/4"]].concat());
    assert_eq!(sampled["sampled"]["rate"], "1/4");
    assert_eq!(sampled["sampled"]["unit_pages"], 256);
    assert_eq!(sampled["device"], full["device"]);
    for (index, scheme) in full["schemes"].as_array().unwrap().iter().enumerate() {
        let (mean, error) = waf(&sampled, index);
        let truth = scheme["waf"].as_f64().unwrap();
        assert!(
            (mean / truth - 1.0).abs() < 0.03,
            "{}: {mean} {truth}",
            scheme["name"]
        );
        assert!(error > 0.0 && error < 0.1, "{}: {error}", scheme["name"]);
        assert_eq!(
            sampled["schemes"][index]["sampled"]["each"]
                .as_array()
                .unwrap()
                .len(),
            4
        );
        let bytes = |result: &Value| {
            result["schemes"][index]["host_page_bytes"]
                .as_f64()
                .unwrap()
        };
        assert!((bytes(&sampled) / bytes(&full) - 1.0).abs() < 0.02);
    }
}

#[test]
fn what_a_scheme_counts_in_pages_it_counts_in_the_samples() {
    // At 1/64 these are one page each; as numbers of the sample's pages they are far apart.
    let schemes = "pcstream:samples=64,pcstream:samples=127,pcstream:samples=4096";
    let found = replay(&["--scheme", schemes, "--sample", "1/64"]);
    let media = |index: usize| found["schemes"][index]["media_bytes"].clone();
    assert_eq!(media(0), media(1));
    assert_ne!(media(0), media(2));
    assert_eq!(found["schemes"][0]["name"], "pcstream:samples=64");
}

#[test]
fn auto_takes_the_coarsest_rate_whose_error_is_small() {
    // Units of 4,096 pages: 1/256 leaves 16.
    let demo = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../traces/rocksdb-demo.parquet"
    );
    let replay = |rate: &str| {
        let schemes = "baseline,baseline+gc";
        let options = ["--unit", "16MiB", "--scheme", schemes, "--sample", rate];
        json(&anabranch(
            &[&["replay", demo, "--json"], &options[..]].concat(),
        ))
    };
    let found = replay("auto");
    let narrow = |result: &Value| {
        let all = (0..2).map(|index| waf(result, index));
        all.into_iter().all(|(waf, error)| error < 0.02 * waf)
    };
    assert!(narrow(&found));
    let rate = found["sampled"]["rate"].as_str().unwrap();
    assert_eq!(counts(&replay(rate)), counts(&found));
    let one_of: u32 = rate.strip_prefix("1/").unwrap().parse().unwrap();
    let coarser = (1..).map(|more| one_of << more);
    for coarser in coarser.take_while(|&pages| pages <= 256) {
        let rate = format!("1/{coarser}");
        assert!(!narrow(&replay(&rate)), "{rate}");
    }
}

#[test]
fn auto_replays_the_whole_where_samples_would_cost_more_and_says_so() {
    let schemes = ["--scheme", "baseline,baseline+gc,sepbit"];
    let auto = [&schemes[..], &["--sample", "auto"]].concat();
    assert_eq!(replay(&auto), replay(&schemes));
    let output = anabranch(&[&["replay", TRACE], &UNIT[..], &auto].concat());
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(words.contains("cost more than the whole drive"), "{words}");
}

#[test]
fn seeds_draw_other_samples() {
    let of = |seed| {
        replay(&[
            "--scheme",
            "baseline",
            "--sample",
            "1/16",
            "--samples",
            "1",
            "--seed",
            seed,
        ])
    };
    let (one, same, other) = (of("1"), of("1"), of("2"));
    assert_eq!(counts(&one), counts(&same));
    assert_ne!(counts(&one), counts(&other));
    assert!(one["schemes"][0]["sampled"]["error"].is_null());
}

#[test]
fn the_table_and_the_page_say_how_it_was_sampled() {
    let directory = TempDir::new().unwrap();
    let page = directory.path().join("page.html");
    let more = [
        "--sample",
        "1/16",
        "--scheme",
        "baseline,sepbit",
        "--html",
        page.to_str().unwrap(),
    ];
    let output = anabranch(&[&["replay", TRACE], &UNIT[..], &more].concat());
    let words = String::from_utf8(output.stdout).unwrap();
    assert!(words.contains("  ± |"), "{words}");
    assert!(
        words.contains("sampled: 1/16 of the pages, 64 in an erase unit; means of 4 samples"),
        "{words}"
    );
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("\"unit_pages\":64")
    );
}

#[test]
fn what_cannot_be_sampled_is_refused_with_what_works() {
    let refused = |more: &[&str]| complaint(&[&["replay", TRACE], &UNIT[..], more].concat(), 2);
    for (wrong, words) in [
        ("1/0", "1/64"),
        ("2/3", "1/64"),
        ("1/10000000", "1/1048576"),
        ("1/128", "--sample 1/64 works"),
        ("1/1048576", "--sample 1/64 works"),
    ] {
        let said = refused(&["--sample", wrong]);
        assert!(said.contains("--sample") && said.contains(words), "{said}");
    }
    for (more, words) in [
        (&["--samples", "3"][..], "it goes with --sample"),
        (
            &["--sample", "1/8", "--samples", "17"],
            "--samples 17: 1 to 16",
        ),
        (
            &["--sample", "1/8", "--time", "closed"],
            "leave out --time or --sample",
        ),
        (
            &["--sample", "1/8", "--fault", "program=1000"],
            "leave one out",
        ),
    ] {
        let said = refused(more);
        assert!(said.contains(words), "{said}");
    }
    let aged = complaint(
        &["replay", TRACE, "--sample", "1/8", "--drive", "aged.drive"],
        2,
    );
    assert!(aged.contains("leave one out"), "{aged}");
}

#[test]
fn only_a_replay_finds_the_rate_and_the_others_say_why() {
    // What comes after the rate is looked at later, or not at all.
    let verbs: &[&[&str]] = &[
        #[cfg(feature = "live")]
        &["run", "--sample", "auto", "--", "true"],
        #[cfg(feature = "live")]
        &[
            "record",
            "--device",
            "/dev/null",
            "--sample",
            "auto",
            "--",
            "true",
        ],
        #[cfg(feature = "live")]
        &["watch", "/dev/null", "--sample", "auto"],
        #[cfg(feature = "serve")]
        &["serve", "--shadow", "baseline", "--sample", "auto"],
    ];
    for words in verbs {
        let said = complaint(words, 2);
        for part in [
            "--sample",
            "they pass by once",
            "--sample 1/64",
            "record them whole",
        ] {
            assert!(said.contains(part), "{words:?}: {said}");
        }
        // Another text that is no rate is told what one is.
        let wrong = words
            .iter()
            .map(|word| if *word == "auto" { "1/3" } else { word });
        let said = complaint(&wrong.collect::<Vec<_>>(), 2);
        assert!(
            said.contains("power of two") && said.contains("1/2"),
            "{said}"
        );
        let help = anabranch(&[words[0], "--help"]);
        let help = String::from_utf8(help.stdout).unwrap();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            !help.contains("`auto`") || help.contains("alone takes `auto`"),
            "{help}"
        );
    }
}

#[cfg(feature = "live")]
#[test]
fn a_share_of_the_processor_that_cannot_be_kept_is_refused() {
    for wrong in ["0", "0%", "-0"] {
        let said = complaint(&["watch", "/dev/null", &format!("--cpu={wrong}")], 2);
        assert!(
            said.contains("--cpu") && said.contains("1% works"),
            "{said}"
        );
    }
    let said = complaint(&["watch", "/dev/null", "--cpu", "101%"], 2);
    assert!(said.contains("101%"), "{said}");
}

#[test]
fn a_load_made_without_what_no_sample_keeps_is_the_load() {
    // `sequential` goes by requests: with it all of them are made.
    let both = |load: &str| {
        ["baseline,pcstream", "baseline,pcstream,sequential"].map(|schemes| {
            let asked = [
                "replay", load, "--json", "--unit", "1MiB", "--sample", "1/8",
            ];
            let more = ["--over-provisioning", "10%", "--scheme", schemes];
            json(&anabranch(&[&asked[..], &more].concat()))
        })
    };
    let [kept, whole] = both("synthetic:fio-passes:size=128MiB,write=512MiB");
    assert_eq!(kept["source"], whole["source"]);
    assert_eq!(counts(&kept)[..], counts(&whole)[..2]);
    assert!(waf(&kept, 0).0 > 1.5, "{}", kept["schemes"][0]);
    // Drawn writes are others, and as many.
    let [kept, whole] = both("synthetic:fio-three-streams:size=256MiB,write=1GiB");
    let but_host = |result: &Value| {
        let mut source = result["source"].clone();
        let source = source.as_object_mut().unwrap();
        source.remove("host_page_bytes");
        source.remove("capacities_written");
        source.clone()
    };
    assert_eq!(but_host(&kept), but_host(&whole));
    for scheme in [0, 1] {
        let ((one, error), (other, _)) = (waf(&kept, scheme), waf(&whole, scheme));
        assert!(
            one != other && (one / other - 1.0).abs() < 0.05,
            "{one} {other}"
        );
        assert!(error / one < 0.1, "{error} {one}");
    }
}
