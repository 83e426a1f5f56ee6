//! What a steered drive tells a monitoring system: OpenMetrics text at `http://ADDRESS/metrics`.

use std::{
    fmt::Write as _,
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anabranch_steer::{Counters, Written};

use super::shadow::Shadow;
use crate::failure::{Failure, Outcome};

/// How long one who asks may take, and how much may be said (our choice). They are answered one after another.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_ASKED: usize = 4096;

/// The text of the moment, and who answers with it.
pub struct Metrics {
    text: Arc<Mutex<String>>,
    address: SocketAddr,
}

impl Metrics {
    /// Answers at an address of this machine from now on.
    pub fn start(address: SocketAddr) -> Outcome<Metrics> {
        if !address.ip().is_loopback() {
            return Err(Failure::say(format!(
                "--metrics {address} can be reached from elsewhere: keep it to this machine, as 127.0.0.1:9470, and \
                 let a proxy pass it on"
            )));
        }
        let told = |error| {
            Failure::say(format!(
                "--metrics {address}: {error}; another port may be free"
            ))
        };
        let listener = TcpListener::bind(address).map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        let text = Arc::new(Mutex::new(String::new()));
        let answered = Arc::clone(&text);
        let thread = thread::Builder::new().name("metrics".to_owned());
        let spawned = thread.spawn(move || {
            for stream in listener.incoming() {
                match stream {
                    // What goes wrong there is the asker's loss.
                    Ok(stream) => drop(answer(stream, &answered)),
                    Err(_) => thread::sleep(PATIENCE),
                }
            }
        });
        spawned.map_err(Failure::work)?;
        Ok(Metrics { text, address })
    }

    /// Where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What is answered from now on.
    pub fn show(&self, text: String) {
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

fn answer(mut stream: TcpStream, text: &Mutex<String>) -> io::Result<()> {
    let until = Instant::now() + PATIENCE;
    let mut asked = Vec::new();
    let mut part = [0; 512];
    while !asked.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(Instant::now());
        if asked.len() > MOST_ASKED || left.is_zero() {
            return Ok(());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => return Ok(()),
            count => asked.extend(part.iter().take(count)),
        }
    }
    stream.set_write_timeout(Some(PATIENCE))?;
    let found = asked.starts_with(b"GET /metrics ");
    let (status, body) = match found {
        true => (
            "200 OK",
            text.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        ),
        false => ("404 Not Found", "metrics are at /metrics\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// A metric's name, its kind and what it says.
type Named = (&'static str, &'static str, &'static str);

/// Adds a metric: a value for each set of labels.
fn tell(text: &mut String, (name, kind, help): Named, values: &[(String, f64)]) {
    let total = if kind == "counter" { "_total" } else { "" };
    let name = format!("anabranch_steer_{name}");
    let _ = writeln!(text, "# TYPE {name} {kind}\n# HELP {name} {help}");
    for (labels, value) in values {
        let _ = writeln!(text, "{name}{total}{labels} {value}");
    }
}

/// What is counted, as OpenMetrics text.
pub fn text(
    counters: &Counters,
    handles: &[u16],
    drive: Option<Written>,
    shadow: Option<&Shadow>,
) -> String {
    const WRITTEN: Named = ("written_bytes", "counter", "Bytes written to each handle");
    const DRIVE: Named = (
        "drive_bytes",
        "counter",
        "Bytes the drive counted since then",
    );
    const MODEL: Named = ("modelled_waf", "gauge", "WAF of a model fed with the same");
    let mut text = String::new();
    let written = handles.iter().zip(&counters.written_bytes);
    let written = written.map(|(handle, bytes)| (label("handle", handle), bytes.get() as f64));
    tell(&mut text, WRITTEN, &written.collect::<Vec<_>>());
    for (name, help, count) in [
        ("read_bytes", "Bytes read", &counters.read_bytes),
        ("discarded_bytes", "Discarded", &counters.discarded_bytes),
        ("zeroed_bytes", "Zeroes by command", &counters.zeroed_bytes),
        ("unplaced_bytes", "No directive", &counters.unplaced_bytes),
        ("writes", "Requests to write", &counters.writes),
        ("split_writes", "Of several handles", &counters.split_writes),
        ("flushes", "Flushes", &counters.flushes),
        ("unknown_pages", "Of no writer", &counters.unknown_pages),
        ("errors", "Requests that failed", &counters.errors),
    ] {
        let value = [(String::new(), count.get() as f64)];
        tell(&mut text, (name, "counter", help), &value);
    }
    if let Some(drive) = drive {
        let each = [("host", drive.host_bytes), ("media", drive.media_bytes)];
        let each = each.map(|(by, bytes)| (label("by", by), bytes as f64));
        tell(&mut text, DRIVE, &each);
    }
    if let Some(shadow) = shadow {
        let (own, one) = (shadow.counted().steered, shadow.counted().baseline);
        let each = [("steered", own.waf()), ("one", one.waf())].into_iter();
        let each = each.filter_map(|(name, waf)| Some((label("streams", name), waf?)));
        tell(&mut text, MODEL, &each.collect::<Vec<_>>());
    }
    text + "# EOF\n"
}

fn label(name: &str, value: impl std::fmt::Display) -> String {
    format!("{{{name}=\"{value}\"}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(metrics: &Metrics, words: &str) -> String {
        let mut stream = TcpStream::connect(metrics.address()).unwrap();
        stream.write_all(words.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn who_asks_is_told_and_who_does_not_ask_holds_nobody_up() {
        let elsewhere = Metrics::start("0.0.0.0:0".parse().unwrap());
        assert!(elsewhere.is_err());
        let metrics = Metrics::start("127.0.0.1:0".parse().unwrap()).unwrap();
        let told = text(&Counters::default(), &[], None, None);
        metrics.show(told.clone());
        let silent = TcpStream::connect(metrics.address()).unwrap();
        let answer = ask(&metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with(&told),
            "{answer}"
        );
        assert!(
            told.contains("anabranch_steer_unknown_pages_total 0\n") && told.ends_with("# EOF\n")
        );
        assert!(ask(&metrics, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        drop(silent);
    }
}
