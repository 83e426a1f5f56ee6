//! The page of a steered drive, and its screen: what they show is what the drive counted.

use serde_json::Value;

use crate::{served::Served, steer::steered_by};

#[test]
fn a_steered_drives_page_says_what_its_result_says() {
    let served = Served::start(&["--device", "fdp-8ruh", "--size", "256MiB", "--unit", "4MiB"]);
    let report = steered_by("page.sh", &served.variables(), |_| String::new());
    report.refused("nowhere", "/nowhere/page.html");
    let told = report.json("told");
    let page = data(report.output("page"));
    for key in ["config", "drive", "handover", "written_bytes", "writes"] {
        let shown = page[key].as_object();
        match shown {
            Some(shown) => shown.iter().for_each(|(name, value)| {
                assert_eq!(*value, told[key][name], "{key}: {name}");
            }),
            None => assert_eq!(page[key], told[key], "{key}"),
        }
    }
    assert_eq!(page["limitations"], told["limitations"]);
    assert!(!page["limitations"].as_array().unwrap().is_empty());
    let bytes = |found: &Value| -> Vec<u64> {
        let handles = found["handles"].as_array().unwrap().iter();
        handles
            .map(|handle| handle["written_bytes"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(bytes(&page), bytes(&told));
    assert!(bytes(&told).iter().sum::<u64>() > 8 << 20);
    let so_far = report.json("so-far");
    assert_eq!(bytes(&so_far), bytes(&told));
    assert_eq!(so_far["handover"], told["handover"]);
    let screen = report.output("top");
    for words in [
        "/dev/ublkb0 is ",
        "steered by pcstream-fcfs",
        "by the models ",
    ] {
        assert!(screen.contains(words), "{words}: {screen}");
    }
    report.refused("gone", "steer --metrics 127.0.0.1:9470");
    report.output("made");
    report.output("same");
    let alone = report.output("alone");
    assert!(alone.starts_with("<!doctype html>") && alone.ends_with("</html>"));
    served.stop();
}

/// The data of a page.
fn data(page: &str) -> Value {
    let (_, rest) = page
        .split_once("<script id=\"data\" type=\"application/json\">")
        .unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    // A name that others chose is in it, and is no markup.
    assert!(!page.contains("<b>") && data.contains("no\\u003cb>body"));
    let data: Value = serde_json::from_str(data).unwrap();
    data["steered"].clone()
}
