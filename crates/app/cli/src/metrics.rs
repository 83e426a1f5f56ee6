//! Figures for a monitoring system: OpenMetrics text at `http://ADDRESS/metrics`, and where a verb has one its report so far
//! at `/report`, as JSON, which `top` asks for.

use std::{
    collections::VecDeque,
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::error::{CommandError, Result};

/// Longest time that one request may take, and most bytes that it may have (our choice).
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_ASKED: usize = 4096;
/// Connections at a time (our choice); a later one takes the place of the oldest.
const MOST_CONNECTIONS: usize = 16;
/// The most bytes of an answer that are read (our choice: a report has some kilobytes).
#[cfg(feature = "steer")]
const MOST_ANSWERED: usize = 4 << 20;

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const JSON: &str = "application/json";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Statuses: the last while a command attaches, so that whoever waits for it can ask.
const FOUND: &str = "200 OK";
const UNKNOWN: &str = "404 Not Found";
const NOT_YET: &str = "503 Service Unavailable";

/// An answer.
#[derive(Default)]
struct Pages {
    /// Nothing until figures are there.
    metrics: Option<String>,
    /// The text from a time on, unless another comes before.
    later: Option<(Instant, String)>,
    report: Option<String>,
}

impl Pages {
    fn now(&self) -> Option<&String> {
        match &self.later {
            Some((from, later)) if Instant::now() >= *from => Some(later),
            _ => self.metrics.as_ref(),
        }
    }

    /// Status, kind and text of the page at a path.
    fn page(&self, path: &[u8]) -> (&'static str, &'static str, String) {
        let found = |kind, text: &String| (FOUND, kind, text.clone());
        let page = match path {
            b"/metrics" => self.now().map(|text| found(OPENMETRICS, text)),
            b"/report" => self.report.as_ref().map(|text| found(JSON, text)),
            b"/" => {
                return (
                    FOUND,
                    PLAIN,
                    "anabranch: metrics are at /metrics\n".to_owned(),
                );
            }
            _ => None,
        };
        page.unwrap_or_else(|| match self.metrics {
            None => (NOT_YET, PLAIN, "not ready yet\n".to_owned()),
            Some(_) => (UNKNOWN, PLAIN, "metrics are at /metrics\n".to_owned()),
        })
    }
}

/// The pages that are answered, and the thread that answers.
pub struct Metrics {
    pages: Arc<Mutex<Pages>>,
    address: SocketAddr,
}

impl Metrics {
    /// Answers at an address from now on. It must be one of this machine, unless `--metrics-public` was given; `None`
    /// where there is no such option.
    pub fn start(address: SocketAddr, public: Option<bool>) -> Result<Metrics> {
        if !address.ip().is_loopback() && public != Some(true) {
            let option = public.map_or("", |_| ", or say --metrics-public");
            return Err(CommandError::wrong_use(format!(
                "--metrics {address} can be reached from elsewhere: keep it to this machine, as 127.0.0.1:{}, and \
                 let a proxy pass it on{option}",
                address.port()
            )));
        }
        let told = |error| {
            CommandError::wrong_use(format!(
                "--metrics {address}: {error}; another port may be free"
            ))
        };
        let listener = TcpListener::bind(address).map_err(told)?;
        let address = listener.local_addr().map_err(told)?;
        let pages = Arc::new(Mutex::new(Pages::default()));
        let answered = Arc::clone(&pages);
        let thread = thread::Builder::new().name("metrics".to_owned());
        let spawned = thread.spawn(move || accept(&listener, &answered));
        spawned.map_err(CommandError::work)?;
        Ok(Metrics { pages, address })
    }

    /// The address at which requests are answered.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the text that is answered from now on.
    pub fn show(&self, text: String) {
        let mut pages = self.pages();
        pages.metrics = Some(text);
        pages.later = None;
    }

    /// As [`Metrics::show`]; should nothing be shown for so long, another text is answered.
    pub fn show_for(&self, text: String, lasts: Duration, later: String) {
        let mut pages = self.pages();
        pages.metrics = Some(text);
        pages.later = Some((Instant::now() + lasts, later));
    }

    /// Sets the report that is answered from now on, as JSON.
    #[cfg(feature = "steer")]
    pub fn show_report(&self, json: String) {
        self.pages().report = Some(json);
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        lock(&self.pages)
    }
}

/// Asks the command at an address for its report so far.
///
/// # Errors
/// When it does not answer in time, or something else does.
#[cfg(feature = "steer")]
pub fn ask_report(address: SocketAddr) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let words = format!("GET /report HTTP/1.1\r\nHost: {address}\r\n\r\n");
    stream.write_all(words.as_bytes())?;
    let answer = all_of(stream)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200 ") => Ok(body.to_owned()),
        _ => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it answers, but is no `anabranch steer`",
        )),
    }
}

/// All that comes, up to the most that is read, within the time that it may take.
#[cfg(feature = "steer")]
fn all_of(mut stream: TcpStream) -> io::Result<String> {
    let silent = || io::Error::new(io::ErrorKind::TimedOut, "it does not answer in time");
    let until = Instant::now() + PATIENCE;
    let mut found = Vec::new();
    let mut part = [0; 4096];
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(silent());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part) {
            Ok(0) => return Ok(String::from_utf8_lossy(&found).into_owned()),
            Ok(count) => found.extend(part.iter().take(count)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Err(silent()),
            // By a signal: whoever asks looks at it.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if found.len() > MOST_ANSWERED {
            let words = "it answers with more than a report has";
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, words));
        }
    }
}

/// Connections that are open, oldest first.
#[derive(Default)]
struct Open {
    next: u64,
    connections: VecDeque<(u64, TcpStream)>,
}

impl Open {
    /// Adds a connection; the oldest ends if there are too many.
    fn add(&mut self, stream: TcpStream) -> u64 {
        if self.connections.len() >= MOST_CONNECTIONS
            && let Some((_, oldest)) = self.connections.pop_front()
        {
            // It may have ended by itself.
            let _ = oldest.shutdown(Shutdown::Both);
        }
        self.next += 1;
        self.connections.push_back((self.next, stream));
        self.next
    }
}

/// Answers each connection on a thread of its own, so that a silent one holds nobody up.
fn accept(listener: &TcpListener, pages: &Arc<Mutex<Pages>>) {
    let open = Arc::new(Mutex::new(Open::default()));
    for stream in listener.incoming() {
        let served = stream.and_then(|stream| {
            let number = lock(&open).add(stream.try_clone()?);
            let (pages, of_thread) = (Arc::clone(pages), Arc::clone(&open));
            let spawned = thread::Builder::new().spawn(move || {
                // A failure there is the asker's loss.
                let _ = answer(stream, &pages);
                lock(&of_thread).connections.retain(|one| one.0 != number);
            });
            if spawned.is_err() {
                lock(&open).connections.retain(|one| one.0 != number);
            }
            spawned.map(drop)
        });
        if served.is_err() {
            // Too many files or threads are open, which others' closing ends.
            thread::sleep(PATIENCE);
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(mut stream: TcpStream, pages: &Mutex<Pages>) -> io::Result<()> {
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
    let path = asked
        .strip_prefix(b"GET ")
        .and_then(|rest| rest.split(|byte| *byte == b' ').next());
    let (status, kind, body) = lock(pages).page(path.unwrap_or_default());
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
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
    fn a_text_that_nobody_renews_gives_way_to_another() {
        let metrics = Metrics::start("127.0.0.1:0".parse().unwrap(), None).unwrap();
        let ends = |with: &str| ask(&metrics, "GET /metrics HTTP/1.1\r\n\r\n").ends_with(with);
        metrics.show_for("up 1\n".into(), Duration::from_secs(600), "up 0\n".into());
        assert!(ends("up 1\n"));
        metrics.show_for("up 1\n".into(), Duration::ZERO, "up 0\n".into());
        assert!(ends("up 0\n"));
        metrics.show("up 2\n".into());
        assert!(ends("up 2\n"));
    }

    #[test]
    fn who_asks_is_told_and_who_does_not_ask_holds_nobody_up() {
        let everywhere = "0.0.0.0:0".parse().unwrap();
        let refused = |public| {
            let failure = Metrics::start(everywhere, public).err().unwrap();
            failure.error.unwrap().to_string()
        };
        assert!(refused(Some(false)).ends_with(", or say --metrics-public"));
        assert!(!refused(None).contains("--metrics-public"));
        assert!(Metrics::start(everywhere, Some(true)).is_ok());
        let metrics = Metrics::start("127.0.0.1:0".parse().unwrap(), None).unwrap();
        for page in ["metrics", "report"] {
            let answer = ask(&metrics, &format!("GET /{page} HTTP/1.1\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
        }
        metrics.show("a 1\n# EOF\n".to_owned());
        let silent = TcpStream::connect(metrics.address()).unwrap();
        let answer = ask(&metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("a 1\n# EOF\n"),
            "{answer}"
        );
        let first = ask(&metrics, "GET / HTTP/1.1\r\n\r\n");
        assert!(
            first.starts_with("HTTP/1.1 200 OK\r\n") && first.ends_with("/metrics\n"),
            "{first}"
        );
        for other in ["GET /other", "GET /report", "POST /"] {
            let answer = ask(&metrics, &format!("{other} HTTP/1.1\r\n\r\n"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{other}: {answer}");
        }
        drop(silent);
    }

    #[test]
    fn silent_connections_delay_no_answer() {
        let metrics = Metrics::start("127.0.0.1:0".parse().unwrap(), None).unwrap();
        metrics.show("a 1\n# EOF\n".to_owned());
        let silent: Vec<TcpStream> = (0..3 * MOST_CONNECTIONS)
            .map(|_| TcpStream::connect(metrics.address()).unwrap())
            .collect();
        let begin = Instant::now();
        let answer = ask(&metrics, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(begin.elapsed() < PATIENCE, "{:?}", begin.elapsed());
        // The oldest gave their places up.
        let mut oldest = &silent[0];
        oldest.set_read_timeout(Some(PATIENCE / 2)).unwrap();
        assert_eq!(oldest.read(&mut [0]).unwrap(), 0);
    }
}
