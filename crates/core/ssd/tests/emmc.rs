//! eMMC's contexts: each rule with where it stands, and commands that reach the device.
//!
//! Registers are those of JESD84-B51 (Linux `include/linux/mmc/mmc.h` and mmc-utils name the same bytes and bits). The
//! rules are cited from JESD220G (UFS), 13.4.10, which repeats eMMC's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Bytes of registers are grouped by their fields.
#![allow(clippy::unusual_byte_groupings)]

use anabranch_ssd::{
    Config, Device, PageRange, StreamId,
    streams::{
        Activation, Capabilities, ContextConf, EmmcCard, EmmcCommand, EmmcContexts, Extent,
        Refused, Reliability, Rule,
    },
};

const PAGE_BYTES: u64 = 4096;
/// Pages of a large unit of multiplier 1, and so of an erase unit: 1 MiB.
const UNIT_PAGES: u32 = 256;
/// Sectors of a page.
const PAGE: u32 = 8;

fn config() -> Config {
    Config {
        host_streams: 16,
        ..Config::new(16_384, UNIT_PAGES, 64 + 24)
    }
}

fn contexts() -> EmmcContexts {
    EmmcContexts::new(Capabilities::of(&config()))
}

fn pages(first: u32, count: u32) -> Extent {
    Extent {
        offset_bytes: u64::from(first) * PAGE_BYTES,
        length_bytes: u64::from(count) * PAGE_BYTES,
    }
}

/// Contexts of which number 3 is open so.
fn with_3(activation: Activation) -> EmmcContexts {
    let mut contexts = contexts();
    contexts
        .configure(3, ContextConf::open(activation))
        .unwrap();
    contexts
}

/// Contexts of which number 3 writes large units of so many granules.
fn with_large_units(times: u8) -> EmmcContexts {
    let mut contexts = contexts();
    let conf = ContextConf {
        large_unit: Some(times),
        ..ContextConf::open(Activation::ReadWrite)
    };
    contexts.configure(3, conf).unwrap();
    contexts
}

#[test]
fn the_byte_of_a_context_has_four_fields() {
    // EXT_CSD CONTEXT_CONF [51:37].
    let conf = |byte| ContextConf::of_byte(byte);
    assert_eq!(conf(0), Ok(ContextConf::default()));
    assert_eq!(conf(0b01), Ok(ContextConf::open(Activation::WriteOnly)));
    assert_eq!(conf(0b10), Ok(ContextConf::open(Activation::ReadOnly)));
    let large = ContextConf {
        activation: Activation::ReadWrite,
        large_unit: Some(5),
        reliability: Reliability::OneUnitTail,
    };
    assert_eq!(conf(0b10_101_1_11), Ok(large));
    let reliable = ContextConf {
        reliability: Reliability::Reliable,
        ..ContextConf::open(Activation::WriteOnly)
    };
    assert_eq!(conf(0b01_000_0_01), Ok(reliable));
    // The multiplier means nothing without large units, and nothing means anything in a closed context.
    assert_eq!(conf(0b00_111_0_01), conf(0b01));
    assert_eq!(conf(0b11_111_1_00), conf(0));
}

#[test]
fn a_reserved_reliability_mode_is_refused_and_so_is_a_tail_of_units_without_units() {
    assert_eq!(ContextConf::of_byte(0b11_001_1_01), Err(Rule::Reliability));
    assert_eq!(ContextConf::of_byte(0b10_000_0_01), Err(Rule::Reliability));
}

#[test]
fn a_device_has_as_many_contexts_as_it_says_and_15_at_most() {
    let open = ContextConf::open(Activation::WriteOnly);
    let mut fifteen = contexts();
    for context in 1..=15 {
        assert_eq!(fifteen.configure(context, open), Ok(None));
    }
    for context in [0, 16] {
        assert_eq!(fifteen.configure(context, open), Err(Rule::Number));
    }
    let five = Config {
        host_streams: 6,
        ..config()
    };
    let mut five = EmmcContexts::new(Capabilities::of(&five));
    assert_eq!(five.configure(5, open), Ok(None));
    assert_eq!(five.configure(6, open), Err(Rule::Number));
    assert_eq!(five.write(6, pages(0, 1)), Err(Rule::Number));
    assert_eq!(five.read(6, pages(0, 1)), Err(Rule::Number));
}

#[test]
fn a_context_is_closed_before_it_is_configured_anew() {
    // 13.4.10.
    let mut contexts = with_3(Activation::ReadOnly);
    let writes = ContextConf::open(Activation::WriteOnly);
    assert_eq!(contexts.configure(3, writes), Err(Rule::Reopened));
    assert_eq!(contexts.activation(3), Activation::ReadOnly);
    assert_eq!(contexts.configure(3, ContextConf::default()), Ok(None));
    assert_eq!(contexts.configure(3, writes), Ok(None));
    let closed = contexts.configure(3, ContextConf::default());
    assert_eq!(closed, Ok(Some(StreamId(1))));
    // To close what is closed is no fault.
    assert_eq!(contexts.configure(3, ContextConf::default()), Ok(None));
}

#[test]
fn a_context_is_configured_before_it_is_used() {
    // 13.4.10.1.
    let mut contexts = contexts();
    assert_eq!(contexts.write(3, pages(0, 1)), Err(Rule::Closed));
    assert_eq!(contexts.read(3, pages(0, 1)), Err(Rule::Closed));
    let (written, stream) = contexts.write(0, pages(0, 1)).unwrap();
    assert_eq!((written, stream), (PageRange::new(0, 1), StreamId::DEFAULT));
    assert_eq!(contexts.read(0, pages(0, 1)), Ok(PageRange::new(0, 1)));
}

#[test]
fn no_context_is_open_after_power_on() {
    // 13.4.10.
    let mut contexts = with_3(Activation::WriteOnly);
    assert_eq!(contexts.power_cycle(), [StreamId(1)]);
    assert_eq!(contexts.activation(3), Activation::Closed);
    assert_eq!(contexts.write(3, pages(0, 1)), Err(Rule::Closed));
}

#[test]
fn a_context_is_used_in_its_direction() {
    // 13.4.10.2.
    let mut reads = with_3(Activation::ReadOnly);
    assert_eq!(reads.write(3, pages(0, 1)), Err(Rule::WriteInReadOnly));
    assert!(reads.read(3, pages(0, 1)).is_ok());
    let mut writes = with_3(Activation::WriteOnly);
    assert_eq!(writes.read(3, pages(0, 1)), Err(Rule::ReadInWriteOnly));
    assert!(writes.write(3, pages(0, 1)).is_ok());
    let mut both = with_3(Activation::ReadWrite);
    assert!(both.write(3, pages(0, 1)).is_ok());
    assert!(both.read(3, pages(0, 1)).is_ok());
    assert!(both.read(0, pages(0, 1)).is_ok());
}

#[test]
fn what_an_open_write_only_context_wrote_is_read_by_nobody() {
    // 13.4.10.2: "any read command associated with any context".
    let mut contexts = with_3(Activation::WriteOnly);
    contexts.write(3, pages(8, 2)).unwrap();
    assert_eq!(contexts.read(0, pages(0, 9)), Err(Rule::ReadOfWriteOnly));
    assert!(contexts.read(0, pages(0, 8)).is_ok());
    contexts.configure(3, ContextConf::default()).unwrap();
    assert!(contexts.read(0, pages(8, 2)).is_ok());
    // Opened again, it has written nothing yet.
    let again = ContextConf::open(Activation::WriteOnly);
    contexts.configure(3, again).unwrap();
    assert!(contexts.read(0, pages(8, 2)).is_ok());
}

#[test]
fn what_an_open_read_only_context_read_is_written_by_nobody() {
    // 13.4.10.2: "any write command associated with any context".
    let mut contexts = with_3(Activation::ReadOnly);
    contexts.read(3, pages(8, 2)).unwrap();
    assert_eq!(contexts.write(0, pages(9, 1)), Err(Rule::WriteOfReadOnly));
    assert!(contexts.write(0, pages(10, 1)).is_ok());
    contexts.configure(3, ContextConf::default()).unwrap();
    assert!(contexts.write(0, pages(9, 1)).is_ok());
}

#[test]
fn a_large_unit_is_accessed_in_order_from_beginning_to_end() {
    // 13.4.10.3.
    let mut contexts = with_large_units(1);
    let unit = |number: u32| number * UNIT_PAGES;
    assert_eq!(
        contexts.write(3, pages(unit(4) + 1, 1)),
        Err(Rule::UnitOrder)
    );
    contexts.write(3, pages(unit(4), 100)).unwrap();
    // Neither another unit nor another place before this one is finished.
    assert_eq!(contexts.write(3, pages(unit(5), 1)), Err(Rule::UnitOrder));
    assert_eq!(
        contexts.write(3, pages(unit(4) + 101, 1)),
        Err(Rule::UnitOrder)
    );
    assert_eq!(contexts.write(3, pages(unit(4), 1)), Err(Rule::UnitOrder));
    // Other commands may come in between.
    contexts.write(0, pages(unit(1), 1)).unwrap();
    contexts.write(3, pages(unit(4) + 100, 156)).unwrap();
    // The next unit may lie anywhere, and one command may reach into the unit behind.
    contexts.write(3, pages(unit(1), UNIT_PAGES + 6)).unwrap();
    contexts.write(3, pages(unit(2) + 6, 1)).unwrap();
    // Reads have an order of their own.
    assert_eq!(
        contexts.read(3, pages(unit(4) + 1, 1)),
        Err(Rule::UnitOrder)
    );
    contexts.read(3, pages(unit(4), UNIT_PAGES)).unwrap();
    // The last unit may be left unfinished.
    contexts.configure(3, ContextConf::default()).unwrap();
    contexts.write(0, pages(unit(2), 1)).unwrap();
}

#[test]
fn a_large_unit_is_as_large_as_its_multiplier_says() {
    // 13.4.10.5.
    let mut contexts = with_large_units(2);
    let odd = contexts.write(3, pages(UNIT_PAGES, 1));
    assert_eq!(odd, Err(Rule::UnitOrder));
    contexts
        .write(3, pages(2 * UNIT_PAGES, UNIT_PAGES))
        .unwrap();
    let other = contexts.write(3, pages(0, 1));
    assert_eq!(other, Err(Rule::UnitOrder));
}

#[test]
fn a_multiplier_is_one_that_the_device_has() {
    let conf = |times| ContextConf {
        large_unit: Some(times),
        ..ContextConf::open(Activation::WriteOnly)
    };
    let few = Capabilities {
        most_multiplier: 2,
        ..Capabilities::of(&config())
    };
    let mut contexts = EmmcContexts::new(few);
    for times in [0, 3] {
        assert_eq!(contexts.configure(1, conf(times)), Err(Rule::Multiplier));
    }
    assert_eq!(contexts.configure(1, conf(2)), Ok(None));
}

#[test]
fn large_units_are_written_in_whole_pages() {
    // 13.4.10.3: "aligned and in multiples of" the best size of a write.
    let mut contexts = with_large_units(1);
    let part = Extent {
        offset_bytes: 0,
        length_bytes: 512,
    };
    assert_eq!(contexts.write(3, part), Err(Rule::UnitGranularity));
    // Without a context a sector is written with its page.
    assert_eq!(contexts.write(0, part).unwrap().0, PageRange::new(0, 1));
}

#[test]
fn a_large_unit_that_is_written_is_not_changed_from_outside() {
    // 13.4.10.3: no other writes, no erases, no trims.
    let mut contexts = with_large_units(1);
    contexts.write(3, pages(0, 1)).unwrap();
    let last = pages(UNIT_PAGES - 1, 1);
    assert_eq!(contexts.write(0, last), Err(Rule::UnitOfAnother));
    assert_eq!(contexts.erase(last), Err(Rule::UnitOfAnother));
    let open = ContextConf::open(Activation::WriteOnly);
    contexts.configure(4, open).unwrap();
    assert_eq!(contexts.write(4, last), Err(Rule::UnitOfAnother));
    assert!(contexts.erase(pages(UNIT_PAGES, 1)).is_ok());
    contexts.write(3, pages(1, UNIT_PAGES - 1)).unwrap();
    assert!(contexts.erase(last).is_ok());
}

#[test]
fn nothing_lies_beyond_the_devices_end() {
    let mut contexts = contexts();
    let end = pages(16_383, 2);
    assert_eq!(contexts.write(0, end), Err(Rule::Address));
    assert_eq!(contexts.read(0, end), Err(Rule::Address));
    assert_eq!(contexts.erase(end), Err(Rule::Address));
    let wide = Extent {
        offset_bytes: u64::MAX,
        length_bytes: 512,
    };
    assert_eq!(contexts.write(0, wide), Err(Rule::Address));
}

fn card() -> EmmcCard {
    EmmcCard::new(Device::new(config(), &()).unwrap())
}

fn perform(card: &mut EmmcCard, opcode: u8, argument: u32) -> Result<(), Refused> {
    let command = EmmcCommand {
        opcode,
        argument,
        ..EmmcCommand::default()
    };
    card.perform(&mut (), &command)
}

/// SWITCH that writes a byte of the register.
fn switch(card: &mut EmmcCard, index: u32, value: u32) -> Result<(), Refused> {
    perform(card, 6, 3 << 24 | index << 16 | value << 8)
}

/// SET_BLOCK_COUNT with a context, and a transfer, as a driver sends both in one request.
fn transfer(
    card: &mut EmmcCard,
    opcode: u8,
    context: u32,
    page: u32,
    pages: u32,
) -> Result<(), Refused> {
    let command = EmmcCommand {
        opcode,
        argument: page * PAGE,
        set_block_count: Some((context << 25) | (pages * PAGE)),
        length_bytes: u64::from(pages) * PAGE_BYTES,
        sector: None,
    };
    card.perform(&mut (), &command)
}

#[test]
fn commands_write_as_streams_do_to_the_page() {
    let (mut card, mut device) = (card(), Device::new(config(), &()).unwrap());
    for context in 1..4 {
        switch(&mut card, 36 + context, 0b01).unwrap();
    }
    transfer(&mut card, 25, 0, 0, 16_384).unwrap();
    let whole = PageRange::new(0, 16_384);
    device.write(&mut (), whole, StreamId::DEFAULT).unwrap();
    // Three contexts overwrite parts of their own at different rates, and the drive collects garbage.
    for turn in 0..40_000_u32 {
        let context = [1, 1, 1, 2, 2, 3][turn as usize % 6];
        let spread = [64, 512, 4096][context as usize - 1];
        let page = context * 4096 + (turn.wrapping_mul(2_654_435_761) >> 8) % spread;
        transfer(&mut card, 25, context, page, 1).unwrap();
        let stream = StreamId(context as u16);
        device
            .write(&mut (), PageRange::new(page, 1), stream)
            .unwrap();
    }
    assert!(device.counters().copied_pages > 0);
    assert_eq!(card.device().counters(), device.counters());
    assert_eq!(card.device().stream_counters(), device.stream_counters());
    assert_eq!(card.counts()[3].written_bytes, 6666 * PAGE_BYTES);
    assert!(card.broken().is_empty());
}

#[test]
fn a_block_count_may_come_before_its_transfer_and_counts_for_one() {
    let mut card = card();
    switch(&mut card, 37, 0b01).unwrap();
    let write = |card: &mut EmmcCard| {
        let command = EmmcCommand {
            opcode: 25,
            argument: 8,
            length_bytes: PAGE_BYTES,
            ..EmmcCommand::default()
        };
        card.perform(&mut (), &command).unwrap();
    };
    perform(&mut card, 23, 1 << 25 | 8).unwrap();
    write(&mut card);
    write(&mut card);
    let writes = [0, 1].map(|context| card.counts()[context].writes);
    assert_eq!(writes, [1, 1]);
    assert_eq!(card.device().stream_counters()[1].host_pages, 1);
}

#[test]
fn a_queued_task_has_the_context_of_its_parameters() {
    let mut card = card();
    switch(&mut card, 38, 0b01).unwrap();
    perform(&mut card, 44, 2 << 25 | 7 << 16 | 8).unwrap();
    let command = EmmcCommand {
        opcode: 47,
        argument: 7 << 16,
        length_bytes: PAGE_BYTES,
        sector: Some(80),
        ..EmmcCommand::default()
    };
    card.perform(&mut (), &command).unwrap();
    assert_eq!(card.counts()[2].writes, 1);
    assert!(card.device().locate(10).is_some());
}

#[test]
fn bits_of_a_context_may_be_set_and_cleared() {
    // SWITCH, bits 25:24: 1 sets bits, 2 clears them.
    let mut card = card();
    perform(&mut card, 6, 1 << 24 | 37 << 16 | 0b01 << 8).unwrap();
    transfer(&mut card, 25, 1, 0, 1).unwrap();
    perform(&mut card, 6, 2 << 24 | 37 << 16 | 0b11 << 8).unwrap();
    assert_eq!(transfer(&mut card, 25, 1, 0, 1), Err(Rule::Closed.into()));
    assert_eq!((card.counts()[1].opened, card.counts()[1].closed), (1, 1));
}

#[test]
fn a_rule_that_is_broken_is_counted_and_changes_nothing() {
    let mut card = card();
    switch(&mut card, 37, 0b10).unwrap();
    let write = transfer(&mut card, 25, 1, 0, 1);
    assert_eq!(write, Err(Rule::WriteInReadOnly.into()));
    assert_eq!(switch(&mut card, 37, 0b01), Err(Rule::Reopened.into()));
    assert_eq!(
        switch(&mut card, 37, 0b11 << 6 | 1),
        Err(Rule::Reliability.into())
    );
    let packed = EmmcCommand {
        opcode: 25,
        set_block_count: Some(1 << 30 | 9),
        length_bytes: 9 * 512,
        ..EmmcCommand::default()
    };
    assert_eq!(card.perform(&mut (), &packed), Err(Rule::Packed.into()));
    let told: Vec<_> = card
        .broken()
        .iter()
        .map(|(rule, times)| (*rule, *times))
        .collect();
    let expected = [
        (Rule::Reopened, 1),
        (Rule::Reliability, 1),
        (Rule::WriteInReadOnly, 1),
        (Rule::Packed, 1),
    ];
    assert_eq!(told, expected);
    assert_eq!(card.device().counters().host_pages, 0);
    assert_eq!((card.counts()[1].refused, card.counts()[0].refused), (3, 1));
}

#[test]
fn erases_trims_discards_and_flushes_are_told_apart() {
    let mut card = card();
    transfer(&mut card, 25, 0, 0, 64).unwrap();
    for (argument, first) in [(0, 0), (1, 8), (3, 16), (0x8000_0000, 24)] {
        perform(&mut card, 35, first * PAGE).unwrap();
        perform(&mut card, 36, (first + 8) * PAGE - 1).unwrap();
        perform(&mut card, 38, argument).unwrap();
    }
    // Part of a page is kept.
    perform(&mut card, 35, 40 * PAGE + 1).unwrap();
    perform(&mut card, 36, 42 * PAGE - 1).unwrap();
    perform(&mut card, 38, 1).unwrap();
    let erased = card.erased();
    assert_eq!((erased.erases, erased.trims), (1, 2));
    assert_eq!((erased.discards, erased.secure), (1, 1));
    assert_eq!(card.device().counters().discarded_pages, 33);
    // An erase whose ends are not told, or lie crosswise.
    perform(&mut card, 38, 0).unwrap();
    perform(&mut card, 35, 9).unwrap();
    perform(&mut card, 36, 8).unwrap();
    assert_eq!(perform(&mut card, 38, 0), Err(Rule::Address.into()));
    switch(&mut card, 32, 1).unwrap();
    assert_eq!(card.flushes(), 1);
}

#[test]
fn boot_partitions_are_passed_over_and_a_reset_leads_back() {
    let mut card = card();
    switch(&mut card, 37, 0b01).unwrap();
    switch(&mut card, 179, 0b1001).unwrap();
    transfer(&mut card, 25, 0, 0, 1).unwrap();
    assert_eq!((card.elsewhere(), card.counts()[0].writes), (1, 0));
    perform(&mut card, 0, 0).unwrap();
    transfer(&mut card, 25, 0, 0, 1).unwrap();
    assert_eq!((card.elsewhere(), card.counts()[0].writes), (1, 1));
    assert_eq!(card.counts()[1].closed, 1);
    assert_eq!(transfer(&mut card, 25, 1, 0, 1), Err(Rule::Closed.into()));
}

#[test]
fn a_reset_forgets_what_was_told_for_later_commands() {
    let mut card = card();
    perform(&mut card, 23, 1 << 25 | 8).unwrap();
    perform(&mut card, 44, 1 << 25 | 8).unwrap();
    perform(&mut card, 45, 80).unwrap();
    perform(&mut card, 35, 0).unwrap();
    perform(&mut card, 36, 7).unwrap();
    perform(&mut card, 0, 0).unwrap();
    let write = |opcode| EmmcCommand {
        opcode,
        length_bytes: PAGE_BYTES,
        ..EmmcCommand::default()
    };
    card.perform(&mut (), &write(25)).unwrap();
    assert_eq!(card.counts()[0].writes, 1);
    let task = card.perform(&mut (), &write(47));
    assert_eq!(task, Err(Rule::TaskAddress.into()));
    perform(&mut card, 38, 0).unwrap();
    assert_eq!(card.erased().erases, 0);
}

#[test]
fn a_queued_task_lies_where_its_address_says_and_never_at_its_number() {
    let mut card = card();
    perform(&mut card, 44, 7 << 16 | 8).unwrap();
    perform(&mut card, 45, 80).unwrap();
    let execute = EmmcCommand {
        opcode: 47,
        argument: 7 << 16,
        length_bytes: PAGE_BYTES,
        ..EmmcCommand::default()
    };
    card.perform(&mut (), &execute).unwrap();
    assert!(card.device().locate(10).is_some());
    // It was performed: its number tells nothing more.
    let again = card.perform(&mut (), &execute);
    assert_eq!(again, Err(Rule::TaskAddress.into()));
    // An address without parameters belongs to no task.
    perform(&mut card, 45, 80).unwrap();
    let again = card.perform(&mut (), &execute);
    assert_eq!(again, Err(Rule::TaskAddress.into()));
    assert_eq!(card.device().counters().host_pages, 1);
}

#[test]
fn a_secure_trim_is_counted_once_and_other_arguments_are_not_secure() {
    let mut card = card();
    transfer(&mut card, 25, 0, 0, 64).unwrap();
    let mut erase = |argument| {
        perform(&mut card, 35, 0).unwrap();
        perform(&mut card, 36, 8 * PAGE - 1).unwrap();
        perform(&mut card, 38, argument).unwrap();
        (card.erased(), card.device().counters().discarded_pages)
    };
    let (marked, discarded) = erase(0x8000_0001);
    assert_eq!((marked.secure_marks, marked.secure), (1, 0));
    assert_eq!((marked.bytes, discarded), (0, 0));
    let (trimmed, discarded) = erase(0x8000_8000);
    assert_eq!((trimmed.secure_marks, trimmed.secure), (1, 1));
    assert_eq!((trimmed.bytes, discarded), (8 * PAGE_BYTES, 8));
    let (other, _) = erase(2);
    assert_eq!((other.others, other.secure), (1, 1));
}

#[test]
fn reads_of_large_units_go_on_by_sectors() {
    let mut contexts = with_large_units(1);
    let sectors = |first: u64, count: u64| Extent {
        offset_bytes: first * 512,
        length_bytes: count * 512,
    };
    for first in 0..9 {
        contexts.read(3, sectors(first, 1)).unwrap();
    }
    assert_eq!(contexts.read(3, sectors(8, 1)), Err(Rule::UnitOrder));
    contexts.read(3, sectors(9, 7)).unwrap();
}

#[test]
fn what_others_wrote_or_erased_is_no_longer_that_of_a_write_only_context() {
    let mut contexts = with_3(Activation::WriteOnly);
    contexts.write(3, pages(8, 3)).unwrap();
    contexts.write(0, pages(8, 1)).unwrap();
    assert!(contexts.read(0, pages(8, 1)).is_ok());
    contexts.erase(pages(9, 1)).unwrap();
    assert!(contexts.read(0, pages(9, 1)).is_ok());
    // The rest of a page that others wrote in part is still the context's.
    let part = Extent {
        length_bytes: 512,
        ..pages(10, 1)
    };
    contexts.write(0, part).unwrap();
    assert_eq!(contexts.read(0, pages(10, 1)), Err(Rule::ReadOfWriteOnly));
}

#[test]
fn a_write_of_no_bytes_writes_no_page() {
    let mut card = card();
    let none = EmmcCommand {
        opcode: 25,
        argument: 3,
        ..EmmcCommand::default()
    };
    card.perform(&mut (), &none).unwrap();
    assert_eq!(card.device().counters().host_pages, 0);
}
