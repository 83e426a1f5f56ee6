//! A proxy between a host and a served drive that makes it worse: with errors of its own, silent, out of
//! reach, or with a cache that forgets what was not flushed when the power goes.
//!
//! Connections of NVMe/TCP without digests, PDU by PDU (NVM Express TCP transport specification, "PDU Definitions").

use std::{
    collections::HashMap,
    fs::File,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread,
};

/// Bytes of a logical block here.
const BLOCK_BYTES: u64 = 4096;
/// Opcodes of NVM commands.
const FLUSH: u8 = 0;
const WRITE: u8 = 1;
const WRITE_ZEROES: u8 = 8;
/// Types of PDUs.
const COMMAND: u8 = 4;
const RESPONSE: u8 = 5;

/// A command under way on a connection.
#[derive(Debug, Clone, Copy)]
struct Command {
    number: u64,
    opcode: u8,
    first_block: u64,
    blocks: u64,
    forced: bool,
    /// The status that the host is told in place of the drive's.
    status: Option<u16>,
    /// Of a flush: commands before this number that had ended when it came are safe once it is done.
    began: u64,
}

/// Content of a block before a write that no flush has made safe.
#[derive(Debug)]
struct Before {
    number: u64,
    block: u64,
    bytes: Vec<u8>,
    /// When the write had ended, if it has: the number of the next command.
    ended: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// The next so many commands of an opcode end with a status.
    fault: Option<(u8, u16, usize)>,
    is_silent: bool,
    is_gone: bool,
    /// The file of the drive's contents, from when on the power may go.
    contents: Option<File>,
    unsafe_blocks: Vec<Before>,
    commands: u64,
    flushes: u64,
    forced: u64,
    connections: Vec<TcpStream>,
}

/// A drive with faults.
#[derive(Debug)]
pub struct Between {
    shared: Arc<(Mutex<State>, Condvar)>,
    contents: PathBuf,
    port: u16,
}

impl Between {
    /// In front of the drive at an address, whose contents lie in a file.
    pub fn start(drive: SocketAddr, contents: &Path) -> Between {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared: Arc<(Mutex<State>, Condvar)> = Arc::default();
        let state = shared.clone();
        thread::spawn(move || {
            for host in listener.incoming().map_while(Result::ok) {
                connect(host, drive, &state);
            }
        });
        Between {
            shared,
            contents: contents.to_owned(),
            port,
        }
    }

    /// Address that hosts connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.0.lock().unwrap()
    }

    /// Does what a script in the guest asks for: `fail OPCODE STATUS COUNT`, in hexadecimal digits; `silent`, `heard`;
    /// `gone`, `back`; `volatile`; `cut`, of which the rest is the caller's; `flushed`, which answers with the flushes and
    /// the forced writes that came.
    pub fn asked(&self, what: &str) -> String {
        let words: Vec<&str> = what.split(' ').collect();
        let number = |at: usize| u16::from_str_radix(words[at], 16).unwrap();
        let mut state = self.state();
        match words[0] {
            "fail" => state.fault = Some((number(1) as u8, number(2), number(3).into())),
            "failed" => return state.fault.map_or(0, |(_, _, left)| left).to_string(),
            "silent" => state.is_silent = true,
            "heard" => state.is_silent = false,
            "gone" | "cut" => {
                state.is_gone = true;
                let open = std::mem::take(&mut state.connections);
                open.iter()
                    .for_each(|one| drop(one.shutdown(Shutdown::Both)));
            }
            "back" => state.is_gone = false,
            "volatile" => state.contents = Some(open(&self.contents)),
            "flushed" => return format!("{} {}", state.flushes, state.forced),
            _ => panic!("nothing here does {what}"),
        }
        self.shared.1.notify_all();
        String::new()
    }

    /// Takes back what was written and neither flushed nor forced, of a drive that is not served; how many blocks of it.
    pub fn forget(&self) -> usize {
        let mut state = self.state();
        state.contents = None;
        let file = open(&self.contents);
        let before = std::mem::take(&mut state.unsafe_blocks);
        for block in before.iter().rev() {
            let place = block.block * BLOCK_BYTES;
            file.write_all_at(&block.bytes, place).unwrap();
        }
        before.len()
    }
}

fn open(contents: &Path) -> File {
    let mut options = File::options();
    options.read(true).write(true).open(contents).unwrap()
}

impl State {
    /// A host's command on its way to the drive, which may be changed.
    fn comes(&mut self, pdu: &mut [u8]) -> Command {
        let word = |at: usize| u32::from_le_bytes(pdu[at..at + 4].try_into().unwrap());
        // The entry of the submission queue begins behind the header of 8 bytes.
        let mut command = Command {
            number: self.commands,
            opcode: pdu[8],
            first_block: u64::from(word(48)) | u64::from(word(52)) << 32,
            blocks: u64::from(word(56) & 0xffff) + 1,
            forced: word(56) & 1 << 30 != 0,
            status: None,
            began: self.commands,
        };
        self.commands += 1;
        if let Some((opcode, status, left @ 1..)) = self.fault
            && opcode == command.opcode
        {
            self.fault = Some((opcode, status, left - 1));
            command.status = Some(status);
            // A namespace that there is not: the drive refuses, and changes nothing.
            pdu[12..16].copy_from_slice(&0x7777_u32.to_le_bytes());
            return command;
        }
        let writes = [WRITE, WRITE_ZEROES].contains(&command.opcode);
        if let (true, Some(file)) = (writes, &self.contents) {
            for block in command.first_block..command.first_block + command.blocks {
                let mut bytes = vec![0; BLOCK_BYTES as usize];
                file.read_exact_at(&mut bytes, block * BLOCK_BYTES).unwrap();
                let number = command.number;
                self.unsafe_blocks.push(Before {
                    number,
                    block,
                    bytes,
                    ended: None,
                });
            }
        }
        command
    }

    /// The drive has done a command.
    fn done(&mut self, command: &Command) {
        let blocks = command.first_block..command.first_block + command.blocks;
        match command.opcode {
            FLUSH => {
                self.flushes += 1;
                self.unsafe_blocks
                    .retain(|block| block.ended.is_none_or(|ended| ended > command.began));
            }
            WRITE if command.forced => {
                self.forced += 1;
                self.unsafe_blocks.retain(|block| {
                    block.number > command.number || !blocks.contains(&block.block)
                });
            }
            WRITE | WRITE_ZEROES => {
                let ended = self.commands;
                let own = self.unsafe_blocks.iter_mut();
                own.filter(|block| block.number == command.number)
                    .for_each(|block| block.ended = Some(ended));
            }
            _ => {}
        }
    }
}

/// One PDU, or nothing once the connection has ended.
fn read(from: &mut TcpStream) -> Option<Vec<u8>> {
    let mut pdu = vec![0; 8];
    from.read_exact(&mut pdu).ok()?;
    let length = u32::from_le_bytes(pdu[4..8].try_into().unwrap());
    pdu.resize(length as usize, 0);
    from.read_exact(&mut pdu[8..]).ok()?;
    Some(pdu)
}

fn connect(host: TcpStream, drive: SocketAddr, shared: &Arc<(Mutex<State>, Condvar)>) {
    if shared.0.lock().unwrap().is_gone {
        return;
    }
    let Ok(drive) = TcpStream::connect(drive) else {
        return;
    };
    host.set_nodelay(true).unwrap();
    drive.set_nodelay(true).unwrap();
    let both = || [host.try_clone().unwrap(), drive.try_clone().unwrap()];
    shared.0.lock().unwrap().connections.extend(both());
    let open: Arc<Mutex<HashMap<[u8; 2], Command>>> = Arc::default();
    let ([host_in, drive_out], [host_out, drive_in]) = (both(), both());
    let (state, seen) = (shared.clone(), open.clone());
    let mut is_io = false;
    pass(host_in, drive_out, shared.clone(), move |pdu| {
        let fabrics = pdu[8] == 0x7f;
        // Connect names the queue; 0 is the admin queue's.
        if pdu[0] == COMMAND && fabrics && pdu[12] == 1 {
            is_io = pdu[50..52] != [0, 0];
        } else if pdu[0] == COMMAND && is_io && !fabrics {
            let command = state.0.lock().unwrap().comes(pdu);
            seen.lock().unwrap().insert([pdu[10], pdu[11]], command);
        }
    });
    let state = shared.clone();
    pass(drive_in, host_out, shared.clone(), move |pdu| {
        if pdu[0] != RESPONSE {
            return;
        }
        let Some(command) = open.lock().unwrap().remove(&[pdu[20], pdu[21]]) else {
            return;
        };
        match command.status {
            // Above the phase bit.
            Some(status) => pdu[22..24].copy_from_slice(&(status << 1).to_le_bytes()),
            None if pdu[22..24] == [0, 0] => state.0.lock().unwrap().done(&command),
            None => {}
        }
    });
}

/// Passes on what comes, until either end has gone; while the drive is silent, nothing.
fn pass(
    mut from: TcpStream,
    mut to: TcpStream,
    shared: Arc<(Mutex<State>, Condvar)>,
    mut look: impl FnMut(&mut [u8]) + Send + 'static,
) {
    thread::spawn(move || {
        while let Some(mut pdu) = read(&mut from) {
            look(&mut pdu);
            let state = shared.0.lock().unwrap();
            drop(shared.1.wait_while(state, |state| state.is_silent).unwrap());
            if to.write_all(&pdu).is_err() {
                break;
            }
        }
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    });
}
