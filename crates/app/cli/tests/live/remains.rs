//! Resources of a run, and its remains: processes, its device, open files and sockets, as
//! the kernel tells.

use std::{fs, path::Path};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::support::ANABRANCH;

/// A process of a run.
#[derive(Debug)]
pub struct Process {
    pub id: i32,
    pub name: String,
    /// When it began, in ticks since the system did.
    pub started: u64,
}

impl Process {
    pub fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.id), signal).unwrap();
    }
}

/// Facts about a run.
#[derive(Debug)]
pub struct Run {
    /// Its mount namespace, as /proc/PID/ns/mnt names it: all that it starts is in there.
    pub namespace: String,
    /// Its drive's device, major:minor.
    pub device: String,
    /// Number of the use of that device, counted by the kernel (5.15 and newer; else empty).
    pub sequence: String,
}

impl Run {
    /// The processes that live in its namespace.
    pub fn processes(&self) -> Vec<Process> {
        let entries = fs::read_dir("/proc").unwrap();
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        ids.filter_map(|id| self.member(id)).collect()
    }

    fn member(&self, id: i32) -> Option<Process> {
        let namespace = fs::read_link(format!("/proc/{id}/ns/mnt")).ok()?;
        if namespace != Path::new(&self.namespace) {
            return None;
        }
        // "id (name) state …": the name may hold anything, a bracket too.
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let (front, rest) = stat.rsplit_once(") ")?;
        Some(Process {
            id,
            name: front.split_once('(')?.1.to_owned(),
            // Field 22 of proc_pid_stat(5); `rest` begins with the third.
            started: rest.split(' ').nth(19)?.parse().ok()?,
        })
    }

    /// Those that the scenario started: neither our command nor the shell that watches over it.
    pub fn programs(&self) -> Vec<Process> {
        let is_ours = |process: &Process| {
            let line = fs::read(format!("/proc/{}/cmdline", process.id)).unwrap_or_default();
            let line = String::from_utf8_lossy(&line);
            line.starts_with(ANABRANCH) || line.contains("anabranch-guardian")
        };
        let mut processes = self.processes();
        processes.retain(|process| !is_ours(process));
        processes
    }

    /// Whether its device is still bound, and to it.
    pub fn has_device(&self) -> bool {
        let device = format!("/sys/dev/block/{}", self.device);
        let sequence = fs::read_to_string(format!("{device}/diskseq")).unwrap_or_default();
        Path::new(&format!("{device}/loop/backing_file")).exists()
            && sequence.trim() == self.sequence
    }
}

/// The links of a process's open descriptors, with the descriptors' numbers.
fn descriptors(id: i32) -> Vec<(String, String)> {
    let entries = fs::read_dir(format!("/proc/{id}/fd"));
    let links = entries.into_iter().flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        let number = entry.file_name().into_string().ok()?;
        Some((
            number,
            fs::read_link(entry.path()).ok()?.to_str()?.to_owned(),
        ))
    });
    links.collect()
}

/// The files that a process holds open for writing. Devices and what has no place in the file
/// system (pipes, memory, epoll) are none.
pub fn open_for_writing(id: i32) -> Vec<String> {
    let is_file = |path: &str| {
        path.starts_with('/')
            && !["/dev/", "/proc/", "/memfd:"]
                .iter()
                .any(|prefix| path.starts_with(prefix))
            || path.starts_with("/dev/shm/")
    };
    let writes = |number: &str| {
        let told = fs::read_to_string(format!("/proc/{id}/fdinfo/{number}")).unwrap_or_default();
        let flags = told.lines().find_map(|line| line.strip_prefix("flags:"));
        // The access mode: 0 is reading only (open(2)).
        flags.is_some_and(|flags| u32::from_str_radix(flags.trim(), 8).unwrap() & 3 != 0)
    };
    let open = descriptors(id).into_iter();
    open.filter(|(number, path)| is_file(path) && writes(number))
        .map(|(_, path)| path)
        .collect()
}

/// The TCP and UDP sockets of a process that listen on more than the loopback interface.
pub fn sockets_open_to_others(id: i32) -> Vec<String> {
    let own: Vec<String> = descriptors(id)
        .into_iter()
        .filter_map(|(_, link)| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(|name| format!("/proc/{id}/net/{name}"));
    let rows = tables.iter().flat_map(|table| {
        fs::read_to_string(table)
            .unwrap_or_default()
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    });
    // "0: local remote state … inode": proc(5). Listening TCP is 0A, unconnected UDP 07.
    rows.filter(|row| {
        let fields: Vec<&str> = row.split_whitespace().collect();
        let (local, state, inode) = (fields[1], fields[3], fields[9]);
        ["0A", "07"].contains(&state) && own.iter().any(|one| one == inode) && !is_loopback(local)
    })
    .collect()
}

/// 127.0.0.0/8, ::1 or the former in the latter's clothes, as the kernel writes them: each 32 bits
/// in the machine's order.
fn is_loopback(local: &str) -> bool {
    let address = local.split(':').next().unwrap();
    let v4 = |part: &str| part.ends_with("7F") && part.len() == 8;
    v4(address)
        || address == "00000000000000000000000001000000"
        || address
            .strip_prefix("0000000000000000FFFF0000")
            .is_some_and(v4)
}

#[test]
fn an_address_is_told_from_a_loopback_address() {
    for (local, expected) in [
        ("0100007F:1F90", true),
        ("00000000:1F90", false),
        ("0101A8C0:1F90", false),
        ("00000000000000000000000001000000:1F90", true),
        ("0000000000000000FFFF00000100007F:1F90", true),
        ("00000000000000000000000000000000:1F90", false),
    ] {
        assert_eq!(is_loopback(local), expected, "{local}");
    }
}
