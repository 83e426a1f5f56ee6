//! The bytes of a connection, both ways: PDUs as they come, and answers until they leave.

use tokio::{
    io::{AsyncWrite, AsyncWriteExt},
    time::{self, Duration},
};

use super::{End, buffer::Inbox};
use crate::{
    completion::Completion,
    options::{MOST_ADMIN_DATA, MOST_PDU_DATA},
    pdu::{Digests, Encoder, FatalError, Framing, Initialize, Side, Transfer},
};

/// Answers gathered before they are sent (our choice): what bounds a connection's memory.
const MOST_ANSWERS: usize = 1 << 20;

/// Received bytes that were not decoded yet, and encoded answers that were not sent yet.
#[derive(Debug)]
pub(super) struct Transport {
    pub(super) framing: Framing,
    encoder: Encoder,
    pub(super) inbox: Inbox,
    pub(super) answers: Vec<u8>,
}

impl Default for Transport {
    fn default() -> Transport {
        let framing = Framing {
            sender: Side::Host,
            digests: Digests::default(),
            most_data: MOST_ADMIN_DATA,
        };
        Transport {
            inbox: Inbox::new(framing.longest()),
            encoder: Encoder::default(),
            answers: Vec::new(),
            framing,
        }
    }
}

impl Transport {
    /// Grants what an ICReq wants, and uses it from then on.
    pub(super) fn initialize(&mut self, wanted: Initialize) {
        let granted = Initialize {
            version: 0,
            alignment: 0,
            digests: wanted.digests,
            limit: MOST_PDU_DATA,
        };
        Encoder::initialize(&mut self.answers, Side::Controller, granted);
        self.encoder = Encoder {
            digests: wanted.digests,
            alignment: wanted.alignment,
        };
        self.framing.digests = wanted.digests;
    }

    /// Bytes of the PDU at the front, if it has come whole.
    #[inline]
    pub(super) fn whole(&self) -> Result<Option<usize>, FatalError> {
        let bytes = self.inbox.bytes();
        let length = self.framing.length(bytes)?;
        Ok(length.filter(|&length| length <= bytes.len()))
    }

    /// Answers with a completion queue entry.
    #[inline]
    pub(super) fn respond(&mut self, completion: &Completion) {
        self.encoder
            .response(&mut self.answers, &completion.to_bytes());
    }

    /// Answers with data of a command, which `fill` puts in place; with nothing if it fails. `success`: the command
    /// succeeded, and no response follows.
    #[inline]
    pub(super) fn data<E>(
        &mut self,
        (command, length): (u16, u32),
        success: bool,
        fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.answers.len();
        let transfer = Transfer {
            command,
            tag: 0,
            offset: 0,
            length,
            last: true,
        };
        let mut filled = Ok(());
        self.encoder
            .controller_data(&mut self.answers, transfer, success, |slot| {
                filled = fill(slot);
            });
        if filled.is_err() {
            self.answers.truncate(begin);
        }
        filled
    }

    /// Asks for data of a command.
    pub(super) fn ask(&mut self, transfer: Transfer) {
        self.encoder.ready_to_transfer(&mut self.answers, transfer);
    }

    /// Answers a PDU that breaks the protocol, which lies at the front of the inbox.
    pub(super) fn terminate(&mut self, error: FatalError) {
        let pdu = self.inbox.bytes();
        Encoder::termination(&mut self.answers, Side::Controller, error, pdu);
    }

    /// Whether so many answers are gathered that they are sent before there are more: those that the host does not take
    /// must not fill our memory.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.answers.len() >= MOST_ANSWERS
    }

    /// Sends the answers.
    pub(super) async fn send(
        &mut self,
        writer: &mut (impl AsyncWrite + Unpin),
        patience: Duration,
    ) -> Result<(), End> {
        if self.answers.is_empty() {
            return Ok(());
        }
        let sent = time::timeout(patience, writer.write_all(&self.answers));
        sent.await.map_err(|_| End::Stalled)??;
        self.answers.clear();
        // One answer may be as long as all that are gathered before it.
        self.answers.shrink_to(MOST_ANSWERS);
        Ok(())
    }

    /// Bytes of memory that both directions take.
    pub(super) fn bytes(&self) -> usize {
        self.inbox.capacity() + self.answers.capacity()
    }

    /// Frees memory that an idle connection does not need.
    pub(super) fn shrink(&mut self) {
        self.inbox.shrink();
        self.answers = Vec::new();
    }
}
