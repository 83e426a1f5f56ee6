//! Counters in SATA attributes and in ATA's device statistics, as `smartctl -x -j` writes them.
//!
//! smartmontools' database names the attributes by the drive's model, and puts the unit into the name. So a row needs no model.

use serde_json::Value;

use crate::count::{Count, Quantity, Unit};
use crate::number::number;
use crate::row::{Drives, Place, Row};

const MIB: u64 = 1 << 20;
const GIB: Unit = Unit::Bytes(1 << 30);
const MIB_32: Unit = Unit::Bytes(32 * MIB);
/// A sector of ATA as drives' firmware counts it.
const SECTOR: Unit = Unit::Bytes(512);
const PAGE: Unit = Unit::Unnamed("pages of the flash");

/// The name that every drive's attribute 241 has unless the database says otherwise.
const DEFAULT: &str = "Total_LBAs_Written";
/// Name of the log.
const LOG: &str = "SATA attributes";

const fn attribute(
    ids: &'static [u8],
    name: &'static str,
    quantity: Quantity,
    unit: Unit,
    source: &'static str,
) -> Row {
    Row {
        log: LOG,
        drives: Drives::Any,
        place: Place::Attribute { ids, name },
        quantity,
        unit,
        may_be_zero: false,
        source,
    }
}

use Quantity::{Background, Flash, Host, Share};

/// The counters.
pub const ATTRIBUTES: &[Row] = &[
    Row {
        log: "ATA device statistics",
        drives: Drives::Any,
        place: Place::Statistic {
            page: 1,
            offset: 24,
        },
        quantity: Host,
        unit: Unit::Blocks,
        may_be_zero: false,
        source: "ATA/ATAPI Command Set 4 (ACS-4), Device Statistics log (04h), page 01h: Logical Sectors Written",
    },
    attribute(
        &[225, 241],
        "Host_Writes_32MiB",
        Host,
        MIB_32,
        "drivedb.h: Intel, Solidigm, Silicon Motion",
    ),
    attribute(
        &[199, 241],
        "Host_Writes_GiB",
        Host,
        GIB,
        "drivedb.h: Intel, Seagate, SandForce, Phison, Indilinx (199)",
    ),
    attribute(
        &[235, 241],
        "Lifetime_Writes_GiB",
        Host,
        GIB,
        "drivedb.h: Kingston, Phison, SK hynix (235)",
    ),
    attribute(
        &[241],
        "Total_Writes_GiB",
        Host,
        GIB,
        "drivedb.h: WD, SanDisk, Seagate Nytro",
    ),
    attribute(
        &[241],
        "Total_Writes_GB",
        Host,
        Unit::Bytes(1_000_000_000),
        "drivedb.h: SK hynix",
    ),
    attribute(
        &[175],
        "Host_Writes_MiB",
        Host,
        Unit::Bytes(MIB),
        "drivedb.h: Apacer",
    ),
    attribute(
        &[235],
        "Sectors_Written_to_SSD",
        Host,
        SECTOR,
        "drivedb.h: ATP",
    ),
    attribute(
        &[235],
        "Device_Sectors_Written",
        Host,
        SECTOR,
        "drivedb.h: ATP",
    ),
    // After those whose name the database gives: a drive that it names half has the default for the other half.
    attribute(
        &[241, 246],
        DEFAULT,
        Host,
        Unit::Blocks,
        "drivedb.h: default, Samsung, Micron, Crucial",
    ),
    attribute(
        &[247],
        "Host_Program_Page_Count",
        Host,
        PAGE,
        "drivedb.h: Micron, Crucial; Micron TN-FD-22",
    ),
    attribute(
        &[248],
        "FTL_Program_Page_Count",
        Background,
        PAGE,
        "drivedb.h: Crucial; Micron TN-FD-22",
    ),
    attribute(
        &[248],
        "Bckgnd_Program_Page_Cnt",
        Background,
        PAGE,
        "drivedb.h: Micron; Micron TN-FD-22",
    ),
    attribute(
        &[243],
        "NAND_Writes_32MiB",
        Flash,
        MIB_32,
        "drivedb.h: Intel S3510, S3610, S45x0, S46x0",
    ),
    attribute(
        &[249],
        "NAND_Writes_1GiB",
        Flash,
        GIB,
        "drivedb.h: Intel, Samsung CM871a and PM871",
    ),
    attribute(
        &[249],
        "NAND_Writes_GiB",
        Flash,
        GIB,
        "drivedb.h: SK hynix SC311, SC313",
    ),
    attribute(
        &[249],
        "Total_NAND_Prog_Ct_GiB",
        Flash,
        GIB,
        "drivedb.h: Indilinx, OCZ",
    ),
    attribute(&[233], "NAND_GiB_Written", Flash, GIB, "drivedb.h: Phison"),
    attribute(
        &[233],
        "Flash_Writes_GiB",
        Flash,
        GIB,
        "drivedb.h: Phison, Kingston, KIOXIA Exceria, Seagate",
    ),
    attribute(
        &[233],
        "Total_NAND_Writes_GiB",
        Flash,
        GIB,
        "drivedb.h: WD, SanDisk",
    ),
    attribute(
        &[233],
        "NAND_Writes_1GiB",
        Flash,
        GIB,
        "drivedb.h: Silicon Motion",
    ),
    attribute(
        &[233],
        "NAND_Writes_32MiB",
        Flash,
        MIB_32,
        "drivedb.h: Silicon Motion",
    ),
    attribute(
        &[233, 245],
        "Flash_Writes_32MiB",
        Flash,
        MIB_32,
        "drivedb.h: Silicon Motion, Transcend",
    ),
    attribute(
        &[245],
        "TLC_Writes_32MiB",
        Share,
        MIB_32,
        "drivedb.h: Silicon Motion",
    ),
    attribute(
        &[246],
        "SLC_Writes_32MiB",
        Share,
        MIB_32,
        "drivedb.h: Silicon Motion",
    ),
    attribute(
        &[233],
        "NAND_Write_Sector_Cnt",
        Flash,
        SECTOR,
        "drivedb.h: Maxio",
    ),
    attribute(
        &[241],
        "Sectors_Written_to_NAND",
        Flash,
        SECTOR,
        "drivedb.h: ATP",
    ),
    attribute(
        &[241],
        "Nand_Sectors_Written",
        Flash,
        SECTOR,
        "drivedb.h: ATP",
    ),
    attribute(
        &[235],
        "Flash_Writes_LBAs",
        Flash,
        SECTOR,
        "drivedb.h: Silicon Power, Transcend",
    ),
    attribute(
        &[235],
        "Flash_Writes_Sectors",
        Flash,
        SECTOR,
        "drivedb.h: Seagate",
    ),
    attribute(
        &[241],
        "Lifetime_NAND_Prg_GiB",
        Flash,
        GIB,
        "drivedb.h: SK hynix SE5110 and others",
    ),
    attribute(
        &[251],
        "NAND_Writes",
        Flash,
        Unit::Unnamed("units of attribute 251"),
        "drivedb.h: Samsung PM863, PM893",
    ),
];

/// Block sizes that a document may name; another is taken for 512.
const BLOCK_BYTES: std::ops::RangeInclusive<u64> = 512..=65_536;

/// Reads the counters of a document of `smartctl`, and adds sentences on those that cannot be read.
pub(crate) fn counts(document: &Value, notes: &mut Vec<String>) -> Vec<Count> {
    let block = document["logical_block_size"].as_u64();
    let block = block.filter(|bytes| BLOCK_BYTES.contains(bytes));
    let unit = Unit::Bytes(block.unwrap_or(512));
    let is_unknown = document["in_smartctl_database"] == false;
    let mut counts = Vec::new();
    let mut names = Vec::new();
    for row in ATTRIBUTES {
        let (name, value) = match row.place {
            Place::Attribute { ids, name } => (name, attribute_value(document, ids, name)),
            Place::Statistic { page, offset } => (row.log, statistic(document, page, offset)),
            _ => continue,
        };
        let Some(count) = value.and_then(|value| row.count(value)) else {
            continue;
        };
        // Such a drive has the default names, whatever it counts in: one in 32 MiB was seen.
        if is_unknown && count.log == LOG {
            notes.push(format!(
                "the drive is not in smartctl's database, so the unit of {DEFAULT} is not known; `update-smart-drivedb` may help"
            ));
            continue;
        }
        names.push(name);
        counts.push(match count.unit {
            Unit::Blocks => Count { unit, ..count },
            _ => count,
        });
    }
    notes.extend(contradiction(&counts, &names));
    counts
}

/// A sentence on two counters of hosts' writes of which one must be in another unit.
fn contradiction(counts: &[Count], names: &[&str]) -> Option<String> {
    let named = counts.iter().zip(names);
    let mut hosts = named.filter_map(|(count, name)| {
        let is_host = count.quantity == Host;
        is_host.then_some((name, count.bytes()?, count.unit_bytes()?))
    });
    let (first, bytes, unit) = hosts.next()?;
    let (other, others, _) = hosts.find(|(_, others, others_unit)| {
        let (less, more) = (bytes.min(*others), bytes.max(*others));
        // Few large units are rounded by as much as they count.
        more / 2 > less && more - less > unit.max(*others_unit).into()
    })?;
    Some(format!(
        "{first} stands for {bytes} bytes by hosts, and {other} for {others}: one of their units is wrong. The first is taken"
    ))
}

fn attribute_value(document: &Value, ids: &[u8], name: &str) -> Option<u128> {
    let table = document["ata_smart_attributes"]["table"].as_array()?;
    let is_it = |entry: &&Value| {
        let is_one = |id: &u8| entry["id"] == u64::from(*id);
        entry["name"] == name && ids.iter().any(is_one)
    };
    number(&table.iter().find(is_it)?["raw"]["value"])
}

fn statistic(document: &Value, page: u64, offset: u64) -> Option<u128> {
    let pages = document["ata_device_statistics"]["pages"].as_array()?;
    let page = pages.iter().find(|one| one["number"] == page)?;
    let mut entries = page["table"].as_array()?.iter();
    let entry = entries.find(|entry| entry["offset"] == offset)?;
    // A statistic that the drive does not keep is not valid.
    (entry["flags"]["valid"] != false).then(|| number(&entry["value"]))?
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Amplification;

    /// The document of a drive with these attributes.
    fn drive(attributes: &[(u8, &str, u64)]) -> Value {
        let entry = |(id, name, raw): &(u8, &str, u64)| json!({"id": id, "name": name, "raw": {"value": raw}});
        let table: Vec<Value> = attributes.iter().map(entry).collect();
        json!({"ata_smart_attributes": {"table": table}, "in_smartctl_database": true})
    }

    fn known(document: &Value) -> Amplification {
        Amplification::of(&counts(document, &mut Vec::new()))
    }

    #[test]
    fn each_attribute_is_read_by_number_and_name_in_its_unit() {
        for row in ATTRIBUTES {
            let Place::Attribute { ids, name } = row.place else {
                continue;
            };
            for id in ids {
                let found = counts(&drive(&[(*id, name, 1234)]), &mut Vec::new());
                let [count] = found[..] else {
                    panic!("{row:?} {found:?}");
                };
                let unit = match row.unit {
                    Unit::Blocks => Unit::Bytes(512),
                    unit => unit,
                };
                let expected = (row.quantity, 1234, unit);
                assert_eq!((count.quantity, count.value, count.unit), expected);
            }
            let other = drive(&[(1, name, 1234)]);
            assert_eq!(counts(&other, &mut Vec::new()), [], "{row:?}");
        }
    }

    #[test]
    fn a_drive_outside_the_database_has_its_statistics_alone() {
        let mut document = drive(&[(241, DEFAULT, 50_437)]);
        document["in_smartctl_database"] = false.into();
        let mut notes = Vec::new();
        assert_eq!(counts(&document, &mut notes), []);
        assert!(notes[0].contains("update-smart-drivedb"), "{notes:?}");
        document["logical_block_size"] = 4096.into();
        let entry = json!({"offset": 24, "name": "Logical Sectors Written", "value": 10});
        document["ata_device_statistics"] = json!({"pages": [{"number": 1, "table": [entry]}]});
        assert_eq!(known(&document).host_bytes(), Some(40_960));
        document["logical_block_size"] = u64::MAX.into();
        assert_eq!(known(&document).host_bytes(), Some(5_120));
        document["ata_device_statistics"]["pages"][0]["table"][0]["flags"] =
            json!({"valid": false});
        assert_eq!(known(&document).host_bytes(), None);
    }

    #[test]
    fn a_name_with_a_unit_goes_before_the_default_and_a_contradiction_is_noted() {
        // smartctl_exporter testdata: Dell Certified Intel S3520, whose 241 the database does not name.
        let dell = drive(&[
            (225, "Host_Writes_32MiB", 129_493),
            (233, DEFAULT, 129_493),
            (241, DEFAULT, 129_493),
        ]);
        let mut notes = Vec::new();
        let found = Amplification::of(&counts(&dell, &mut notes));
        assert_eq!(found.host_bytes(), Some(129_493 << 25));
        let [note] = &notes[..] else {
            panic!("{notes:?}");
        };
        assert!(
            note.starts_with("Host_Writes_32MiB stands for 4345064062976 bytes")
                && note.contains(DEFAULT),
            "{note}"
        );
        // Of one drive, counted in units of 32 MiB and of blocks.
        for (units, blocks) in [(1, 100_000), (1_000, 65_000_000), (1_000, 66_000_000)] {
            let like = drive(&[(225, "Host_Writes_32MiB", units), (241, DEFAULT, blocks)]);
            notes.clear();
            let found = Amplification::of(&counts(&like, &mut notes));
            assert_eq!(found.host_bytes(), Some(u128::from(units) << 25));
            assert!(notes.is_empty(), "{notes:?}");
        }
        // Pages have no unit, and contradict nothing.
        let micron = drive(&[(246, DEFAULT, 2_000), (247, "Host_Program_Page_Count", 9)]);
        counts(&micron, &mut notes);
        assert!(notes.is_empty(), "{notes:?}");
    }

    #[test]
    fn what_is_no_table_has_no_counts() {
        for wrong in [
            json!(null),
            json!({"ata_smart_attributes": 7}),
            json!({"ata_smart_attributes": {"table": [1, {"id": 241}, {"id": 241, "name": DEFAULT, "raw": {"value": -5}}]}}),
            json!({"ata_device_statistics": {"pages": [{"number": 1, "table": {}}]}}),
        ] {
            assert_eq!(counts(&wrong, &mut Vec::new()), [], "{wrong}");
        }
    }
}
