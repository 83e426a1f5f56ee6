//! The answers of an NVMe drive about itself. Only commands that change nothing are sent.

use std::path::Path;

use anabranch_steer::nvme::{Namespace, Queue, opcode};
use anabranch_steer::{Shape, SteerError};

use crate::found::{Drive, Placement};

/// What a drive answered: the bytes of Identify, and what else was asked where Identify says that it can be.
#[derive(Debug, Clone, Default)]
struct Answers {
    controller: Vec<u8>,
    namespace: Vec<u8>,
    /// The handles' status, and the endurance group's configurations; `None` where Flexible Data Placement is off.
    placement: Option<(Vec<u8>, Vec<u8>)>,
    streams: Option<u16>,
}

impl Answers {
    fn endurance_group(&self) -> u16 {
        u16_at(&self.namespace, 102)
    }

    fn has_fdp(&self) -> bool {
        u32_at(&self.controller, 96) >> 19 & 1 == 1
    }

    fn has_directives(&self) -> bool {
        u16_at(&self.controller, 256) >> 5 & 1 == 1
    }

    /// What they mean.
    fn read(&self) -> Drive {
        let shape = Shape::of(&self.namespace);
        let answered = self.placement.as_ref();
        Drive {
            model: text(self.controller.get(24..64).unwrap_or_default()),
            bytes: shape.bytes,
            block_bytes: shape.block_bytes,
            metadata_bytes: shape.metadata_bytes,
            namespaces: u32_at(&self.controller, 516),
            endurance_group: self.endurance_group(),
            fdp: answered.map(|(status, configurations)| placement(status, configurations)),
            has_fdp: self.has_fdp(),
            streams: self.streams,
        }
    }
}

pub(crate) fn ask(character: &Path) -> Result<Drive, SteerError> {
    let namespace = Namespace::open(character)?;
    let mut answers = Answers {
        controller: namespace.identify_controller()?,
        namespace: namespace.identify_namespace()?,
        ..Answers::default()
    };
    if answers.has_fdp()
        && let Ok(status) = namespace.handle_status()
    {
        let log = namespace.configurations(answers.endurance_group());
        answers.placement = Some((status, log.unwrap_or_default()));
    }
    if answers.has_directives() {
        answers.streams = streams(&namespace);
    }
    Ok(answers.read())
}

/// Decodes the namespace's handles from its status, and unit size and isolation from the first
/// configuration.
fn placement(status: &[u8], configurations: &[u8]) -> Placement {
    let configuration = configurations.get(16..).unwrap_or_default();
    let handles = usize::from(u16_at(configuration, 8));
    let kinds = configuration.get(64..).unwrap_or_default().chunks_exact(4);
    let mut kinds = kinds.take(handles).map(|kind| kind[0]);
    Placement {
        handles: u16_at(status, 14),
        // Type 2 is persistently isolated, 1 initially.
        persistently_isolated: handles > 0 && kinds.all(|kind| kind == 2),
        unit_bytes: u64::from(u32_at(configuration, 16))
            | u64::from(u32_at(configuration, 20)) << 32,
    }
}

/// The number of streams; `None` where the Streams Directive is not supported.
fn streams(namespace: &Namespace) -> Option<u16> {
    const IDENTIFY: u32 = 0;
    const STREAMS: u32 = 1;
    const PARAMETERS: u32 = 1;
    let receive = |kind: u32, bytes: usize| {
        let mut data = vec![0; bytes];
        let words = [(bytes / 4 - 1) as u32, PARAMETERS | kind << 8, 0, 0, 0, 0];
        let command = (Queue::Admin, opcode::DIRECTIVE_RECEIVE, true);
        let answer = namespace.ask("ask for directives", command, words, &mut data);
        answer.ok().map(|_| data)
    };
    let supported = receive(IDENTIFY, 4096)?;
    if supported[0] >> 1 & 1 == 0 {
        return None;
    }
    // Before the directive is enabled a drive may refuse to say how many.
    Some(receive(STREAMS, 32).map_or(0, |parameters| u16_at(&parameters, 0)))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    let field = bytes
        .get(at..at + 2)
        .and_then(|field| field.try_into().ok());
    field.map_or(0, u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let field = bytes
        .get(at..at + 4)
        .and_then(|field| field.try_into().ok());
    field.map_or(0, u32::from_le_bytes)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .trim()
        .chars()
        .filter(|c| !c.is_control())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_read_field_by_field() {
        let mut status = vec![0; 16];
        status[14] = 8;
        let mut log = vec![0; 16 + 64 + 8];
        log[16 + 8] = 2;
        log[16 + 16..][..8].copy_from_slice(&(24_u64 << 20).to_le_bytes());
        log[16 + 64] = 2;
        log[16 + 68] = 2;
        let found = placement(&status, &log);
        assert_eq!((found.handles, found.unit_bytes), (8, 24 << 20));
        assert!(found.persistently_isolated);
        log[16 + 68] = 1;
        assert!(!placement(&status, &log).persistently_isolated);
        assert_eq!(placement(&[], &[]).unit_bytes, 0);
    }

    /// The answers of a drive that has everything.
    fn whole() -> Answers {
        let mut controller = vec![0; 4096];
        controller[24..31].copy_from_slice(b"A drive");
        controller[98] = 1 << 3;
        controller[256] = 1 << 5;
        controller[516] = 4;
        let mut namespace = vec![0; 4096];
        namespace[..8].copy_from_slice(&1000_u64.to_le_bytes());
        namespace[102] = 1;
        namespace[130] = 12;
        let mut status = vec![0; 16];
        status[14] = 8;
        let mut log = vec![0; 16 + 64 + 4];
        log[16 + 8] = 1;
        log[16 + 16..][..8].copy_from_slice(&(24_u64 << 20).to_le_bytes());
        log[16 + 64] = 1;
        Answers {
            controller,
            namespace,
            placement: Some((status, log)),
            streams: Some(7),
        }
    }

    #[test]
    fn a_drive_is_what_it_answered() {
        let whole = whole();
        assert!(whole.has_fdp() && whole.has_directives());
        let drive = whole.read();
        let expected = Drive {
            model: "A drive".into(),
            bytes: 1000 << 12,
            block_bytes: 4096,
            metadata_bytes: 0,
            namespaces: 4,
            endurance_group: 1,
            fdp: Some(Placement {
                handles: 8,
                persistently_isolated: false,
                unit_bytes: 24 << 20,
            }),
            has_fdp: true,
            streams: Some(7),
        };
        assert_eq!(drive, expected);
    }

    #[test]
    fn what_a_drive_does_not_say_it_does_not_have() {
        let mut off = whole();
        off.placement = None;
        assert!(off.read().fdp.is_none() && off.read().has_fdp);
        let mut none = whole();
        (none.controller[98], none.controller[256]) = (!(1 << 3), !(1 << 5));
        assert!(!none.has_fdp() && !none.has_directives());
        // An answer that was cut off is one of zeroes.
        let silent = Answers::default().read();
        assert_eq!((silent.model.as_str(), silent.bytes), ("", 0));
        assert!(silent.fdp.is_none() && !silent.has_fdp && silent.streams.is_none());
    }
}
