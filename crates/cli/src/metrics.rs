//! Figures for a monitoring system: OpenMetrics text at `http://ADDRESS/metrics`.

use std::{
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::failure::{Failure, Result};

/// The longest that one request may take, and below the most bytes it may have (our choice). Requests are answered one
/// after another.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_ASKED: usize = 4096;

/// The text that is answered, and the thread that answers.
pub struct Metrics {
    text: Arc<Mutex<String>>,
    address: SocketAddr,
}

impl Metrics {
    /// Answers at an address from now on. It must be one of this machine, unless others are `allowed` to ask.
    pub fn start(address: SocketAddr, allowed: bool) -> Result<Metrics> {
        if !address.ip().is_loopback() && !allowed {
            return Err(Failure::wrong_use(format!(
                "--metrics {address} can be reached from elsewhere: keep it to this machine, as 127.0.0.1:9470, and \
                 let a proxy pass it on"
            )));
        }
        let told = |error| {
            Failure::wrong_use(format!(
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

    /// The address at which requests are answered.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sets the text that is answered from now on.
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
        let everywhere = "0.0.0.0:0".parse().unwrap();
        assert!(Metrics::start(everywhere, false).is_err());
        assert!(Metrics::start(everywhere, true).is_ok());
        let metrics = Metrics::start("127.0.0.1:0".parse().unwrap(), false).unwrap();
        metrics.show("a 1\n# EOF\n".to_owned());
        let silent = TcpStream::connect(metrics.address()).unwrap();
        let answer = ask(&metrics, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(
            answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("a 1\n# EOF\n"),
            "{answer}"
        );
        assert!(ask(&metrics, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        drop(silent);
    }
}
