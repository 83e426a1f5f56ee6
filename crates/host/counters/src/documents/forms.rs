//! The table of documents: the commands that write them, and their counters.

use crate::count::{Quantity, Unit};
use crate::row::{Drives, Place, Row};

/// A form of document that is known by a member of one of its objects.
pub(crate) struct Form {
    /// The command that writes it.
    pub(super) name: &'static str,
    /// Member of the object in which the counters are.
    pub(super) mark: &'static str,
    /// Members of other objects that have the mark as well, in another unit.
    pub(super) unless: &'static [&'static str],
    /// Its counters. A form without any has those of `ATTRIBUTES`.
    pub(crate) rows: &'static [Row],
}

impl Form {
    const fn new(name: &'static str, mark: &'static str, rows: &'static [Row]) -> Form {
        Form {
            name,
            mark,
            unless: &[],
            rows,
        }
    }

    const fn unless(self, unless: &'static [&'static str]) -> Form {
        Form { unless, ..self }
    }
}

const fn row(
    quantity: Quantity,
    log: &'static str,
    place: Place,
    unit: Unit,
    source: &'static str,
) -> Row {
    Row {
        log,
        drives: Drives::Any,
        place,
        quantity,
        unit,
        may_be_zero: false,
        source,
    }
}

const fn host(log: &'static str, place: Place, unit: Unit, source: &'static str) -> Row {
    row(Quantity::Host, log, place, unit, source)
}

const fn flash(log: &'static str, place: Place, unit: Unit, source: &'static str) -> Row {
    row(Quantity::Flash, log, place, unit, source)
}

/// A count of one kind of cells, in bytes.
const fn share(log: &'static str, name: &'static str, source: &'static str) -> Row {
    row(Quantity::Share, log, Member(name), BYTE, source)
}

/// A counter of a log that only drives have which count.
const fn or_zero(row: Row) -> Row {
    Row {
        may_be_zero: true,
        ..row
    }
}

const BYTE: Unit = Unit::Bytes(1);
const DATA_UNIT: Unit = Unit::Bytes(512_000);
const MILLION: Unit = Unit::Bytes(1_000_000);
const BILLION: Unit = Unit::Bytes(1_000_000_000);
const ENTRIES: Unit = Unit::Unnamed("units of log CAh");
/// Units of Western Digital's log D0h. The plug-in names neither, and calls the flash's alone logical pages.
const USER_WRITES: Unit = Unit::Unnamed("user writes of log D0h");
const NAND_WRITES: Unit = Unit::Unnamed("NAND writes of log D0h");

const SHOWN: &str = "nvme-cli src/nvme-print-json.c";
const OCP: &str = "nvme-cli plugins/ocp/ocp-print-json.c";
const WDC: &str = "nvme-cli plugins/wdc/wdc-nvme.c";
const SEAGATE: &str = "nvme-cli plugins/seagate/seagate-nvme.c";
const MICRON: &str = "nvme-cli plugins/micron/micron-nvme.c";
const INTEL: &str = "nvme-cli plugins/intel/intel-nvme.c and plugins/solidigm/solidigm-smart.c";
const SCSI: &str = "smartmontools src/scsiprint.cpp";

const FDP: &str = "FDP statistics";
const GROUP: &str = "endurance group";
const OCP_LOG: &str = "OCP SMART log";
const SEAGATE_LOG: &str = "Seagate log C4h";
const INTEL_LOG: &str = "Intel's log CAh";
const MICRON_CELLS: &str = "Micron log C0h or FBh";
const WDC_STATS: &str = "Western Digital log FBh";
const WDC_BOOT: &str = "OCP boot drive log";
const WDC_CA: &str = "Western Digital log CAh";
const WDC_D0: &str = "Western Digital log D0h";

use Place::{Halves, Member, Named, Thousandths};

/// The forms. An object may have several.
pub(crate) const FORMS: &[Form] = &[
    Form::new(
        "nvme fdp stats",
        "mbmw",
        &[
            or_zero(host(FDP, Member("hbmw"), BYTE, SHOWN)),
            or_zero(flash(FDP, Member("mbmw"), BYTE, SHOWN)),
        ],
    ),
    Form::new(
        "nvme endurance-log",
        "media_units_written",
        &[
            host(GROUP, Member("data_units_written"), BILLION, SHOWN),
            flash(GROUP, Member("media_units_written"), BILLION, SHOWN),
        ],
    )
    .unless(OF_SMART),
    // The name of the same field until nvme-cli 2.1.
    Form::new(
        "nvme endurance-log",
        "mediate_write_commands",
        &[
            host(GROUP, Member("data_units_written"), BILLION, SHOWN),
            flash(GROUP, Member("mediate_write_commands"), BILLION, SHOWN),
        ],
    )
    .unless(OF_SMART),
    Form::new(
        "nvme ocp smart-add-log",
        "physical_media_units_written",
        &[flash(
            OCP_LOG,
            Member("physical_media_units_written"),
            BYTE,
            OCP,
        )],
    ),
    Form::new(
        "nvme ocp smart-add-log",
        "Physical media units written",
        &[flash(
            OCP_LOG,
            Member("Physical media units written"),
            BYTE,
            OCP,
        )],
    ),
    Form::new(
        "nvme micron vs-smart-add-log",
        "Physical Media Units Written",
        &[flash(
            OCP_LOG,
            Member("Physical Media Units Written"),
            BYTE,
            MICRON,
        )],
    ),
    Form::new(
        "nvme seagate vs-smart-add-log",
        "Seagate SMART Health Attributes",
        &[flash(
            OCP_LOG,
            Named("Physical Media Units Written"),
            BYTE,
            SEAGATE,
        )],
    ),
    // The attributes `LSB of …` of the same log are cut to 32 bits; these are whole.
    Form::new(
        "nvme seagate vs-smart-add-log",
        "Extended-SMART-Attributes",
        &[
            host(
                SEAGATE_LOG,
                Named("Physical (HOST) bytes written"),
                BYTE,
                SEAGATE,
            ),
            flash(
                SEAGATE_LOG,
                Named("Physical (NAND) bytes written"),
                BYTE,
                SEAGATE,
            ),
        ],
    ),
    Form::new(
        "nvme intel smart-log-add",
        "nand_bytes_written",
        &[
            host(INTEL_LOG, Member("host_bytes_written"), ENTRIES, INTEL),
            flash(INTEL_LOG, Member("nand_bytes_written"), ENTRIES, INTEL),
        ],
    ),
    Form::new(
        "nvme micron vs-nand-stats",
        "NAND Writes (Bytes Written)",
        &[flash(
            "Micron log D0h",
            Member("NAND Writes (Bytes Written)"),
            BYTE,
            MICRON,
        )],
    ),
    Form::new(
        "nvme micron vs-nand-stats",
        "Physical Media Units Written - TLC",
        &[
            share(MICRON_CELLS, "Physical Media Units Written - TLC", MICRON),
            share(MICRON_CELLS, "Physical Media Units Written - SLC", MICRON),
        ],
    ),
    Form::new(
        "nvme wdc vs-nand-stats",
        "NAND Writes TLC (Bytes)",
        &[
            share(WDC_STATS, "NAND Writes TLC (Bytes)", WDC),
            share(WDC_STATS, "NAND Writes SLC (Bytes)", WDC),
        ],
    ),
    Form::new(
        "nvme wdc vs-smart-add-log",
        "physical_media_units_bytes_tlc",
        &[
            share(WDC_BOOT, "physical_media_units_bytes_tlc", WDC),
            share(WDC_BOOT, "physical_media_units_bytes_slc", WDC),
        ],
    ),
    Form::new(
        "nvme wdc vs-smart-add-log",
        "nand_bytes_written raw",
        &[
            host(WDC_CA, Member("host_bytes_written raw"), ENTRIES, WDC),
            flash(WDC_CA, Member("nand_bytes_written raw"), ENTRIES, WDC),
        ],
    ),
    Form::new(
        "nvme wdc vs-smart-add-log",
        "NAND Bytes Written Lo",
        &[flash(
            WDC_CA,
            Halves {
                high: "NAND Bytes Written Hi",
                low: "NAND Bytes Written Lo",
            },
            BYTE,
            WDC,
        )],
    ),
    Form::new(
        "nvme wdc vs-smart-add-log",
        "Lifetime NAND Writes",
        &[
            host(WDC_D0, Member("Lifetime User Writes"), USER_WRITES, WDC),
            flash(WDC_D0, Member("Lifetime NAND Writes"), NAND_WRITES, WDC),
        ],
    ),
    Form::new(
        "nvme smart-log or smartctl -x -j",
        "data_units_written",
        &[or_zero(host(
            "SMART log",
            Member("data_units_written"),
            DATA_UNIT,
            SHOWN,
        ))],
    )
    .unless(&["media_units_written", "mediate_write_commands"]),
    Form::new("smartctl -x -j", "ata_smart_attributes", &[]),
    Form::new("smartctl -x -j", "ata_device_statistics", &[]).unless(&["ata_smart_attributes"]),
    Form::new(
        "smartctl -x -j",
        "scsi_error_counter_log",
        &[host(
            "SCSI error counters",
            Thousandths(&["scsi_error_counter_log", "write", "gigabytes_processed"]),
            MILLION,
            SCSI,
        )],
    ),
];

/// Members of the SMART log alone. Of an object that is merged of both logs, `data_units_written` may be either's.
const OF_SMART: &[&str] = &["avail_spare", "available_spare"];
