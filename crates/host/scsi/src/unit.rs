//! The logical unit: a served drive, as SCSI's commands reach it.

mod written;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_nvme::{Local, Target, drive::Mode};
use anabranch_ssd::streams::ScsiStreams;
use thiserror::Error;

use crate::{
    command::{Blocks, ScsiCommand},
    geometry::{Geometry, Identity, MOST_TRANSFER, PERMANENT},
    inquiry, mode,
    report::{self, OpenStream},
    sense::Sense,
};

/// A drive that cannot be a logical unit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// It has no namespace, or several.
    #[error(
        "a SCSI drive is one logical unit: leave --namespaces out, or name another --state than one of several namespaces"
    )]
    Namespaces,
    /// Its directive is not SCSI's.
    #[error(
        "SCSI has no Flexible Data Placement: serve the drive with --mode streams or --mode plain"
    )]
    Placement,
}

/// A logical unit. Any number of threads may have commands performed.
#[derive(Debug)]
pub struct Unit {
    local: Local,
    geometry: Geometry,
    identity: Identity,
    /// The streams; `None` where a scheme places the writes.
    streams: Option<Mutex<ScsiStreams>>,
}

impl Unit {
    /// The unit of a target's one namespace. Its streams are the drive's, if the drive has streams for hosts: the first
    /// six are permanent, the others are opened and closed by command.
    ///
    /// # Errors
    /// When the target has not one namespace, or has Flexible Data Placement.
    pub fn new(target: &Arc<Target>, name: &str) -> Result<Unit, UnitError> {
        let local = Local::of(target).ok_or(UnitError::Namespaces)?;
        let (mode, config) = {
            let drive = target.drive();
            (drive.mode(), drive.config().clone())
        };
        let streams = match mode {
            Mode::Fdp => return Err(UnitError::Placement),
            Mode::Plain => None,
            Mode::Streams => {
                let mut streams = ScsiStreams::new(config.host_streams - 1);
                for _ in 1..config.host_streams.min(PERMANENT) {
                    // There are as many as that.
                    let _ = streams.open();
                }
                Some(Mutex::new(streams))
            }
        };
        Ok(Unit {
            geometry: Geometry {
                blocks: local.blocks(),
                block_bytes: local.block_bytes(),
                page_bytes: config.page_bytes,
                pages_per_unit: config.pages_per_unit,
                streams: streams.as_ref().map_or(0, |_| config.host_streams),
            },
            identity: Identity::of(name),
            local,
            streams,
        })
    }

    /// Bytes that hosts address.
    pub fn bytes(&self) -> u64 {
        self.geometry.blocks * u64::from(self.geometry.block_bytes)
    }

    /// Bytes of a logical block.
    pub fn block_bytes(&self) -> u32 {
        self.geometry.block_bytes
    }

    /// Returns vendor, product and serial number, by which a host knows the unit again.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Performs a command on the data it brought, `out`. Answers with the data it asks for, no more than it has room for.
    ///
    /// # Errors
    /// The sense of what is wrong with it, or of what the drive could not do.
    pub fn execute(&self, cdb: &[u8], out: &[u8]) -> Result<Vec<u8>, Sense> {
        let done = || Ok(Vec::new());
        match ScsiCommand::of(cdb, self.streams.is_some())? {
            ScsiCommand::TestUnitReady => done(),
            ScsiCommand::RequestSense { room } => Ok(cut(Sense::NONE.to_bytes().to_vec(), room)),
            ScsiCommand::Inquiry { page, room } => {
                let data = match page {
                    None => inquiry::standard(),
                    Some(page) => inquiry::page(page, &self.geometry, &self.identity)?,
                };
                Ok(cut(data, room))
            }
            ScsiCommand::ModeSense { asked, room } => {
                let state = mode::State {
                    read_only: self.local.is_read_only(),
                    cached: self.local.target().store().is_file(),
                };
                Ok(cut(mode::sense(asked, &self.geometry, state)?, room))
            }
            ScsiCommand::ReadCapacity10 => Ok(report::capacity_10(&self.geometry)),
            ScsiCommand::ReadCapacity16 { room } => {
                Ok(cut(report::capacity_16(&self.geometry), room))
            }
            ScsiCommand::Read { blocks } => self.read(blocks),
            ScsiCommand::Write {
                blocks,
                place,
                safe,
            } => self.write(blocks, place, safe, out).and_then(|()| done()),
            ScsiCommand::Synchronize { blocks } => self.synchronize(blocks).and_then(|()| done()),
            ScsiCommand::Unmap { list_bytes } => self.unmap(list_bytes, out).and_then(|()| done()),
            ScsiCommand::WriteSame {
                blocks,
                place,
                unmap,
                has_data,
            } => {
                let data = has_data.then_some(out);
                self.write_same(blocks, place, unmap, data)
                    .and_then(|()| done())
            }
            ScsiCommand::OpenStream { room } => {
                let opened = self.table()?.open();
                let assigned = opened.map_err(|_| Sense::STREAMS_OPEN)?;
                Ok(cut(report::stream_control(assigned), room))
            }
            ScsiCommand::CloseStream { stream, room } => self.close(stream, room),
            ScsiCommand::StreamStatus { from, room } => self.stream_status(from, room),
            ScsiCommand::ReportOperations { asked, room } => {
                Ok(cut(report::supported(asked, self.streams.is_some())?, room))
            }
        }
    }

    fn table(&self) -> Result<MutexGuard<'_, ScsiStreams>, Sense> {
        // The decoder knows no command of streams where there are none.
        let streams = self.streams.as_ref().ok_or(Sense::OPERATION_CODE)?;
        Ok(streams.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// STREAM CONTROL: a permanent stream is not closed (SBC-5), nor is one that is not open.
    fn close(&self, stream: u16, room: u32) -> Result<Vec<u8>, Sense> {
        let closed = if stream < PERMANENT {
            None
        } else {
            self.table()?.close(stream)
        };
        closed.ok_or(Sense::command_byte(4))?;
        Ok(cut(report::stream_control(0), room))
    }

    /// GET STREAM STATUS: no identifier exceeds the number of streams.
    fn stream_status(&self, from: u16, room: u32) -> Result<Vec<u8>, Sense> {
        if from > self.geometry.streams {
            return Err(Sense::command_byte(4));
        }
        // Stream 0 is the device's default one, and always open.
        let mut open = self.table()?.status(0);
        open.insert(0, 0);
        let all = open.iter().map(|&identifier| OpenStream {
            identifier,
            permanent: identifier < PERMANENT,
        });
        let listed: Vec<OpenStream> = all.filter(|one| one.identifier >= from).collect();
        let data = report::stream_status(&listed, open.len() as u16);
        Ok(cut(data, room))
    }

    /// The address and length in bytes of blocks that there are.
    fn extent(&self, blocks: Blocks) -> Result<(u64, u64), Sense> {
        let end = blocks.first.checked_add(blocks.count.into());
        if end.is_none_or(|end| end > self.geometry.blocks) {
            return Err(Sense::OUT_OF_RANGE);
        }
        let bytes = u64::from(self.geometry.block_bytes);
        Ok((blocks.first * bytes, u64::from(blocks.count) * bytes))
    }

    /// The same of a command that may have so many bytes at most.
    fn extent_within(&self, blocks: Blocks, most: u64) -> Result<(u64, u64), Sense> {
        let (at, length) = self.extent(blocks)?;
        if length <= most {
            Ok((at, length))
        } else {
            Err(Sense::command_byte(blocks.count_byte))
        }
    }

    fn read(&self, blocks: Blocks) -> Result<Vec<u8>, Sense> {
        let (at, length) = self.extent_within(blocks, MOST_TRANSFER.into())?;
        let mut data = vec![0; length as usize];
        let read = self.local.read(at, &mut data);
        read.map_err(|status| Sense::of_status(status, Sense::READ_ERROR))?;
        Ok(data)
    }
}

/// Data as far as there is room for them (ALLOCATION LENGTH, SPC §4.2.5.6).
fn cut(mut data: Vec<u8>, room: u32) -> Vec<u8> {
    data.truncate(room as usize);
    data
}
