//! A snapshot as people read it: a screen that is drawn in place, or a line for a log.

use anabranch_replay::ContextLives;
use anabranch_report::{Look, bytes, foreign, ratio};

use crate::{
    scheme_view::SchemeView,
    snapshot::{DeviceView, DriveView, Own, Snapshot},
};

/// Contexts of a device on the screen (our choice: half a screen of two devices).
const CONTEXTS: usize = 5;
/// Indentation of a device's answer, as of its rows.
const INDENT: &str = "  ";
/// Bars of a WAF: 1 is empty, 2 is full (our choice).
const BARS: f64 = 20.0;

/// The screen of a snapshot, as wide as `look` has it: sentences are wrapped between words, rows are cut.
pub fn screen(snapshot: &Snapshot, look: &Look) -> String {
    let mut lines = Vec::new();
    for device in &snapshot.devices {
        lines.push(look.wrapped(&flow(device)));
        let names = device
            .schemes
            .iter()
            .map(|scheme| scheme.name.chars().count());
        let width = names.max().unwrap_or(0);
        let rows = device.schemes.iter().map(|scheme| row(scheme, width));
        let contexts = device.contexts.iter().take(CONTEXTS).map(context);
        let rows = rows.chain(device.drive.iter().map(drive)).chain(contexts);
        lines.extend(rows.map(|row| cut(row, look)));
        let inner = Look {
            width: look.width.map(|width| width.saturating_sub(INDENT.len())),
            ..*look
        };
        let answer = inner.wrapped(&device.answer.words);
        lines.extend(answer.lines().map(|line| format!("{INDENT}{line}")));
    }
    lines.push(look.wrapped(&own(&snapshot.own, snapshot.watched_s)));
    lines.join("\n")
}

/// A row that ends where the terminal does.
fn cut(row: String, look: &Look) -> String {
    match look.width {
        Some(width) if row.chars().count() > width => {
            let kept: String = row.chars().take(width.saturating_sub(1)).collect();
            format!("{kept}…")
        }
        _ => row,
    }
}

/// The line of one device for a log.
pub fn line(device: &DeviceView) -> String {
    let wafs = device.schemes.iter().map(|scheme| {
        format!(
            "{} {}",
            foreign(&scheme.name),
            with_error(scheme.waf, scheme.error)
        )
    });
    let wafs: Vec<String> = wafs.collect();
    format!("{}; WAF {}", flow(device), wafs.join(", "))
}

/// Traffic of a device.
fn flow(device: &DeviceView) -> String {
    let gone = if device.is_watched { "" } else { ", GONE" };
    format!(
        "{} ({}{gone}): {} written, {:.2} capacities, shadows {} full at {}, {} events lost",
        foreign(&device.device),
        device.kind,
        bytes(device.source.write_bytes),
        device.source.capacities_written,
        anabranch_report::share((device.filled * 1000.0) as u64, 1000),
        device.rate,
        device.source.lost_events,
    )
}

fn row(scheme: &SchemeView, width: usize) -> String {
    let bars = scheme.waf_window.map_or(0.0, |waf| (waf - 1.0) * BARS);
    format!(
        "  {:>width$}  WAF {:15} last capacity {:15} {}",
        foreign(&scheme.name),
        with_error(scheme.waf, scheme.error),
        with_error(scheme.waf_window, scheme.window_error),
        "▇".repeat(bars.clamp(0.0, BARS) as usize),
    )
}

/// Counters of the drive itself.
fn drive(drive: &DriveView) -> String {
    let media = drive.media_bytes.map_or_else(
        || "it does not count its flash".to_owned(),
        |media| format!("{} on its flash, WAF {}", bytes(media), ratio(drive.waf)),
    );
    format!(
        "  the drive ({}): {} from hosts, {media}",
        drive.log,
        bytes(drive.host_bytes)
    )
}

fn with_error(waf: Option<f64>, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{} ± {error:.3}", ratio(waf)),
        None => ratio(waf),
    }
}

fn context(context: &ContextLives) -> String {
    let name = if context.label.is_empty() {
        &context.role
    } else {
        &context.label
    };
    let half = context.lives.quantiles_bytes.get(2);
    let half = half.map_or_else(
        || "lives on".to_owned(),
        |half| format!("half outlives {}", bytes(*half)),
    );
    // Columns, the widest last: `half outlives 1023.99 MiB` has 25 letters.
    format!(
        "  {:>11}  {half:25}  {}",
        bytes(context.written_bytes),
        foreign(name)
    )
}

fn own(own: &Own, watched_s: f64) -> String {
    format!(
        "watched for {watched_s:.0} s; this costs {:.2} % of a processor, {} and {} in the kernel",
        100.0 * own.cpu,
        bytes(own.memory_bytes),
        bytes(own.kernel_bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_ends_where_the_terminal_does() {
        let look = |width| Look {
            width,
            ..Look::default()
        };
        assert_eq!(cut("  1.20 GiB".into(), &look(Some(8))), "  1.20 …");
        assert_eq!(cut("  1.20 GiB".into(), &look(Some(10))), "  1.20 GiB");
        assert_eq!(cut("  1.20 GiB".into(), &look(None)), "  1.20 GiB");
    }
}
