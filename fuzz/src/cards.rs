//! What must hold of any bytes that are read as commands to an eMMC card.
//!
//! The fuzz target and `crates/app/cli/tests/fuzzed.rs` share this; it panics when it does not hold.

use std::io::Cursor;

use anabranch_ssd::{
    Config, Device,
    streams::{EmmcCard, EmmcCommand, Refused},
};
use anabranch_trace::foreign::{Input, MmcCommands};

/// Every command is performed or breaks a rule, which is counted; what is written is whole pages of what was asked. Whether
/// there were commands, read to the end.
pub fn cards(input: &[u8]) -> bool {
    let Ok(input) = Input::new("fuzzed", Cursor::new(input.to_vec())) else {
        return false;
    };
    let config = Config {
        host_streams: 16,
        ..Config::new(1024, 64, 16 + 24)
    };
    let page_bytes = u64::from(config.page_bytes);
    let mut card = EmmcCard::new(Device::new(config, &()).expect("a drive"));
    let mut commands = MmcCommands::new(input, None);
    let (mut performed, mut refused) = (0_u64, 0);
    let whole = loop {
        let command = match commands.next_command() {
            Ok(Some(command)) => command,
            Ok(None) => break true,
            Err(_) => break false,
        };
        performed += 1;
        let fit = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let command = EmmcCommand {
            opcode: u8::try_from(command.opcode).unwrap_or(u8::MAX),
            argument: fit(command.argument),
            set_block_count: command.set_block_count.map(fit),
            length_bytes: command.length_bytes,
            sector: command.sector,
        };
        match card.perform(&mut (), &command) {
            Ok(()) => {}
            Err(Refused::Rule(_)) => refused += 1,
            Err(Refused::Device(error)) => panic!("{command:?}: {error}"),
        }
    };
    assert_eq!(card.broken().values().sum::<u64>(), refused);
    let counts = card.counts();
    assert_eq!(
        counts.iter().map(|counts| counts.refused).sum::<u64>(),
        refused
    );
    let asked_bytes: u64 = counts.iter().map(|counts| counts.written_bytes).sum();
    assert!(card.device().counters().host_pages * page_bytes >= asked_bytes);
    whole && performed > 0
}
