//! Metrics as a monitoring system asks for them.

use std::{
    io::{Read as _, Write as _},
    net::{TcpListener, TcpStream},
};

/// An address of this machine that nobody listens at.
pub fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Returns the answer at an address that a command prints.
pub fn scrape(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
