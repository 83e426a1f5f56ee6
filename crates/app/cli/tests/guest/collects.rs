//! `steer --collect host` over a drive of ours with greedy victims: the drive's own log beside the models, and data that are
//! read back.

use crate::{amount, served::Served, steer::steered_by};

#[test]
fn a_host_collects_and_the_drive_copies_next_to_nothing() {
    let served = Served::start(&[
        "--device",
        "fdp-8ruh",
        "--size",
        "64MiB",
        "--unit",
        "512KiB",
        "--over-provisioning",
        "15%",
    ]);
    let mut variables = served.variables();
    variables.extend([
        ("SCHEME", "sepbit:host-collects=always".to_owned()),
        ("SPARE", "15%".to_owned()),
        ("SIZE", "25M".to_owned()),
        ("WRITTEN", amount(44, 1000) + "M"),
        ("KILLED", amount(12, 200) + "M"),
        ("KILLS", amount(2, 10)),
    ]);
    let report = steered_by("steer-collects.sh", &variables, |_| String::new());
    for name in ["load", "checked", "load-killed", "checked-killed"] {
        report.output(name);
    }
    assert_eq!(report.output("kernel").trim(), "");
    let untold = report.output("untold");
    assert!(
        untold.contains("nobody told what it keeps spare: `--spare`"),
        "{untold}"
    );
    assert!(untold.contains("the drive goes on collecting"), "{untold}");
    let steered = report.json("steered");
    let collected = &steered["collected"];
    eprintln!("{collected:#}\n{}", report.output("top"));
    let bytes = |name: &str| collected[name].as_u64().unwrap();
    assert!(bytes("rewritten_bytes") > 2 << 20, "{collected:#}");
    assert!(
        bytes("copied_bytes") * 8 <= bytes("rewritten_bytes"),
        "{collected:#}"
    );
    assert_eq!((bytes("failed_rewrites"), bytes("unknown_bytes")), (0, 0));
    assert!(collected["given_up_at_bytes"].is_null());
    // What the drive was sent, by its log.
    let log = report.json("log");
    assert_eq!(log["hbmw"].as_u64().unwrap(), bytes("warranty_bytes"));
    let words = collected["words"].as_str().unwrap();
    assert!(report.output("top").contains("wrote") && words.contains("a warranty counts"));
    // The model was kept.
    assert_eq!(report.json("steered-kept")["collected"]["unknown_bytes"], 0);
    // A server that was killed took the model with it: the drive collects until its units are known again.
    let killed = &report.json("steered-killed");
    assert!(killed["collected"]["unknown_bytes"].as_u64().unwrap() > 0);
    assert!(killed["limitations"].to_string().contains("does not know"));
    served.stop();
}
