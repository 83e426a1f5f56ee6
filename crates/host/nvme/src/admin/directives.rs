//! Directive Send and Receive (§5.1.6, §5.1.7, §8.1.8).

use std::sync::Arc;

use anabranch_ssd::streams::{Scope, StreamError};

use super::Request;
use crate::{
    command::ALL_NAMESPACES,
    completion::{Answer, Status},
    drive::Mode,
    namespace::Namespace,
    options::MOST_DATA,
    wire::put,
};

/// Directive types.
const IDENTIFY: u8 = 0;
const STREAMS: u8 = 1;
const DATA_PLACEMENT: u8 = 2;

/// Operations, by type and direction.
const RECEIVE_PARAMETERS: u8 = 1;
const RECEIVE_STATUS: u8 = 2;
const RECEIVE_ALLOCATE: u8 = 3;
const SEND_ENABLE: u8 = 1;
const SEND_RELEASE: u8 = 1;
const SEND_RELEASE_RESOURCES: u8 = 2;

/// Operands in dword 11.
struct Directive {
    operation: u8,
    kind: u8,
    specific: u16,
}

impl Request<'_> {
    fn directive(&self) -> Directive {
        let dword = self.command.dword(11);
        Directive {
            operation: dword as u8,
            kind: (dword >> 8) as u8,
            specific: (dword >> 16) as u16,
        }
    }

    /// The host at the namespace named.
    fn scope(&self) -> Scope {
        self.scope_of(self.command.namespace)
    }

    fn scope_of(&self, namespace: u32) -> Scope {
        Scope {
            namespace,
            host: self.controller.host_key(),
        }
    }

    /// Whether the Streams Directive may be used now.
    fn check_streaming(&self) -> Result<(), Status> {
        let named = self.namespaces_named()?;
        let enabled =
            |one: &Arc<Namespace>| self.target.enabled.is_streaming(self.scope_of(one.id()));
        if self.target.facts.mode == Mode::Streams && named.iter().any(enabled) {
            Ok(())
        } else {
            Err(Status::INVALID_FIELD)
        }
    }

    /// Directive Receive: the operation's data, as much of them as was asked for.
    pub(super) fn directive_receive(&self) -> Result<Answer, Status> {
        if self.target.facts.mode == Mode::Plain {
            return Err(Status::INVALID_OPCODE);
        }
        let directive = self.directive();
        let answer = match (directive.kind, directive.operation) {
            (IDENTIFY, RECEIVE_PARAMETERS) => {
                self.namespace()?;
                Answer::Data(self.directives(), 0)
            }
            (STREAMS, RECEIVE_PARAMETERS) if self.target.facts.mode == Mode::Streams => {
                Answer::Data(self.stream_parameters()?, 0)
            }
            (STREAMS, RECEIVE_STATUS) => {
                self.check_streaming()?;
                Answer::Data(self.stream_status(), 0)
            }
            (STREAMS, RECEIVE_ALLOCATE) => {
                self.namespace()?;
                self.check_streaming()?;
                return self.allocate();
            }
            _ => return Err(Status::INVALID_FIELD),
        };
        Ok(self.cut(answer))
    }

    /// As many dwords as NUMD says.
    fn cut(&self, answer: Answer) -> Answer {
        let wanted = (u64::from(self.command.dword(10)) + 1) * 4;
        match answer {
            Answer::Data(mut bytes, result) => {
                bytes.truncate(wanted.min(MOST_DATA.into()) as usize);
                Answer::Data(bytes, result)
            }
            other => other,
        }
    }

    pub(super) fn directive_send(&self) -> Result<Answer, Status> {
        if self.target.facts.mode == Mode::Plain {
            return Err(Status::INVALID_OPCODE);
        }
        let directive = self.directive();
        match (directive.kind, directive.operation) {
            (IDENTIFY, SEND_ENABLE) => self.enable()?,
            (STREAMS, SEND_RELEASE) => {
                if self.command.namespace == ALL_NAMESPACES {
                    return Err(Status::INVALID_FIELD);
                }
                self.check_streaming()?;
                self.table(|table| {
                    table.release(self.scope(), directive.specific);
                })?;
            }
            (STREAMS, SEND_RELEASE_RESOURCES) => {
                self.check_streaming()?;
                for namespace in self.namespaces_named()? {
                    self.table(|table| {
                        table.release_resources(self.scope_of(namespace.id()));
                    })?;
                }
            }
            _ => return Err(Status::INVALID_FIELD),
        }
        Ok(Answer::Done(0))
    }

    /// Enable Directive: dword 12 says which, and whether.
    fn enable(&self) -> Result<(), Status> {
        let enable = self.command.dword(12) & 1 != 0;
        let kind = (self.command.dword(12) >> 8) as u8;
        match (self.target.facts.mode, kind) {
            (Mode::Streams, STREAMS) => {
                for namespace in self.namespaces_named()? {
                    let scope = self.scope_of(namespace.id());
                    if enable {
                        self.target.enabled.streaming_mut().insert(scope);
                    } else {
                        self.target.stop_streaming(scope)
                    }
                }
                Ok(())
            }
            // Enabled by the endurance group's configuration, and not to be disabled here.
            (Mode::Fdp, DATA_PLACEMENT) if enable && self.target.enabled.places() => {
                self.namespace().map(drop)
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn table<T>(
        &self,
        change: impl FnOnce(&mut anabranch_ssd::streams::StreamTable) -> T,
    ) -> Result<T, Status> {
        let mut drive = self.target.drive();
        let table = drive.table_mut().ok_or(Status::INVALID_FIELD)?;
        Ok(change(table))
    }

    /// Directives that are supported, enabled, and stay so over a reset.
    fn directives(&self) -> Vec<u8> {
        let streaming = self.target.enabled.is_streaming(self.scope());
        let (supported, enabled, persistent) = match self.target.facts.mode {
            Mode::Plain => (1, 1, 0),
            Mode::Streams => (1 | 1 << STREAMS, 1 | u8::from(streaming) << STREAMS, 0),
            Mode::Fdp => {
                let enabled = u8::from(self.target.enabled.places()) << DATA_PLACEMENT;
                (1 | 1 << DATA_PLACEMENT, 1 | enabled, enabled)
            }
        };
        let mut page = vec![0; 4096];
        put(&mut page, 0, &[supported]);
        put(&mut page, 32, &[enabled]);
        put(&mut page, 64, &[persistent]);
        page
    }

    /// Streams: Return Parameters.
    fn stream_parameters(&self) -> Result<Vec<u8>, Status> {
        let namespace = match self.command.namespace {
            ALL_NAMESPACES => None,
            _ => Some(self.namespace()?),
        };
        let drive = self.target.drive();
        let Some(table) = drive.table() else {
            return Ok(vec![0; 32]);
        };
        let counts = table.parameters(self.scope());
        let unit_pages = drive.config().pages_per_unit;
        let mut page = vec![0; 32];
        put(&mut page, 0, &counts.limit.to_le_bytes());
        put(&mut page, 2, &counts.available.to_le_bytes());
        put(&mut page, 4, &counts.pool_open.to_le_bytes());
        // Identifiers shared by hosts (SSID).
        put(
            &mut page,
            6,
            &[u8::from(self.target.options.shared_streams)],
        );
        let Some(namespace) = namespace else {
            return Ok(page);
        };
        // Stream write size: a page, in blocks. Granularity: an erase unit, in those.
        let write_blocks = self.target.facts.page_bytes >> namespace.block_shift();
        let granularity = unit_pages.min(u16::MAX.into()) as u16;
        put(&mut page, 16, &write_blocks.max(1).to_le_bytes());
        put(&mut page, 20, &granularity.to_le_bytes());
        put(&mut page, 22, &counts.allocated.to_le_bytes());
        put(&mut page, 24, &counts.open.to_le_bytes());
        Ok(page)
    }

    /// Streams: Get Status.
    fn stream_status(&self) -> Vec<u8> {
        let drive = self.target.drive();
        let open = match (drive.table(), self.command.namespace) {
            (None, _) => Vec::new(),
            (Some(table), ALL_NAMESPACES) => table.pool_status(),
            (Some(table), _) => table.status(self.scope()),
        };
        let mut page = (open.len() as u16).to_le_bytes().to_vec();
        page.extend(open.iter().flat_map(|id| id.to_le_bytes()));
        page
    }

    /// Streams: Allocate Resources.
    fn allocate(&self) -> Result<Answer, Status> {
        let requested = self.command.dword(12) as u16;
        let allocated = self.table(|table| table.allocate(self.scope(), requested))?;
        match allocated {
            Ok(allocation) => Ok(Answer::Done(allocation.streams.into())),
            Err(StreamError::AlreadyAllocated(_)) => Err(Status::INVALID_FIELD),
            Err(StreamError::NoneLeft | StreamError::AllOpen(_)) => Err(Status::STREAM_ALLOCATION),
        }
    }
}
