//! The findings on a drive as text.

use std::path::Path;

use anabranch_calibrate::{
    Band, Findings, Handle, Isolation, Measured, ObservedCollection, UnitEnds, Victims,
};
use anabranch_report::{bytes, line, message};

/// A line for each thing that was asked.
pub fn render(found: &Findings, profile: Option<&Path>) -> String {
    let mut rows = vec![
        ("mapping unit", measured(&found.mapping_unit, None)),
        ("write buffer", buffer(&found.write_buffer)),
        ("reclaim unit", measured(&found.unit, found.unit_by)),
        ("spare", spare(found)),
        ("discard", found.discard_words().to_owned()),
        ("victims", victims(&found.collection)),
        ("collection", collection(&found.collection)),
    ];
    if found.placement == "fdp" {
        rows.push(("ends of units", ends(&found.unit_ends)));
    }
    rows.extend(found.handles.iter().map(|one| ("handle", handle(one))));
    let mut text = format!(
        "{}\ncounted by its {}; {} sent, {} on its flash\n\n",
        line(&format!(
            "{}, serial number {}, {}",
            found.model,
            found.serial,
            bytes(found.logical_bytes)
        )),
        found.counter,
        bytes(found.sent_bytes),
        bytes(found.media_bytes),
    );
    for (name, words) in rows {
        text += &format!("{name:<13} {words}\n");
    }
    text += &format!(
        "\nCollecting by the host {}.\n",
        found.host_collection_words()
    );
    for note in &found.notes {
        text += &format!("\n{}\n", message(note));
    }
    match profile {
        Some(path) => text + &format!("\nprofile: {}\n", line(&path.to_string_lossy())),
        None => text,
    }
}

fn band(band: Band) -> String {
    if band.low == band.high {
        bytes(band.best as u64)
    } else {
        format!(
            "{} ({} to {})",
            bytes(band.best.round() as u64),
            bytes(band.low.round() as u64),
            if band.high.is_finite() {
                bytes(band.high.round() as u64)
            } else {
                "any".to_owned()
            }
        )
    }
}

fn measured(measured: &Measured, by: Option<&str>) -> String {
    let by = by.map_or(String::new(), |by| format!(", by the {by}"));
    match (measured.bytes, measured.told_bytes) {
        (Some(found), Some(told)) => {
            format!("{}{by}; the drive says {}", band(found), bytes(told))
        }
        (Some(found), None) => format!("{}{by}; the drive does not say", band(found)),
        (None, Some(told)) => format!("the drive says {}; not measured", bytes(told)),
        (None, None) => "not known".to_owned(),
    }
}

fn buffer(measured: &Measured) -> String {
    match measured.bytes {
        Some(lag) => format!("at least {}: the counter was that far behind", band(lag)),
        None => "none that the counter shows: it kept up with every write".to_owned(),
    }
}

fn spare(found: &Findings) -> String {
    let (Some(share), Some(flash)) = (found.spare, found.physical.bytes) else {
        return "not known".to_owned();
    };
    let percent = |share: f64| {
        if share.is_finite() {
            format!("{:.1} %", share * 100.0)
        } else {
            "any".to_owned()
        }
    };
    format!(
        "{} ({} to {}) of what the host sees: {} of flash",
        percent(share.best),
        percent(share.low),
        percent(share.high),
        bytes(flash.best.round() as u64)
    )
}

fn victims(found: &ObservedCollection) -> String {
    let rule = match found.victims {
        None => "not told apart",
        Some(Victims::Greedy) => "greedy: the unit with the least valid data",
        Some(Victims::Age) => "valid data weighed with age",
        Some(Victims::Fifo) => "first in, first out",
    };
    match found.misfit.zip(found.next_misfit) {
        None => rule.to_owned(),
        Some((best, next)) => format!(
            "{rule} (copies differ by {:.1} % from the nearest rule's, by {:.1} % from the next one's)",
            best * 100.0,
            next * 100.0
        ),
    }
}

fn collection(found: &ObservedCollection) -> String {
    let mut words = Vec::new();
    if let Some(taken) = found.begins_after_bytes {
        words.push(format!("begins when an empty drive took {}", bytes(taken)));
    }
    match found.units_at_once {
        None => {}
        Some(1) => words.push("frees a unit at a time".to_owned()),
        Some(units) => words.push(format!("frees {units} units at a time")),
    }
    if let Some((seconds, copied)) = found.idle_seconds.zip(found.idle_copied_bytes) {
        words.push(match (copied, found.idle_freed_bytes) {
            (0, _) => format!("copies nothing in {seconds} idle seconds"),
            (copied, None) => format!("copied {} in {seconds} idle seconds", bytes(copied)),
            (copied, Some(freed)) => format!(
                "copied {} in {seconds} idle seconds, then took {} without copies",
                bytes(copied),
                bytes(freed)
            ),
        });
    }
    if words.is_empty() {
        "not known".to_owned()
    } else {
        words.join("; ")
    }
}

fn ends(found: &UnitEnds) -> String {
    let room = match found.room_is_true {
        None => "whether a unit's room is true is not known",
        Some(true) => "a unit's room falls by what is written",
        Some(false) => "a unit's room does NOT fall by what is written",
    };
    let update = match found.update_ends_unit {
        None => "whether a handle update ends a unit is not known",
        Some(true) => "a handle update ends a unit",
        Some(false) => "a handle update does NOT end a unit",
    };
    let host = found.host_bytes.map_or(String::new(), |host| {
        format!("; {} of the host's from end to end", bytes(host))
    });
    format!("{room}; {update}{host}")
}

fn handle(handle: &Handle) -> String {
    let name = |isolation| match isolation {
        Isolation::Initial => "initially isolated",
        Isolation::Persistent => "persistently isolated",
    };
    let own = match handle.has_own_unit {
        Some(false) => "; its writes are NOT in a unit of its own",
        Some(true) if handle.measured.is_none() => "; its writes are in a unit of its own",
        _ => "",
    };
    let copied = handle.copied_share;
    let copied = copied.map_or(String::new(), |share| format!(" ({share:.2} copied)"));
    let words = match (handle.measured, handle.told) {
        (Some(found), Some(told)) if found == told => {
            format!("{}, as the drive says", name(found))
        }
        (Some(found), Some(told)) => {
            format!("{}; the drive says {}", name(found), name(told))
        }
        (Some(found), None) => name(found).to_owned(),
        (None, Some(told)) => format!("the drive says {}; not measured", name(told)),
        (None, None) => "not measured".to_owned(),
    };
    format!("{}: {words}{copied}{own}", handle.identifier)
}
