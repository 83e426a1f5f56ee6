//! Front ends by which hosts reach the drive: over the network as an NVMe drive, or as a SCSI drive of this machine.

use std::{os::unix::ffi::OsStrExt as _, sync::Arc};

use anabranch_nvme::{More, Server, Target};
use anabranch_report::foreign;
use anabranch_scsi::{
    Unit, UnitError,
    tcmu::{self, Attached, TcmuError},
};

use super::arguments::{ServeArguments, ServeMode, Time};
use crate::error::{CommandError, Result};

/// The front end that answers hosts.
#[derive(Debug)]
pub enum Front {
    /// NVMe/TCP.
    Network(Server),
    /// The kernel's target, and a server of metrics alone.
    Scsi(Box<Attached>, Option<Server>),
}

/// Refuses arguments that a SCSI drive cannot have, and a kernel without its target, before any file is made.
pub fn check(arguments: &ServeArguments) -> Result {
    let Some(name) = &arguments.scsi else {
        return Ok(());
    };
    if arguments.time == Time::On {
        return Err(CommandError::wrong_use(
            "a SCSI drive has no simulated time: leave --time on out, or serve the drive over NVMe/TCP",
        ));
    }
    if arguments.mode == Some(ServeMode::Fdp) {
        return Err(CommandError::usage(UnitError::Placement));
    }
    tcmu::check(name).map_err(failure)
}

fn failure(error: TcmuError) -> CommandError {
    match error {
        TcmuError::Name(_) => CommandError::usage(error),
        _ => CommandError::work(error),
    }
}

/// Identity of contents that lie in a file: the file, and the mode in which writes are placed.
fn contents(arguments: &ServeArguments, target: &Target) -> Result<Option<Vec<u8>>> {
    let Some(data) = arguments.data_file() else {
        return Ok(None);
    };
    let data = data.canonicalize().map_err(CommandError::work)?;
    let mode = format!("{:?}", target.drive().mode());
    Ok(Some(
        [data.as_os_str().as_bytes(), mode.as_bytes()].join(&0),
    ))
}

impl Front {
    /// Begins to answer hosts, and who asks for metrics, `more` among them.
    pub fn start(
        arguments: &ServeArguments,
        target: &Arc<Target>,
        more: Option<More>,
    ) -> Result<Front> {
        let Some(name) = &arguments.scsi else {
            let (listen, metrics) = (arguments.listen, arguments.metrics);
            let server = Server::with_metrics(Arc::clone(target), listen, metrics, more);
            return Ok(Front::Network(server.map_err(CommandError::work)?));
        };
        let unit = Unit::new(target, name).map_err(CommandError::usage)?;
        let metrics = arguments.metrics;
        let metrics = metrics.map(|address| Server::of_metrics(target, address, more));
        let metrics = metrics.transpose().map_err(CommandError::work)?;
        let contents = contents(arguments, target)?;
        let attached = Attached::new(name, &Arc::new(unit), contents.as_deref());
        let attached = attached.map_err(failure)?;
        Ok(Front::Scsi(Box::new(attached), metrics))
    }

    /// Lines for people: the address of the drive, of its size and namespaces, and of the metrics.
    pub fn describe(&self, target: &Target, bytes: &str, parted: &str) -> Vec<String> {
        let (found, server) = match self {
            Front::Network(server) => {
                let address = server.address();
                let found = format!(
                    "serving {bytes} {parted} at {address}; on a host:\n  nvme connect -t tcp -a {} -s {} -n {}",
                    address.ip(),
                    address.port(),
                    foreign(target.name()),
                );
                (found, Some(server))
            }
            Front::Scsi(attached, server) => {
                let device = attached.device().display();
                let again = if attached.was_taken_over() {
                    ", as a server before left it"
                } else {
                    ""
                };
                let found = format!("serving {bytes} {parted} at {device}{again}");
                (found, server.as_ref())
            }
        };
        let metrics = server.and_then(Server::metrics_address);
        let metrics = metrics.map(|address| format!("metrics at http://{address}/metrics"));
        [found].into_iter().chain(metrics).collect()
    }

    /// Whether it has ended by itself, for a reason that [`Front::end`] returns.
    pub fn has_ended(&self) -> bool {
        match self {
            Front::Network(_) => false,
            Front::Scsi(attached, _) => attached.has_ended(),
        }
    }

    pub fn end(self) -> Result {
        match self {
            Front::Network(server) => server.stop(),
            Front::Scsi(attached, _) => attached.detach().map_err(CommandError::work)?,
        }
        Ok(())
    }
}
