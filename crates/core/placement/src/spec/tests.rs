use super::*;
use crate::geometry::tests::DRIVE;

fn spec(text: &str) -> SchemeSpec {
    text.parse().unwrap()
}

/// On a drive that is sold.
fn build(spec: &SchemeSpec, geometry: &HostGeometry) -> Result<Halves, SchemeError> {
    let copies = DeviceHalf::Relocation(RelocationKind::Fdp);
    spec.build(&Site::new(&geometry.drive(), copies))
}

fn message(text: &str) -> String {
    text.parse::<SchemeSpec>().unwrap_err().to_string()
}

#[test]
fn every_scheme_of_the_catalogue_reads_back_and_builds() {
    for scheme in SCHEMES {
        let spec = spec(scheme.name);
        assert_eq!(spec.name(), scheme.name);
        assert_eq!(spec.relocation(), scheme.relocation);
        assert!(build(&spec, &DRIVE).is_ok());
    }
}

#[test]
fn any_host_part_goes_with_any_relocation() {
    for (text, name, relocation) in [
        (
            "hints+substream",
            "hints+substream",
            RelocationKind::SUBSTREAM,
        ),
        ("autostream-sfr+gc", "autostream-sfr+gc", RelocationKind::Gc),
        (
            "baseline+substream",
            "baseline+substream",
            RelocationKind::SUBSTREAM,
        ),
        ("pcstream*+substream", "pcstream", RelocationKind::SUBSTREAM),
        ("pcstream+mixed", "pcstream*", RelocationKind::Mixed),
        ("pcstream+gc", "pcstream*+gc", RelocationKind::Gc),
        ("baseline+mixed", "baseline", RelocationKind::Mixed),
        ("mixed", "baseline", RelocationKind::Mixed),
    ] {
        assert_eq!(spec(text).name(), name);
        assert_eq!(spec(text).relocation(), DeviceHalf::Relocation(relocation));
        assert_eq!(spec(name), spec(text));
    }
}

#[test]
fn another_relocation_keeps_the_host_side_and_its_parameters() {
    let other = spec("pcstream:alpha=0.25").with_relocation(RelocationKind::Gc);
    assert_eq!(other.name(), "pcstream*+gc:alpha=0.25");
    assert_eq!(spec(other.name()), other);
    let plain = spec("pcstream").with_relocation(RelocationKind::Mixed);
    assert_eq!(plain, spec("pcstream*"));
}

#[test]
fn a_name_carries_what_is_not_the_default_and_reads_back() {
    let changed = spec(" pcstream:samples=500, recluster=65536KiB,alpha=0.250 ");
    assert_eq!(changed.name(), "pcstream:recluster=64MiB,alpha=0.25");
    assert_eq!(spec(changed.name()), changed);
    assert_ne!(changed, spec("pcstream"));
}

#[test]
fn parameters_are_echoed_with_their_defaults() {
    let echoed = spec("autostream-sfr:decay=capacity/2")
        .parameters()
        .to_vec();
    let expected = [
        ("preset", "paper"),
        ("chunk", "1MiB"),
        ("decay", "capacity/2"),
        ("base", "2"),
        ("order", "grow-first"),
        ("counts", "first"),
        ("sequential", "counted"),
        ("scope", "drive"),
        ("answer", "before"),
    ];
    assert_eq!(echoed, expected.map(|(k, v)| (k.to_owned(), v.to_owned())));
    assert!(spec("baseline").parameters().is_empty());
}

#[test]
fn a_preset_sets_the_others_and_what_is_said_wins() {
    let port = spec("autostream-sfr:base=3,preset=sepbit-port,decay=64MiB");
    assert_eq!(port.name(), "autostream-sfr:preset=sepbit-port,base=3");
    assert_eq!(spec(port.name()), port);
    let value = |key| {
        let found = port.parameters().iter().find(|pair| pair.0 == key);
        found.map(|pair| pair.1.as_str())
    };
    assert_eq!(value("preset"), Some("sepbit-port"));
    assert_eq!(value("chunk"), Some("2MiB"));
    assert_eq!(value("base"), Some("3"));
    assert_eq!(spec("autostream-sfr:preset=paper").name(), "autostream-sfr");
    let wrong = message("autostream-sfr:preset=best");
    assert!(wrong.contains("one of paper, sepbit-port"), "{wrong}");
    assert!(message("pcstream:preset=paper").contains("no parameter `preset`"));
}

#[test]
fn every_preset_of_the_catalogue_reads_back_and_builds() {
    for scheme in SCHEMES {
        for preset in (scheme.host)().presets() {
            let text = format!("{}:preset={}", scheme.name, preset.name);
            let spec = spec(&text);
            assert!(text.starts_with(spec.name()), "{text}");
            assert!(build(&spec, &DRIVE).is_ok(), "{text}");
        }
    }
}

#[test]
fn any_host_part_can_be_shared_out_among_tenants() {
    let shared = spec("hints+gc:tenants=3");
    assert_eq!(shared.name(), "hints+gc:tenants=3");
    assert_eq!(
        shared.parameters(),
        [("tenants".to_owned(), "3".to_owned())]
    );
    assert!(build(&shared, &DRIVE).is_ok());
    assert_eq!(spec("hints:tenants=1").name(), "hints");
    assert!(message("hints:tenants=0").contains("from 1 to 16"));
}

#[test]
fn lists_keep_parameters_with_their_scheme() {
    let names = |text| -> Vec<String> {
        let specs = SchemeSpec::parse_list(text).unwrap();
        specs.iter().map(|spec| spec.name().to_owned()).collect()
    };
    assert_eq!(
        names("baseline,pcstream:samples=9,alpha=0.5,hints,baseline"),
        ["baseline", "pcstream:samples=9,alpha=0.5", "hints"]
    );
    assert_eq!(names("baseline, all").len(), SCHEMES.len());
    assert!(SchemeSpec::parse_list("").is_err());
    assert!(SchemeSpec::parse_list("baseline,,hints").is_err());
    assert!(SchemeSpec::parse_list("samples=9").is_err());
}

#[test]
fn an_unknown_name_is_met_with_the_nearest() {
    assert_eq!(
        message("pcstrem"),
        "there is no scheme `pcstrem` (did you mean `pcstream`?): \
         `anabranch schemes` lists them"
    );
    assert!(message("autostream").contains("`autostream-mq`"));
    assert!(!message("xyz").contains("did you mean"));
    assert!(message("hints+sub").contains("mixed, gc, per-stream, substream"));
    assert!(message("hints+gc+gc").contains("`gc+gc`"));
    assert!(message("+gc").contains("anabranch schemes"));
}

#[test]
fn a_wrong_parameter_is_met_with_what_is_right() {
    assert!(message("pcstream:sample=1").contains("did you mean `samples`?"));
    assert!(message("pcstream:sample=1").contains("samples, recluster"));
    assert!(message("hints:samples=1").contains("it takes none"));
    assert!(message("pcstream:samples=0").contains("a whole number from 1"));
    assert!(message("pcstream:recluster=64M").contains("capacity/8"));
    assert!(message("pcstream:samples").contains("key=value"));
    assert!(message("pcstream:").contains("key=value"));
    assert!(message("pcstream:samples=1,samples=2").contains("twice"));
}

#[test]
fn schemes_that_need_a_future_can_be_left_out() {
    let live = |scheme: &Scheme| !(scheme.host)().needs_future();
    let specs = SchemeSpec::read_list("all", &no_files, live).unwrap();
    assert!(specs.iter().all(|spec| !spec.needs_future()));
    assert_eq!(specs.len() + 3, SCHEMES.len());
}

#[test]
fn trials_keep_what_was_set_and_vary_the_rest() {
    assert_eq!(spec("pcstream").trials(&DRIVE), Ok(vec![spec("pcstream")]));
    let trials = spec("oracle").trials(&DRIVE).unwrap();
    assert!(trials.contains(&spec("oracle:classes=8,ratio=3")));
    assert!(trials.iter().all(|trial| trial.name() != "oracle"));
    let fixed = spec("oracle:classes=5");
    assert_eq!(fixed.trials(&DRIVE), Ok(vec![fixed.clone()]));
}

#[test]
fn a_drive_that_does_not_fit_is_an_error() {
    let chunked = spec("autostream-sfr:chunk=1001");
    let error = build(&chunked, &DRIVE).err().unwrap();
    assert!(error.to_string().contains("`chunk=1001`"), "{error}");
    let none = HostGeometry {
        host_streams: 0,
        ..DRIVE
    };
    assert_eq!(
        build(&spec("baseline"), &none).err(),
        Some(SchemeError::NoDrive)
    );
}
