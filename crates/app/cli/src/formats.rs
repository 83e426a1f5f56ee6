//! The names of traces' forms on the command line.

use anabranch_compare::Format;
use anabranch_trace::foreign;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// The forms that a trace can be replayed from. Those that need a column map are not among them:
/// they are imported first.
pub fn replayed() -> impl TypedValueParser<Value = Format> {
    let own = [
        ("native", "Anabranch's own Parquet"),
        (
            "u32",
            "Raw little-endian u32 page numbers, one 4 KiB write each",
        ),
        ("auto", "The one of other tools' it looks like"),
    ];
    let own = own.map(|(name, about)| PossibleValue::new(name).help(about));
    let foreign = foreign::Format::ALL.iter();
    let known = foreign.filter(|one| !one.needs_columns()).map(value);
    PossibleValuesParser::new(own.into_iter().chain(known)).try_map(|name| name.parse::<Format>())
}

/// The foreign forms, and the word for the one that a trace looks like.
pub fn imported() -> impl TypedValueParser<Value = Format> {
    let auto = PossibleValue::new("auto").help("The one it looks like");
    let all = foreign::Format::ALL.iter().map(value);
    PossibleValuesParser::new(std::iter::once(auto).chain(all)).map(|name| {
        let named = foreign::Format::from_name(&name);
        named.map_or(Format::Auto, Format::Foreign)
    })
}

fn value(format: &foreign::Format) -> PossibleValue {
    PossibleValue::new(format.name()).help(format.about())
}
