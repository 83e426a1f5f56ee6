//! Metrics of a served drive for a monitoring system: Prometheus' text, over HTTP.

use std::{convert::Infallible, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric, text::encode},
    metrics::{counter::ConstCounter, gauge::ConstGauge},
    registry::{Registry, Unit},
};
use tokio::{
    net::{TcpListener, TcpStream},
    time,
};

use crate::{
    drive::ServedDrive, namespace::Namespace, places::Places, target::Target, totals::Tally,
};

/// Connections at a time, and how long one may take (our choice).
const MOST_CONNECTIONS: usize = 16;
const PATIENCE: Duration = Duration::from_secs(10);
/// The form of the text (OpenMetrics 1.0, which Prometheus reads).
const FORM: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

/// Renders further metrics in the same form, when they are asked for.
pub type More = Arc<dyn Fn() -> String + Send + Sync>;

/// Last line of a text of metrics.
const END: &str = "# EOF\n";

/// Answers requests for metrics until it is dropped.
pub(crate) async fn serve(listener: TcpListener, target: Arc<Target>, more: Option<More>) {
    let places = Places::new(0, MOST_CONNECTIONS);
    let mut registry = Registry::with_prefix("anabranch");
    registry.register_collector(Box::new(Metrics(target)));
    let told = Arc::new((registry, more));
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            time::sleep(PATIENCE / 100).await;
            continue;
        };
        if let Some((place, given_up)) = places.admit_soon(peer.ip()).await {
            let told = Arc::clone(&told);
            tokio::spawn(async move {
                // A slow reader gets no answer, and a silent one gives way to those that ask.
                tokio::select! {
                    _ = given_up => {}
                    _ = time::timeout(PATIENCE, answer(stream, &told)) => {}
                }
                drop(place);
            });
        }
    }
}

/// Sources of the text: the drive's metrics, and further ones.
type Exposed = (Registry, Option<More>);

async fn answer(stream: TcpStream, told: &Exposed) {
    let service = service_fn(|request| async move { Ok::<_, Infallible>(respond(&request, told)) });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), service);
    // What goes wrong there is the asker's loss.
    let _ = connection.await;
}

fn respond(request: &Request<Incoming>, told: &Exposed) -> Response<Full<Bytes>> {
    let (status, text) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => text(told),
        (&Method::GET, _) => (
            StatusCode::NOT_FOUND,
            "metrics are at /metrics\n".to_owned(),
        ),
        _ => (StatusCode::METHOD_NOT_ALLOWED, String::new()),
    };
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    if status == StatusCode::OK {
        response.headers_mut().insert(CONTENT_TYPE, FORM);
    }
    response
}

fn text((registry, more): &Exposed) -> (StatusCode, String) {
    let mut text = String::new();
    if let Err(error) = encode(&mut text, registry) {
        return (StatusCode::INTERNAL_SERVER_ERROR, error.to_string());
    }
    if let Some(more) = more {
        text.truncate(text.strip_suffix(END).map_or(text.len(), str::len));
        text.push_str(&more());
    }
    (StatusCode::OK, text)
}

/// The drive's counters, read when they are asked for.
#[derive(Debug)]
struct Metrics(Arc<Target>);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let hosts = self.0.hosts();
        let tally = self.0.totals.sums();
        commands(&mut encoder, &tally)?;
        gauge(
            &mut encoder,
            "hosts",
            "Connected hosts",
            None,
            hosts.len() as f64,
        )?;
        let queues: usize = hosts.iter().map(|(_, queues)| queues).sum();
        gauge(
            &mut encoder,
            "queues",
            "Connected I/O queues",
            None,
            queues as f64,
        )?;
        gauge(
            &mut encoder,
            "connection",
            "Memory that connections take",
            Some(Unit::Bytes),
            self.0.connection_bytes() as f64,
        )?;
        let drive = self.0.drive();
        device(&mut encoder, &drive, &tally)?;
        namespaces(&mut encoder, &drive)?;
        streams(&mut encoder, &drive)
    }
}

fn commands(encoder: &mut DescriptorEncoder, tally: &Tally) -> std::fmt::Result {
    for (name, help, value) in [
        ("reads", "Read, Compare and Verify commands", tally.reads),
        ("writes", "Write commands", tally.writes),
        ("failed_commands", "Commands that failed", tally.failed),
        (
            "unsafe_shutdowns",
            "Times the drive was not stopped",
            tally.unsafe_shutdowns,
        ),
    ] {
        counter(encoder, name, help, None, value)?;
    }
    let bytes = Some(Unit::Bytes);
    counter(
        encoder,
        "read",
        "Bytes that reads answered",
        bytes.clone(),
        tally.read_bytes,
    )?;
    counter(
        encoder,
        "written",
        "Bytes that writes brought",
        bytes,
        tally.written_bytes,
    )
}

fn device(encoder: &mut DescriptorEncoder, drive: &ServedDrive, tally: &Tally) -> std::fmt::Result {
    let (config, counters) = (drive.config(), drive.counters());
    let page_bytes = u64::from(config.page_bytes);
    for (name, help, value) in [
        (
            "host",
            "Bytes that hosts wrote, as they wrote them (HBMW)",
            tally.host_bytes(),
        ),
        (
            "host_page",
            "Bytes that hosts wrote, rounded up to whole pages of the mapping",
            counters.host_pages * page_bytes,
        ),
        (
            "media",
            "Bytes written to the media (MBMW)",
            counters.media_pages() * page_bytes,
        ),
        (
            "copied",
            "Bytes that garbage collection copied",
            counters.copied_pages * page_bytes,
        ),
        (
            "discarded",
            "Bytes deallocated",
            counters.discarded_pages * page_bytes,
        ),
        (
            "erased",
            "Bytes erased (MBE)",
            counters.erased_units * config.unit_bytes(),
        ),
    ] {
        counter(encoder, name, help, Some(Unit::Bytes), value)?;
    }
    let free: u32 = (0..config.reclaim_groups)
        .map(|group| drive.free_units(group))
        .sum();
    gauge(
        encoder,
        "free_units",
        "Erase units that are free",
        None,
        free.into(),
    )?;
    let bytes = Some(Unit::Bytes);
    let mapped = drive.mapped_pages() * page_bytes;
    gauge(
        encoder,
        "mapped",
        "Bytes that hold data",
        bytes.clone(),
        mapped as f64,
    )?;
    let logical = config.logical_bytes() as f64;
    gauge(
        encoder,
        "logical",
        "Bytes the host can address",
        bytes,
        logical,
    )?;
    let media_bytes = counters.media_pages() * page_bytes;
    let waf = tally.waf(media_bytes).unwrap_or(f64::NAN);
    let help = "Media bytes over host bytes as hosts wrote them, over the drive's life";
    gauge(encoder, "write_amplification", help, None, waf)
}

/// Encodes the counters of each namespace.
fn namespaces(encoder: &mut DescriptorEncoder, drive: &ServedDrive) -> std::fmt::Result {
    let page_bytes = u64::from(drive.config().page_bytes);
    let bytes = Unit::Bytes;
    let kind = ConstCounter::new(0_u64).metric_type();
    let help = "Bytes written to a namespace, rounded up to whole pages of the mapping";
    let mut family = encoder.encode_descriptor("namespace_host_page", help, Some(&bytes), kind)?;
    for one in drive.namespaces().iter() {
        let value = ConstCounter::new(one.host_pages() * page_bytes);
        value.encode(family.encode_family(&[("namespace", one.id().to_string())])?)?;
    }
    type Read = fn(&Namespace) -> u64;
    let families: [(&str, &str, Read, u64); 2] = [
        (
            "namespace_mapped",
            "Bytes of a namespace that hold data",
            Namespace::mapped_pages,
            page_bytes,
        ),
        (
            "namespace_logical",
            "Bytes of a namespace that hosts can address",
            Namespace::bytes,
            1,
        ),
    ];
    for (name, help, read, unit) in families {
        let kind = ConstGauge::new(0_f64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, Some(&bytes), kind)?;
        for one in drive.namespaces().iter() {
            let value = ConstGauge::new((read(one) * unit) as f64);
            value.encode(family.encode_family(&[("namespace", one.id().to_string())])?)?;
        }
    }
    Ok(())
}

/// Encodes the counters of each stream, the host's and the internal ones.
fn streams(encoder: &mut DescriptorEncoder, drive: &ServedDrive) -> std::fmt::Result {
    let config = drive.config();
    let page_bytes = u64::from(config.page_bytes);
    let bytes = Unit::Bytes;
    type Read = fn(&anabranch_ssd::StreamCounters) -> u64;
    let families: [(&str, &str, Read); 2] = [
        (
            "stream_host_page",
            "Bytes written to a stream, rounded up to whole pages of the mapping",
            |one| one.host_pages,
        ),
        ("stream_copied", "Bytes copied into a stream", |one| {
            one.copied_pages
        }),
    ];
    for (name, help, read) in families {
        let kind = ConstCounter::new(0_u64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, Some(&bytes), kind)?;
        for (id, stream) in (0_u16..).zip(drive.stream_counters()) {
            let internal = id >= config.host_streams;
            let labels = [
                ("stream", id.to_string()),
                ("internal", internal.to_string()),
            ];
            let value = ConstCounter::new(read(stream) * page_bytes);
            value.encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn counter(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    unit: Option<Unit>,
    value: u64,
) -> std::fmt::Result {
    let value = ConstCounter::new(value);
    let metric = encoder.encode_descriptor(name, help, unit.as_ref(), value.metric_type())?;
    value.encode(metric)
}

fn gauge(
    encoder: &mut DescriptorEncoder,
    name: &str,
    help: &str,
    unit: Option<Unit>,
    value: f64,
) -> std::fmt::Result {
    let value = ConstGauge::new(value);
    let metric = encoder.encode_descriptor(name, help, unit.as_ref(), value.metric_type())?;
    value.encode(metric)
}
