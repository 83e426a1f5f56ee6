//! The forms of a trace, as the command names them.

use anabranch_trace::foreign;
use clap::{ValueEnum, builder::PossibleValue};

/// A form of other people's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foreign {
    /// The one it looks like.
    Auto,
    /// This one.
    Named(foreign::Format),
}

/// Every form a trace can be replayed from. A CSV has to be imported: its columns must be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Anabranch's own Parquet.
    Native,
    /// Raw little-endian u32 page numbers, one 4 KiB write each.
    U32,
    /// One of other people's.
    Foreign(Foreign),
}

impl From<Format> for anabranch_compare::Format {
    fn from(format: Format) -> anabranch_compare::Format {
        match format {
            Format::Native => anabranch_compare::Format::Native,
            Format::U32 => anabranch_compare::Format::U32,
            Format::Foreign(Foreign::Auto) => anabranch_compare::Format::Auto,
            Format::Foreign(Foreign::Named(named)) => anabranch_compare::Format::Foreign(named),
        }
    }
}

impl ValueEnum for Foreign {
    fn value_variants<'a>() -> &'a [Foreign] {
        use foreign::Format::{
            Alibaba, Blkparse, Blktrace, Csv, FioIolog, Fiu, Ftrace, MqSim, Msr, OracleGeneral,
            Spc, Tencent,
        };
        const ALL: [Foreign; 13] = [
            Foreign::Auto,
            Foreign::Named(Blkparse),
            Foreign::Named(Blktrace),
            Foreign::Named(Ftrace),
            Foreign::Named(FioIolog),
            Foreign::Named(Fiu),
            Foreign::Named(Msr),
            Foreign::Named(Alibaba),
            Foreign::Named(Tencent),
            Foreign::Named(MqSim),
            Foreign::Named(Spc),
            Foreign::Named(OracleGeneral),
            Foreign::Named(Csv),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            Foreign::Auto => PossibleValue::new("auto").help("The one it looks like"),
            Foreign::Named(format) => PossibleValue::new(format.name()).help(format.about()),
        })
    }
}

impl ValueEnum for Format {
    fn value_variants<'a>() -> &'a [Format] {
        use foreign::Format::{
            Alibaba, Blkparse, Blktrace, FioIolog, Fiu, Ftrace, MqSim, Msr, OracleGeneral, Spc,
            Tencent,
        };
        const fn named(format: foreign::Format) -> Format {
            Format::Foreign(Foreign::Named(format))
        }
        const ALL: [Format; 14] = [
            Format::Native,
            Format::U32,
            Format::Foreign(Foreign::Auto),
            named(Blkparse),
            named(Blktrace),
            named(Ftrace),
            named(FioIolog),
            named(Fiu),
            named(Msr),
            named(Alibaba),
            named(Tencent),
            named(MqSim),
            named(Spc),
            named(OracleGeneral),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Format::Native => Some(PossibleValue::new("native").help("Anabranch's own Parquet")),
            Format::U32 => Some(
                PossibleValue::new("u32")
                    .help("Raw little-endian u32 page numbers, one 4 KiB write each"),
            ),
            Format::Foreign(Foreign::Auto) => {
                Some(PossibleValue::new("auto").help("The one of other tools' it looks like"))
            }
            Format::Foreign(named) => named.to_possible_value(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_foreign_format_can_be_named_and_only_a_csv_has_to_be_imported() {
        for format in foreign::Format::ALL {
            let one = Foreign::Named(format);
            assert!(Foreign::value_variants().contains(&one), "{one:?}");
            let replayed = Format::value_variants().contains(&Format::Foreign(one));
            assert_eq!(replayed, format != foreign::Format::Csv, "{one:?}");
        }
    }
}
