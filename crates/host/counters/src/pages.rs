//! Counters in NVMe log pages, and reading them from a drive.

use crate::amplification::Amplification;
use crate::count::{Count, Quantity, Unit};
use crate::row::{Drives, Guard, Place, Row};

/// A data unit of the SMART log: a thousand blocks of 512 bytes.
const DATA_UNIT: Unit = Unit::Bytes(512_000);
/// A unit of the endurance group log.
const BILLION: Unit = Unit::Bytes(1_000_000_000);
/// The unit of bytes 5 to 10 of an entry of log CAh, which Intel's plug-in prints without one and others call sectors.
const ENTRIES: Unit = Unit::Unnamed("units of log CAh");

/// GUID of OCP's SMART log.
const OCP: u128 = 0xafd5_14c9_7c6f_4f9c_a4f2_bfea_2810_afc5;
/// GUID of its forerunner for boot drives, which counts TLC and SLC apart.
const BOOT: u128 = 0xc46d_d792_0f1e_4266_a178_d8ac_7888_4365;

const WESTERN_DIGITAL: Drives = Drives::Vendors(&[0x1b96, 0x15b7, 0x1c58]);
/// Vendors whose log CAh has Intel's form: Intel, Solidigm, Memblaze, DapuStor, ScaleFlux, SSSTC, YMTC.
const INTELS: Drives = Drives::Vendors(&[0x8086, 0x025e, 0x1c5f, 0x1e3b, 0xcc53, 0x1e95, 0x1e49]);

const fn field(page: u8, at: usize, guard: Guard) -> Place {
    Place::Field {
        page,
        at,
        width: 16,
        guard,
    }
}

/// A row of 16 bytes that a standard defines.
const fn standard(
    log: &'static str,
    (page, at, guard): (u8, usize, Guard),
    quantity: Quantity,
    unit: Unit,
    source: &'static str,
) -> Row {
    Row {
        log,
        drives: Drives::Any,
        place: field(page, at, guard),
        quantity,
        unit,
        may_be_zero: true,
        source,
    }
}

/// A row that a vendor's plug-in of nvme-cli documents.
const fn vendors(
    log: &'static str,
    drives: Drives,
    place: Place,
    quantity: Quantity,
    unit: Unit,
    source: &'static str,
) -> Row {
    Row {
        log,
        drives,
        place,
        quantity,
        unit,
        may_be_zero: false,
        source,
    }
}

/// An entry of Intel's log CAh: the value is in its bytes 5 to 10.
const fn entry(key: u8) -> Place {
    Place::Entry {
        page: 0xca,
        first: 0,
        key,
        at: 5,
        width: 6,
        guard: Guard::None,
    }
}

/// An attribute of Seagate's log C4h from version 2 on: the value is in its bytes 4 to 11.
const fn seagate(key: u8) -> Place {
    Place::Entry {
        page: 0xc4,
        first: 2,
        key,
        at: 4,
        width: 8,
        guard: Guard::Version(2),
    }
}

const FDP_SOURCE: &str = "NVMe Base Specification 2.1, 5.1.12.1.30";
const SMART_SOURCE: &str = "NVMe Base Specification 2.1, 5.1.12.1.3";
const GROUP_SOURCE: &str = "NVMe Base Specification 2.1, 5.1.12.1.10";
const OCP_SOURCE: &str = "OCP Datacenter NVMe SSD Specification 2.5, SMART-1";
const MICRON_SOURCE: &str = "nvme-cli plugins/micron/micron-nvme.c, init_d0_log_page";
const INTEL_SOURCE: &str =
    "nvme-cli plugins/intel/intel-nvme.c and plugins/solidigm/solidigm-smart.c";
const WDC_SOURCE: &str = "nvme-cli plugins/wdc/wdc-nvme.c, wdc_nand_stats";
const BOOT_SOURCE: &str = "nvme-cli plugins/wdc/wdc-nvme.c, wdc_nvme_ext_smart_log";
const SEAGATE_SOURCE: &str = "nvme-cli plugins/seagate/seagate-diag.h, EXTENDED_SMART_INFO_T";

/// The counters, in the order in which their pages are read.
pub const PAGES: &[Row] = &[
    Row {
        drives: Drives::Placement,
        ..standard(
            "FDP statistics",
            (0x22, 0, Guard::None),
            Quantity::Host,
            Unit::Bytes(1),
            FDP_SOURCE,
        )
    },
    Row {
        drives: Drives::Placement,
        ..standard(
            "FDP statistics",
            (0x22, 16, Guard::None),
            Quantity::Flash,
            Unit::Bytes(1),
            FDP_SOURCE,
        )
    },
    standard(
        "SMART log",
        (0x02, 48, Guard::None),
        Quantity::Host,
        DATA_UNIT,
        SMART_SOURCE,
    ),
    standard(
        "OCP SMART log",
        (0xc0, 0, Guard::Guid(OCP)),
        Quantity::Flash,
        Unit::Bytes(1),
        OCP_SOURCE,
    ),
    standard(
        "OCP boot drive log",
        (0xc0, 0, Guard::Guid(BOOT)),
        Quantity::Share,
        Unit::Bytes(1),
        BOOT_SOURCE,
    ),
    standard(
        "OCP boot drive log",
        (0xc0, 16, Guard::Guid(BOOT)),
        Quantity::Share,
        Unit::Bytes(1),
        BOOT_SOURCE,
    ),
    Row {
        may_be_zero: false,
        ..standard(
            "endurance group",
            (0x09, 64, Guard::None),
            Quantity::Host,
            BILLION,
            GROUP_SOURCE,
        )
    },
    Row {
        may_be_zero: false,
        ..standard(
            "endurance group",
            (0x09, 80, Guard::None),
            Quantity::Flash,
            BILLION,
            GROUP_SOURCE,
        )
    },
    vendors(
        "Micron log D0h",
        Drives::Vendors(&[0x1344]),
        Place::Field {
            page: 0xd0,
            at: 176,
            width: 8,
            guard: Guard::None,
        },
        Quantity::Flash,
        Unit::Bytes(1),
        MICRON_SOURCE,
    ),
    vendors(
        "Intel's log CAh",
        INTELS,
        entry(0xf5),
        Quantity::Host,
        ENTRIES,
        INTEL_SOURCE,
    ),
    vendors(
        "Intel's log CAh",
        INTELS,
        entry(0xf4),
        Quantity::Flash,
        ENTRIES,
        INTEL_SOURCE,
    ),
    vendors(
        "Western Digital log FBh",
        WESTERN_DIGITAL,
        field(0xfb, 0, Guard::None),
        Quantity::Share,
        Unit::Bytes(1),
        WDC_SOURCE,
    ),
    vendors(
        "Western Digital log FBh",
        WESTERN_DIGITAL,
        field(0xfb, 16, Guard::None),
        Quantity::Share,
        Unit::Bytes(1),
        WDC_SOURCE,
    ),
    vendors(
        "Seagate log C4h",
        Drives::Vendors(&[0x1bb1]),
        seagate(241),
        Quantity::Host,
        Unit::Bytes(1),
        SEAGATE_SOURCE,
    ),
    vendors(
        "Seagate log C4h",
        Drives::Vendors(&[0x1bb1]),
        seagate(233),
        Quantity::Flash,
        Unit::Bytes(1),
        SEAGATE_SOURCE,
    ),
];

/// A drive's properties that decide which pages it is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DriveIdentity {
    /// PCI vendor ID.
    pub vendor: u16,
    /// Whether it supports Flexible Data Placement.
    pub has_fdp: bool,
    /// The namespace's endurance group; 0 for none.
    pub endurance_group: u16,
}

impl DriveIdentity {
    fn may_have(&self, row: &Row) -> bool {
        match row.drives {
            Drives::Any => true,
            Drives::Placement => self.has_fdp,
            Drives::Vendors(vendors) => vendors.contains(&self.vendor),
        }
    }
}

/// Bytes of a page that are asked for: all, but of FDP statistics, which are 64 bytes long.
const PAGE_BYTES: usize = 512;
const FDP_BYTES: usize = 64;

/// Reads a drive's counters, page by page, until they give its write amplification. `log` fetches a page by its identifier, its log
/// specific identifier, and a number of bytes; `None` where the drive has no such page.
pub fn read(
    drive: &DriveIdentity,
    mut log: impl FnMut(u8, u16, usize) -> Option<Vec<u8>>,
) -> Vec<Count> {
    let mut counts = Vec::new();
    let rows: Vec<&Row> = PAGES.iter().filter(|row| drive.may_have(row)).collect();
    for rows in rows.chunk_by(|before, after| before.page() == after.page()) {
        let Some(page) = rows.first().and_then(|row| row.page()) else {
            continue;
        };
        let (specific, bytes) = match page {
            0x22 => (drive.endurance_group, FDP_BYTES),
            0x09 => (drive.endurance_group, PAGE_BYTES),
            _ => (0, PAGE_BYTES),
        };
        if let Some(found) = log(page, specific, bytes) {
            counts.extend(rows.iter().filter_map(|row| row.decode(&found)));
        }
        let known = Amplification::of(&counts);
        if known.grain_bytes().is_some() {
            break;
        }
    }
    counts
}

/// A sentence on the need of a drive whose flash counter is not known.
pub fn missing(drive: &DriveIdentity) -> String {
    let fdp = if drive.has_fdp {
        ""
    } else {
        "FDP statistics (22h), "
    };
    let vendor = drive.vendor;
    let is_known = PAGES
        .iter()
        .any(|row| matches!(row.drives, Drives::Vendors(vendors) if vendors.contains(&vendor)));
    let own = if is_known {
        "its vendor's log that is known here is not there, or has another form"
    } else {
        "no log of its vendor's is known here"
    };
    format!(
        "the drive answers with no {fdp}OCP SMART log (C0h) or count of its endurance group (09h), and {own}: the page, offset and \
         unit of a flash counter of PCI vendor {vendor:04x} are needed"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with numbers of 8 bytes, and the vendor's or OCP's sign.
    fn page(fields: &[(usize, u64)], guid: u128) -> Vec<u8> {
        let mut bytes = vec![0; PAGE_BYTES];
        for (at, value) in fields {
            bytes[*at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        if guid > 0 {
            bytes[496..].copy_from_slice(&guid.to_le_bytes());
        }
        bytes
    }

    /// Reads a drive that has these pages and no others: WAF, bytes of hosts and of the flash.
    fn found(
        drive: &DriveIdentity,
        pages: &[(u8, Vec<u8>)],
    ) -> (Option<f64>, Option<u128>, Option<u128>) {
        let counts = read(drive, |asked, _, bytes| {
            let (_, page) = pages.iter().find(|(page, _)| *page == asked)?;
            Some(page[..bytes.min(page.len())].to_vec())
        });
        let known = Amplification::of(&counts);
        (known.waf(), known.host_bytes(), known.flash_bytes())
    }

    fn of(vendor: u16) -> DriveIdentity {
        DriveIdentity {
            vendor,
            ..DriveIdentity::default()
        }
    }

    /// The SMART log of a drive to which hosts wrote a thousand data units.
    fn smart() -> (u8, Vec<u8>) {
        (0x02, page(&[(48, 1000)], 0))
    }

    #[test]
    fn standard_pages_are_decoded_in_their_units() {
        let fdp = DriveIdentity {
            has_fdp: true,
            endurance_group: 3,
            ..DriveIdentity::default()
        };
        let statistics = (0x22, page(&[(0, 700), (16, 910)], 0));
        let expected = (Some(1.3), Some(700), Some(910));
        assert_eq!(found(&fdp, &[statistics.clone(), smart()]), expected);
        // Without Flexible Data Placement the page is not asked for.
        let hosts = (None, Some(512_000_000), None);
        assert_eq!(found(&of(0), &[statistics, smart()]), hosts);
        let ocp = |guid| (0xc0, page(&[(0, 1_024_000_000)], guid));
        let both = (Some(2.0), Some(512_000_000), Some(1_024_000_000));
        assert_eq!(found(&of(0), &[smart(), ocp(OCP)]), both);
        assert_eq!(found(&of(0), &[smart(), ocp(OCP + 1)]), hosts);
        let boot = (0xc0, page(&[(0, 900_000_000), (16, 124_000_000)], BOOT));
        assert_eq!(found(&of(0), &[smart(), boot]), both);
        let group = (0x09, page(&[(64, 100), (80, 250)], 0));
        let billions = (Some(2.5), Some(100_000_000_000), Some(250_000_000_000));
        assert_eq!(found(&of(0), &[group]), billions);
        let uncounted = (0x09, page(&[(64, 100)], 0));
        assert_eq!(found(&of(0), &[uncounted, smart()]), hosts);
    }

    #[test]
    fn vendors_pages_are_decoded_for_their_drives_alone() {
        let micron = (0xd0, page(&[(176, 768_000_000)], 0));
        let (waf, hosts) = (Some(1.5), Some(512_000_000));
        let expected = (waf, hosts, Some(768_000_000));
        assert_eq!(found(&of(0x1344), &[smart(), micron.clone()]), expected);
        assert_eq!(found(&of(0x144d), &[smart(), micron]), (None, hosts, None));
        // Intel's entries are 12 bytes long: key, two bytes, normalized, one byte, six bytes of the value.
        let mut intel = page(&[], 0);
        for (at, key, value) in [(24, 0xf4, 300_u64), (132, 0xf5, 200)] {
            intel[at] = key;
            intel[at + 3] = 100;
            intel[at + 5..at + 11].copy_from_slice(&value.to_le_bytes()[..6]);
        }
        for vendor in [0x8086, 0x025e, 0x1c5f, 0x1e3b, 0xcc53, 0x1e95, 0x1e49] {
            let pages = [smart(), (0xca, intel.clone())];
            assert_eq!(found(&of(vendor), &pages), (waf, hosts, None));
        }
        let wd = (0xfb, page(&[(0, 700_000_000), (16, 68_000_000)], 0));
        assert_eq!(found(&of(0x15b7), &[smart(), wd]), expected);
        let mut seagate = page(&[], 0);
        seagate[0] = 2;
        for (at, key, value) in [(14, 233, 600_u64), (26, 241, 400)] {
            seagate[at] = key;
            seagate[at + 4..at + 12].copy_from_slice(&value.to_le_bytes());
        }
        let pages = [(0xc4, seagate.clone())];
        assert_eq!(found(&of(0x1bb1), &pages), (waf, Some(400), Some(600)));
        // Before version 2 the entries have another form.
        seagate[0] = 1;
        assert_eq!(found(&of(0x1bb1), &[(0xc4, seagate)]), (None, None, None));
    }

    #[test]
    fn short_pages_and_zeroes_of_drives_that_do_not_count_are_no_counts() {
        for row in PAGES {
            if let Place::Field { at, width, .. } = row.place {
                assert!(row.decode(&vec![1; at + width - 1]).is_none(), "{row:?}");
            }
            let zero = row.decode(&[0; PAGE_BYTES]);
            let is_plain = matches!(
                row.place,
                Place::Field {
                    guard: Guard::None,
                    ..
                }
            );
            assert_eq!(zero.is_some(), row.may_be_zero && is_plain, "{row:?}");
        }
    }

    #[test]
    fn a_drive_of_an_unknown_vendor_is_reported_with_its_need() {
        let words = missing(&of(0x144d));
        assert!(
            words.contains("no log of its vendor's") && words.contains("144d"),
            "{words}"
        );
        assert!(missing(&of(0x1344)).contains("is not there"));
        let fdp = DriveIdentity {
            has_fdp: true,
            ..of(0)
        };
        assert!(!missing(&fdp).contains("22h"));
    }

    #[test]
    fn no_more_pages_are_asked_for_than_it_takes() {
        let mut asked = Vec::new();
        let ocp = page(&[(0, 1_024_000_000)], OCP);
        read(&of(0x8086), |page, _, _| {
            asked.push(page);
            match page {
                0xc0 => Some(ocp.clone()),
                0x02 => Some(smart().1),
                _ => None,
            }
        });
        assert_eq!(asked, [0x02, 0xc0]);
    }
}
