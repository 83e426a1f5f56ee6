//! Documents by hand, and numbers that people published.

use serde_json::json;

use super::*;
use crate::Amplification;

/// WAF, bytes of hosts and of the flash in documents of one drive.
fn known(documents: &Value) -> (Option<f64>, Option<u128>, Option<u128>) {
    let document = document(documents).unwrap();
    let known = Amplification::of(&document.counts);
    (known.waf(), known.host_bytes(), known.flash_bytes())
}

/// A WAF to three digits, and whole GB of hosts' writes.
fn rounded(documents: &Value) -> (Option<i64>, Option<u128>) {
    let (waf, host, _) = known(documents);
    let thousandths = waf.map(|waf| (waf * 1000.0).round() as i64);
    (thousandths, host.map(|bytes| bytes / 1_000_000_000))
}

#[test]
fn each_form_is_known_by_its_mark_and_read_in_its_units() {
    let smart = json!({"critical_warning": 0, "data_units_written": 1000});
    let hosts = Some(512_000_000);
    assert_eq!(known(&smart), (None, hosts, None));
    let fdp = json!({"hbmw": 100, "mbmw": "130", "mbe": 7});
    assert_eq!(known(&fdp), (Some(1.3), Some(100), Some(130)));
    let group = json!({"data_units_written": 100, "media_units_written": 250});
    let billions = (Some(2.5), Some(100_000_000_000), Some(250_000_000_000));
    assert_eq!(known(&group), billions);
    let both = (Some(2.0), hosts, Some(1_024_000_000));
    for ocp in [
        json!({"physical_media_units_written": {"hi": 0, "lo": 1_024_000_000}}),
        json!({"Physical media units written": {"hi": 0, "lo": 1_024_000_000}}),
        json!({"OCP SMART Cloud Health Log: 0xC0": [{"Physical Media Units Written": "0x3d090000"}]}),
        json!({"Seagate SMART Health Attributes": [
            {"attribute_name": "XOR Recovery Count", "attribute_value": "0x0"},
            {"attribute_name": "Physical Media Units Written", "attribute_value": "0x0000000000000000000000003d090000"},
        ]}),
        json!({"Extended Smart Log Page : 0xD0": [{"NAND Writes (Bytes Written)": "0x3d090000"}]}),
        json!({"NAND Writes TLC (Bytes)": 1_000_000_000, "NAND Writes SLC (Bytes)": 24_000_000}),
        json!({"physical_media_units_bytes_tlc": 1_000_000_000, "physical_media_units_bytes_slc": "24000000"}),
        // Micron's hyperscale drives, and those whose log FBh is there without D0h.
        json!({"OCP Hyperscale Cloud Health Log: 0xC0": [
            {"Physical Media Units Written - TLC": "0x3b9aca00", "Physical Media Units Written - SLC": "0x16e3600"},
        ]}),
        json!({"Extended Smart Log Page : 0xFB": [{
            "Physical Media Units Written - TLC": "0x3d090000", "Physical Media Units Written - SLC": "0x0",
            "NAND Writes (Bytes Written)": "0x0",
        }]}),
    ] {
        assert_eq!(known(&json!([smart, ocp])), both, "{ocp}");
        assert_eq!(known(&ocp).0, None, "{ocp}");
    }
    // Named so until nvme-cli 2.1.
    let older = json!({"data_units_written": 100.0, "mediate_write_commands": 250.0});
    assert_eq!(known(&older), billions);
    let every = FORMS.iter().flat_map(|form| form.rows);
    assert!(every.map(|row| row.count(1)).all(|count| count.is_some()));
}

#[test]
fn counts_that_nvme_cli_cuts_are_read_where_they_are_whole_or_noted() {
    // nvme-cli's test of the command has no numbers; these are 40 and 60 TB, cut as `json_object_new_int` cuts them.
    let attribute =
        |name: &str, value: Value| json!({"attribute_name": name, "attribute_value": value});
    let seagate = json!({"SMART-Attributes": [{"Extended-SMART-Attributes": [
        attribute("LSB of Physical (NAND) bytes written", json!(-693_125_120)),
        attribute("LSB of Physical (HOST) bytes written", json!(969_572_352)),
        attribute("Physical (NAND) bytes written", json!("0x000000000000000000003691d6afc000")),
        attribute("Physical (HOST) bytes written", json!("0x00000000000000000000246139ca8000")),
    ]}]});
    let terabytes = |count: u128| Some(count * 1_000_000_000_000);
    let whole = (Some(1.5), terabytes(40), terabytes(60));
    assert_eq!(known(&seagate), whole);
    // Its command may write the list twice, a moment apart.
    let mut twice = seagate.clone();
    twice["SMART-Attributes"][0]["Extended-SMART-Attributes"][3]["attribute_value"] =
        "0x00000000000000000000246139ca9000".into();
    assert_eq!(known(&json!([seagate, twice])), whole);

    let intel = json!({"Device stats": {
        "nand_bytes_written": {"normalized": 100, "raw": -7}, "host_bytes_written": {"normalized": 100, "raw": 7},
    }});
    let found = document(&intel).unwrap();
    assert_eq!(Amplification::of(&found.counts).flash, None);
    assert!(
        found.notes[0].contains("`nand_bytes_written` is not whole"),
        "{:?}",
        found.notes
    );

    let halves = |low: i64| json!({"NAND Bytes Written Hi": 1, "NAND Bytes Written Lo": low});
    assert_eq!(known(&halves(5)).2, Some((1 << 64) + 5));
    assert!(document(&halves(-5)).unwrap().notes[0].contains("32 bits"));
    let maybe = json!({"NAND Bytes Written Hi": 0, "NAND Bytes Written Lo": i32::MAX});
    let found = document(&maybe).unwrap();
    assert_eq!((found.counts.len(), found.notes.len()), (0, 1));
    let whole = json!({"NAND Bytes Written Hi": 0, "NAND Bytes Written Lo": 1_u64 << 31});
    assert_eq!(known(&whole).2, Some(1 << 31));
}

#[test]
fn counts_without_a_unit_are_compared_within_one_log_and_not_across_units() {
    let entries = json!({"nand_bytes_written raw": 45_000, "host_bytes_written raw": 40_000});
    assert_eq!(known(&entries), (Some(1.125), None, None));
    // One counts logical pages, and what the other counts is not told.
    let d0 = json!({"Lifetime NAND Writes": 600_000, "Lifetime User Writes": 400_000});
    let found = Amplification::of(&document(&d0).unwrap().counts);
    assert_eq!((found.waf(), found.flash_bytes()), (None, None));
    assert!(found.missing().unwrap().contains("D0h"), "{found:?}");
}

#[test]
fn each_form_is_read_in_the_object_that_has_its_mark() {
    let smart =
        json!({"critical_warning": 0, "avail_spare": 100, "data_units_written": 100_000_000});
    let group =
        json!({"avl_spare": 100, "data_units_written": 51_200, "media_units_written": 102_400});
    let both = (
        Some(2.0),
        Some(51_200_000_000_000),
        Some(102_400_000_000_000),
    );
    assert_eq!(known(&json!({"health": smart, "log9": group})), both);
    assert_eq!(
        known(&json!({"log9": [group], "health": {"a": smart}})),
        both
    );
    let media = json!({"physical_media_units_written": {"hi": 0, "lo": 102_400_000_000_000_u64}});
    assert_eq!(known(&json!({"health": smart, "ocp": media})), both);
    // As `jq -s add` merges them.
    let mut flat = smart.clone();
    flat["physical_media_units_written"] = media["physical_media_units_written"].clone();
    assert_eq!(known(&flat), both);
    // The second log's units stand in the place of the first's, or the other way round.
    flat["media_units_written"] = 102_400.into();
    assert_eq!(known(&flat), (None, None, both.2));
}

#[test]
fn documents_of_two_drives_or_of_two_times_are_refused_with_what_differs() {
    let refused = |json: Value| document(&json).unwrap_err();
    let drive = |model: &str, serial: &str, log: Value| json!({"model_name": model, "serial_number": serial, "log": log});
    let (smart, ocp) = (
        json!({"data_units_written": 1000}),
        json!({"physical_media_units_written": 7}),
    );
    let error = refused(json!([
        drive("A", "S1", smart.clone()),
        drive("A", "S2", ocp.clone())
    ]));
    assert!(error.contains("serial numbers S1 and S2"), "{error}");
    let error =
        refused(json!({"a": drive("A", "", smart.clone()), "b": drive("B", "", ocp.clone())}));
    assert!(error.contains("models A and B"), "{error}");
    let error = refused(json!([smart, {"data_units_written": 2000}]));
    assert!(
        error.contains("`data_units_written`") && error.contains("as 1000 and 2000"),
        "{error}"
    );
    let one = json!([{"sn": "S1  ", "mn": "A", "log": smart}, drive("A", "S1", ocp.clone()), ocp]);
    let found = document(&one).unwrap();
    assert_eq!(
        (found.serial.as_deref(), found.model.as_deref()),
        (Some("S1"), Some("A"))
    );
    assert_eq!(found.counts.len(), 2);
    let spdk = json!({"model_number": "A", "serial_number": "S", "data_units_written": 1000});
    assert_eq!(document(&spdk).unwrap().model.as_deref(), Some("A"));
    // A number of something else is none of the drive's.
    let host = json!({"host": {"serial_number": "H"}, "drive": drive("A", "S1", ocp)});
    assert_eq!(document(&host).unwrap().serial.as_deref(), Some("S1"));
}

#[test]
fn a_sas_drive_has_the_gigabytes_that_hosts_wrote() {
    // smartctl_exporter testdata: HITACHI H109060SESUN600G.
    let sas = |gigabytes: Value| {
        json!({
            "device": {"protocol": "SCSI"}, "serial_number": "S",
            "scsi_error_counter_log": {
                "read": {"gigabytes_processed": "111593.179"}, "write": {"gigabytes_processed": gigabytes},
            },
        })
    };
    let hosts = |gigabytes: Value| known(&sas(gigabytes));
    assert_eq!(
        hosts("292086.584".into()),
        (None, Some(292_086_584_000_000), None)
    );
    for (written, megabytes) in [
        (json!("42.5"), 42_500),
        (json!("42"), 42_000),
        (json!(800.25), 800_250),
    ] {
        assert_eq!(hosts(written).1, Some(megabytes * 1_000_000));
    }
    for none in [
        "0.000",
        "7.1234",
        "-1.000",
        "1.+00",
        "",
        "1e3",
        "340282366920938463463374607431768211455",
    ] {
        assert_eq!(document(&sas(none.into())).unwrap().counts, [], "{none}");
    }
}

#[test]
fn device_statistics_are_read_without_attributes() {
    let entry = json!({"offset": 24, "value": 10});
    let alone = json!({"ata_device_statistics": {"pages": [{"number": 1, "table": [entry]}]}});
    assert_eq!(known(&alone).1, Some(5_120));
}

#[test]
fn numbers_are_read_as_they_are_written_and_nothing_else_is_one() {
    let huge = u128::from(u64::MAX) + 1;
    for (written, read) in [
        (json!(7), Some(7)),
        (json!("18446744073709551616"), Some(huge)),
        (json!(18_446_744_073_709_551_616.0), Some(huge)),
        (json!(1e300), Some(u128::MAX)),
        (json!(" 0xff "), Some(255)),
        (json!({"hi": 1, "lo": 0}), Some(huge)),
        (json!({"normalized": 100, "raw": 9}), Some(9)),
        (json!(-1), None),
        (json!("1,000"), None),
        (json!("0x1ffffffffffffffffffffffffffffffff"), None),
        (json!({"hi": -1, "lo": 0}), None),
        (json!({"normalized": 1, "raw": {"min": 1}}), None),
        (json!([1]), None),
        (json!(null), None),
    ] {
        assert_eq!(number(&written), read, "{written}");
    }
}

#[test]
fn a_document_without_a_counter_is_refused_with_the_forms_that_have_one() {
    for wrong in [
        json!({}),
        json!([]),
        json!("x"),
        json!([{"data_units_written": 1}, {}]),
    ] {
        let error = document(&wrong).unwrap_err();
        assert!(
            error.contains("nvme smart-log") && error.contains("smartctl -x -j"),
            "{error}"
        );
    }
    // A counter that is no number is none.
    let none = document(&json!({"data_units_written": {"a": []}})).unwrap();
    assert_eq!(none.counts, []);
}

fn sata(attributes: &[(u8, &str, u64)]) -> Value {
    let entry =
        |(id, name, raw): &(u8, &str, u64)| json!({"id": id, "name": name, "raw": {"value": raw}});
    let table: Vec<Value> = attributes.iter().map(entry).collect();
    json!({"model_name": "A drive", "ata_smart_attributes": {"table": table}})
}

#[test]
fn published_numbers_of_sata_drives_give_their_amplification() {
    // https://github.com/louwrentius/storagefancontrol/issues/5: Intel, 225 and 241 in 32 MiB, 249 in GiB.
    let intel = sata(&[
        (225, "Host_Writes_32MiB", 367_436),
        (241, "Host_Writes_32MiB", 367_436),
        (249, "NAND_Writes_1GiB", 19_609),
    ]);
    assert_eq!(rounded(&intel), (Some(1_708), Some(12_329)));
    // https://github.com/hiyohiyo/CrystalDiskInfo/issues/178: Kingston, E9h 261Eh and F1h 15DDh.
    let kingston = sata(&[
        (233, "Flash_Writes_GiB", 0x261e),
        (241, "Lifetime_Writes_GiB", 0x15dd),
    ]);
    assert_eq!(rounded(&kingston), (Some(1_743), Some(6_009)));
    // https://github.com/smartmontools/smartmontools/issues/13: Samsung 850 PRO, which counts hosts' writes alone.
    let samsung = sata(&[
        (177, "Wear_Leveling_Count", 5_887),
        (241, "Total_LBAs_Written", 62_578_693_422),
    ]);
    assert_eq!(rounded(&samsung), (None, Some(32_040)));
    // https://github.com/smartmontools/smartmontools/issues/296: Crucial MX500, 246 in sectors of 512 bytes.
    let crucial = sata(&[(246, "Total_LBAs_Written", 23_996_625_190)]);
    assert_eq!(rounded(&crucial), (None, Some(12_286)));
    // https://github.com/smartmontools/smartmontools/issues/578: not in the database; 10 GiB were written between two
    // readings of 241, 50,108 and 50,437, which so counts 32 MiB and not the blocks of its name.
    let mut stranger = sata(&[(241, "Total_LBAs_Written", 50_437)]);
    stranger["in_smartctl_database"] = false.into();
    assert_eq!(rounded(&stranger), (None, None));
    // https://github.com/smartmontools/smartmontools/pull/619: Intel D3-S4510, device statistics: [14.9 TB].
    let entry = json!({"offset": 24, "name": "Logical Sectors Written", "size": 6, "value": 29_165_644_238_u64});
    let statistics =
        json!({"pages": [{"number": 1, "name": "General Statistics", "table": [entry]}]});
    let mut s4510 = sata(&[]);
    s4510["ata_device_statistics"] = statistics;
    assert_eq!(rounded(&s4510), (None, Some(14_932)));
}

#[test]
fn published_numbers_of_nvme_drives_give_what_they_can() {
    // https://github.com/linux-nvme/nvme-cli/issues/814: `nvme intel smart-log-add`, F4h 40262 and F5h 45197: less was
    // written to the flash than by hosts.
    let add = |nand: u64, host: u64| {
        let raw = |raw: u64| json!({"normalized": 100, "raw": raw});
        json!({"Intel Smart log": "nvme6n1", "Device stats": {
            "nand_bytes_written": raw(nand), "host_bytes_written": raw(host),
        }})
    };
    assert_eq!(rounded(&add(40_262, 45_197)), (Some(891), None));
    // https://github.com/linux-nvme/nvme-cli/issues/245: a drive that fills neither.
    assert_eq!(document(&add(0, 0)).unwrap().counts, []);
    // https://github.com/linux-nvme/nvme-cli/issues/48 and issues/1745, whose 1,277,863,316 units are [654 TB].
    for (units, gigabytes) in [(64_663_716_u64, 33_107), (1_277_863_316, 654_266)] {
        let smart = json!({"data_units_written": units});
        assert_eq!(rounded(&smart), (None, Some(gigabytes)));
    }
    // https://github.com/netdata/netdata/issues/8594: Intel P3700, nested below other members.
    let nested = json!({"nvme0": {"smart_log": {"data_units_read": 228_744_653, "data_units_written": 464_403_132}}});
    assert_eq!(rounded(&nested), (None, Some(237_774)));
}
