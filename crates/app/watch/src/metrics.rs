//! A snapshot as a monitoring system reads it.

use anabranch_replay::ContextLives;
use anabranch_report::{Exposition, Labels, Metric};

use crate::{
    answer::AnswerKind,
    labels::ContextLabels,
    scheme_view::SchemeView,
    snapshot::{DeviceView, Snapshot},
};

/// Names of contexts without a label of their own.
const OTHERS: &str = "others";
/// The quantiles of lifetimes, as `Lives` has them.
const QUANTILES: [&str; 5] = ["0.05", "0.25", "0.5", "0.75", "0.95"];

/// A device with the labels of its contexts.
type Labelled<'a> = (&'a DeviceView, &'a ContextLabels);

/// The text of a snapshot; `labels` are each device's.
pub fn metrics(snapshot: &Snapshot, labels: &[ContextLabels]) -> String {
    let devices: Vec<Labelled<'_>> = snapshot.devices.iter().zip(labels).collect();
    let mut text = Exposition::new("anabranch_watch");
    of_devices(&mut text, &devices);
    of_schemes(&mut text, &devices);
    of_contexts(&mut text, &devices);
    of_drives(&mut text, &devices);
    let own = &snapshot.own;
    let alone = |value: f64| [(Vec::new(), value)];
    text.family(
        "cpu_seconds",
        Metric::Counter,
        "Processor time of the watcher",
        alone(own.cpu_s),
    );
    text.family(
        "memory_bytes",
        Metric::Gauge,
        "Memory of the watcher",
        alone(own.memory_bytes as f64),
    );
    text.family(
        "kernel_memory_bytes",
        Metric::Gauge,
        "Memory the kernel holds for its probes",
        alone(own.kernel_bytes as f64),
    );
    text.finish()
}

fn label(device: &DeviceView) -> Labels {
    vec![("device", device.device.clone())]
}

fn of_devices(text: &mut Exposition, devices: &[Labelled<'_>]) {
    use Metric::{Counter, Gauge};
    type Of = fn(&DeviceView) -> f64;
    let families: [(&str, Metric, &str, Of); 11] = [
        (
            "up",
            Gauge,
            "Whether the device is there and watched",
            |one| f64::from(u8::from(one.is_watched)),
        ),
        ("requests", Counter, "Requests seen", |one| {
            one.source.records as f64
        }),
        (
            "written_bytes",
            Counter,
            "Bytes written to the device",
            |one| one.source.write_bytes as f64,
        ),
        ("discarded_bytes", Counter, "Bytes discarded", |one| {
            one.source.discarded_bytes as f64
        }),
        (
            "lost_events",
            Counter,
            "Events the kernel could not hand over",
            |one| one.source.lost_events as f64,
        ),
        ("device_bytes", Gauge, "Size of the device", |one| {
            one.device_bytes as f64
        }),
        (
            "capacities",
            Gauge,
            "Capacities of the device written",
            |one| one.source.capacities_written,
        ),
        (
            "filled_ratio",
            Gauge,
            "Share of the shadow drives that holds data",
            |one| one.filled,
        ),
        (
            "sample_pages",
            Gauge,
            "One page of so many is kept",
            |one| one.rate.pages().into(),
        ),
        (
            "pays",
            Gauge,
            "1 where streams pay, 0 where not, NaN while that is open",
            pays,
        ),
        (
            "life_ratio",
            Gauge,
            "How many times as long the flash lasts with the best scheme",
            |one| one.answer.life.unwrap_or(f64::NAN),
        ),
    ];
    for (name, metric, help, of) in families {
        let values = devices
            .iter()
            .map(|(device, _)| (label(device), of(device)));
        text.family(name, metric, help, values);
    }
}

fn pays(device: &DeviceView) -> f64 {
    match device.answer.kind {
        AnswerKind::WorthIt => 1.0,
        AnswerKind::NotWorthIt => 0.0,
        AnswerKind::Unclear | AnswerKind::TooEarly | AnswerKind::NotCompared => f64::NAN,
    }
}

fn of_schemes(text: &mut Exposition, devices: &[Labelled<'_>]) {
    let mut schemes = Vec::new();
    for (device, _) in devices {
        schemes.extend(device.schemes.iter().map(|scheme| (label(device), scheme)));
    }
    scheme_metrics(text, &schemes);
}

/// Adds what each scheme made of the writes, with its labels and its name as one more.
pub fn scheme_metrics(text: &mut Exposition, schemes: &[(Labels, &SchemeView)]) {
    use Metric::{Counter, Gauge};
    type Of = fn(&SchemeView) -> Option<f64>;
    let families: [(&str, Metric, &str, Of); 6] = [
        (
            "scheme_host_page_bytes",
            Counter,
            "Bytes the host wrote",
            |one| Some(one.host_page_bytes as f64),
        ),
        (
            "scheme_copied_bytes",
            Counter,
            "Bytes garbage collection copied",
            |one| Some(one.copied_bytes as f64),
        ),
        (
            "waf_ratio",
            Gauge,
            "Media bytes over host bytes since watching began",
            |one| one.waf,
        ),
        (
            "waf_error_ratio",
            Gauge,
            "Half the 95 % interval of that",
            |one| one.error,
        ),
        (
            "waf_window_ratio",
            Gauge,
            "The same over the last capacity of writes",
            |one| one.waf_window,
        ),
        (
            "waf_window_error_ratio",
            Gauge,
            "Half the 95 % interval of that",
            |one| one.window_error,
        ),
    ];
    for (name, metric, help, of) in families {
        let value = |(labels, scheme): &(Labels, &SchemeView)| {
            let mut labels = labels.clone();
            labels.push(("scheme", scheme.name.clone()));
            Some((labels, of(scheme)?))
        };
        let values: Vec<_> = schemes.iter().filter_map(value).collect();
        text.family(name, metric, help, values);
    }
}

fn of_contexts(text: &mut Exposition, devices: &[Labelled<'_>]) {
    let labelled = |device: &DeviceView, context: &str| {
        let mut labels = label(device);
        labels.push(("context", context.to_owned()));
        labels
    };
    // Whose bytes they are stays told by the number that a context has for good: its row may leave the list.
    let written = devices.iter().flat_map(|(device, labels)| {
        let own = labels
            .own()
            .map(|(id, bytes)| (labelled(device, &id.to_string()), bytes as f64));
        let others = (labelled(device, OTHERS), labels.other_bytes() as f64);
        own.chain([others]).collect::<Vec<_>>()
    });
    text.family(
        "context_written_bytes",
        Metric::Counter,
        "Bytes by program context",
        written,
    );
    type Each<'a> = &'a dyn Fn(&DeviceView, &ContextLives) -> Vec<(Labels, f64)>;
    let listed = |each: Each<'_>| {
        let of = |(device, labels): &Labelled<'_>| {
            let own = device
                .contexts
                .iter()
                .filter(|context| labels.bytes_of(context.id).is_some());
            own.flat_map(|context| each(device, context))
                .collect::<Vec<_>>()
        };
        devices.iter().flat_map(of).collect::<Vec<_>>()
    };
    let info = listed(&|device, context| {
        let mut labels = labelled(device, &context.id.to_string());
        labels.push(("signature", context.signature.clone()));
        labels.push(("role", context.role.clone()));
        labels.push(("label", context.label.clone()));
        vec![(labels, 1.0)]
    });
    text.family(
        "context_info",
        Metric::Gauge,
        "Who a context is; those that write most",
        info,
    );
    let lives = listed(&|device, context| {
        let quantiles = QUANTILES.iter().zip(&context.lives.quantiles_bytes);
        let quantiles = quantiles.map(|(quantile, bytes)| {
            let mut labels = labelled(device, &context.id.to_string());
            labels.push(("quantile", (*quantile).to_owned()));
            (labels, *bytes as f64)
        });
        quantiles.collect()
    });
    text.family(
        "context_lifetime_bytes",
        Metric::Gauge,
        "Lifetimes that so many of a context's bytes did not outlive, in bytes written to the device",
        lives,
    );
}

/// Counters of the drives themselves.
fn of_drives(text: &mut Exposition, devices: &[Labelled<'_>]) {
    type Of = fn(&crate::snapshot::DriveView) -> Option<f64>;
    let families: [(&str, Metric, &str, Of); 3] = [
        (
            "drive_host_bytes",
            Metric::Counter,
            "Bytes hosts wrote, as the drive counts them",
            |one| Some(one.host_bytes as f64),
        ),
        (
            "drive_media_bytes",
            Metric::Counter,
            "Bytes the drive wrote on its flash",
            |one| Some(one.media_bytes? as f64),
        ),
        (
            "drive_waf_ratio",
            Metric::Gauge,
            "The drive's own write amplification since watching began",
            |one| one.waf,
        ),
    ];
    for (name, metric, help, of) in families {
        let values = devices.iter().filter_map(|(device, _)| {
            let drive = device.drive.as_ref()?;
            Some((label(device), of(drive)?))
        });
        text.family(name, metric, help, values);
    }
}
