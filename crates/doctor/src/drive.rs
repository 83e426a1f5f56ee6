//! The answers of an NVMe drive about itself. Only commands that change nothing are sent.

use std::path::Path;

use anabranch_steer::SteerError;
use anabranch_steer::nvme::{Namespace, Queue, opcode};

use crate::found::{Drive, Placement};

pub(crate) fn ask(character: &Path) -> Result<Drive, SteerError> {
    let namespace = Namespace::open(character)?;
    let controller = namespace.identify_controller()?;
    let identity = namespace.identify_namespace()?;
    let endurance_group = u16_at(&identity, 102);
    let has_fdp = u32_at(&controller, 96) >> 19 & 1 == 1;
    let has_directives = u16_at(&controller, 256) >> 5 & 1 == 1;
    let status = has_fdp.then(|| namespace.handle_status().ok()).flatten();
    let fdp = status.map(|status| {
        let log = namespace.configurations(endurance_group);
        placement(&status, &log.unwrap_or_default())
    });
    Ok(Drive {
        model: text(controller.get(24..64).unwrap_or_default()),
        namespaces: u32_at(&controller, 516),
        endurance_group,
        fdp,
        has_fdp,
        streams: has_directives.then(|| streams(&namespace)).flatten(),
    })
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
}
