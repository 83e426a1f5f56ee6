//! Random operations on random drives: whose data lie beside whose.

use anabranch_ssd::{
    Config, DeviceError, PageRange, StreamId,
    fdp::{
        AtReset, FdpDevice, FdpError, FdpEventKinds, FdpOptions, HandleType, PlacementIdentifier,
    },
    victims::VictimRule,
    wear::Faults,
};
use proptest::prelude::*;

use super::{NAMESPACE, drive};

#[derive(Debug, Clone)]
enum Operation {
    Write {
        first: u32,
        count: u32,
        identifier: Option<u16>,
    },
    Scatter {
        pages: Vec<u32>,
        identifier: Option<u16>,
    },
    Discard {
        first: u32,
        count: u32,
    },
    Update {
        identifiers: Vec<u16>,
    },
    Advance {
        ms: u64,
    },
    Reset {
        close: bool,
    },
}

/// The device, and who wrote each page: reclaim group and handle.
struct Model {
    device: FdpDevice,
    writers: Vec<Option<(u32, u16)>>,
    written_pages: u64,
    now_ms: u64,
}

impl Model {
    fn new(config: &Config) -> Model {
        let options = FdpOptions {
            time_limit_seconds: 3,
            ..FdpOptions::default()
        };
        let mut device = FdpDevice::new(config, &options).unwrap();
        let handles: Vec<u16> = (0..device.configuration().handles).collect();
        device.create_namespace(NAMESPACE, &handles).unwrap();
        for &handle in &handles {
            device
                .enable_events(NAMESPACE, handle, FdpEventKinds::ALL, true)
                .unwrap();
        }
        Model {
            device,
            writers: vec![None; config.logical_pages as usize],
            written_pages: 0,
            now_ms: 0,
        }
    }

    fn identifier(&self, number: u16) -> PlacementIdentifier {
        let configuration = self.device.configuration();
        let handle = number % configuration.handles;
        let group = u32::from(number / configuration.handles) % configuration.groups;
        configuration.encode(group, handle).unwrap()
    }

    /// Whom a write belongs to: without an identifier, handle 0 of whatever group it went to.
    fn writer(&self, page: u32, identifier: Option<PlacementIdentifier>) -> (u32, u16) {
        match identifier {
            Some(identifier) => self.device.configuration().decode(identifier),
            None => (self.group_of(page), 0),
        }
    }

    fn group_of(&self, page: u32) -> u32 {
        let stream = self.device.device().stream_of(page).unwrap();
        self.device.device().config().group_of(stream)
    }

    fn apply(&mut self, operation: &Operation) -> Result<(), FdpError> {
        match operation {
            Operation::Write {
                first,
                count,
                identifier,
            } => {
                let identifier = identifier.map(|number| self.identifier(number));
                let pages = PageRange::new(*first, *count);
                let written = self.device.write(NAMESPACE, pages, identifier);
                self.wrote(*first..first + count, identifier, &written);
                written
            }
            Operation::Scatter { pages, identifier } => {
                let identifier = identifier.map(|number| self.identifier(number));
                let written = self.device.write_scattered(NAMESPACE, pages, identifier);
                self.wrote(pages.iter().copied(), identifier, &written);
                written
            }
            Operation::Discard { first, count } => {
                let pages = PageRange::new(*first, *count);
                self.device.discard(pages)?;
                self.writers[pages.indices()].fill(None);
                Ok(())
            }
            Operation::Update { identifiers } => {
                let most = self.device.configuration().max_placement_identifiers;
                let identifiers = identifiers.iter().map(|&number| self.identifier(number));
                let identifiers: Vec<_> = identifiers.take(usize::from(most)).collect();
                self.device.update(NAMESPACE, &identifiers)
            }
            Operation::Advance { ms } => {
                self.now_ms += ms;
                self.device.advance(self.now_ms)
            }
            Operation::Reset { close } => {
                let units = if *close {
                    AtReset::Close
                } else {
                    AtReset::Keep
                };
                self.device.reset(units)
            }
        }
    }

    /// Of a write that failed nobody knows which pages it wrote.
    fn wrote(
        &mut self,
        pages: impl Iterator<Item = u32>,
        identifier: Option<PlacementIdentifier>,
        written: &Result<(), FdpError>,
    ) {
        for page in pages {
            self.writers[page as usize] = match written {
                Ok(()) => Some(self.writer(page, identifier)),
                Err(_) => None,
            };
            self.written_pages += 1;
        }
    }

    /// The stream that takes copies of a handle's data, as the relocation numbers them.
    fn copies(config: &Config, group: u32, handle: u16) -> StreamId {
        let isolated = config.persistently_isolated;
        let shared = u16::from(isolated < config.handles());
        let slot = match handle.checked_sub(config.handles() - isolated) {
            None => 0,
            Some(nth) => shared + nth,
        };
        StreamId(config.host_streams + group as u16 * (shared + isolated) + slot)
    }

    /// Whether a page lies in a unit of what was written through its handle, or among copies
    /// that may mix with its own.
    fn lies_apart(&self, page: u32) -> bool {
        let (Some(stream), Some((_, handle))) = (
            self.device.device().stream_of(page),
            self.writers[page as usize],
        ) else {
            return true;
        };
        let config = self.device.device().config();
        let group = config.group_of(stream);
        let copies = Model::copies(config, group, handle);
        stream == self.device.stream(group, handle) || stream == copies
    }

    /// Whether a page was written through a persistently isolated handle.
    fn is_isolated(&self, page: u32) -> bool {
        let types = &self.device.configuration().handle_types;
        self.writers[page as usize].is_some_and(|(_, handle)| {
            types[usize::from(handle)] == HandleType::PersistentlyIsolated
        })
    }

    fn check(&self) -> Result<(), TestCaseError> {
        self.device.verify()?;
        let (device, config) = (self.device.device(), self.device.device().config());
        let statistics = self.device.statistics();
        let page_bytes = u128::from(config.page_bytes);
        let copied = u128::from(device.counters().copied_pages);
        prop_assert_eq!(
            statistics.host_bytes,
            u128::from(self.written_pages) * page_bytes
        );
        prop_assert_eq!(
            statistics.media_bytes,
            statistics.host_bytes + copied * page_bytes
        );
        prop_assert_eq!(device.counters().redirected_pages, 0);
        let mut elsewhere = 0;
        for (page, writer) in (0..).zip(&self.writers) {
            prop_assert_eq!(device.locate(page).is_some(), writer.is_some());
            let Some(&(group, _)) = writer.as_ref() else {
                continue;
            };
            let lies_in = self.group_of(page);
            elsewhere += u64::from(lies_in != group);
            prop_assert!(self.lies_apart(page), "page {page}");
        }
        prop_assert!(elsewhere <= device.counters().misplaced_pages);
        Ok(())
    }
}

prop_compose! {
    fn drives()(pages in 1_u32..150, per_unit in 1_u32..12, groups in 0_u32..3, handles in 1_u16..5,
                isolated in 0_u16..5, spare in 0_u32..6) -> Config {
        drive(pages, per_unit, 1 << groups, handles, isolated.min(handles), spare)
    }
}

fn rules() -> impl Strategy<Value = VictimRule> {
    prop::sample::select(vec![
        VictimRule::Greedy,
        VictimRule::CostBenefit,
        VictimRule::CostBenefitRoot,
        VictimRule::Fifo,
        VictimRule::Random,
    ])
}

fn operations(pages: u32) -> impl Strategy<Value = Vec<Operation>> {
    let range = (0..pages).prop_flat_map(move |first| (Just(first), 1..=(pages - first).min(40)));
    let identifier = || prop::option::weighted(0.8, 0_u16..16);
    let one = prop_oneof![
        6 => (range.clone(), identifier()).prop_map(|((first, count), identifier)| {
            Operation::Write { first, count, identifier }
        }),
        6 => (prop::collection::vec(0..pages, 1..70), identifier())
            .prop_map(|(pages, identifier)| Operation::Scatter { pages, identifier }),
        2 => range.prop_map(|(first, count)| Operation::Discard { first, count }),
        2 => prop::collection::vec(0_u16..16, 0..4)
            .prop_map(|identifiers| Operation::Update { identifiers }),
        2 => (0_u64..4000).prop_map(|ms| Operation::Advance { ms }),
        1 => any::<bool>().prop_map(|close| Operation::Reset { close }),
    ];
    prop::collection::vec(one, 1..100)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 400 } else { 2000 }))]

    /// Data of a persistently isolated handle lie with none other's, those of initially isolated
    /// handles apart until they are copied, all of it in the reclaim group asked for unless the
    /// counter of misplaced pages says otherwise; and the statistics tell what was written.
    #[test]
    fn data_lie_where_their_handles_type_allows(
        (config, operations) in drives().prop_flat_map(|config| {
            let operations = operations(config.logical_pages);
            (Just(config), operations)
        }),
        victim_rule in rules()
    ) {
        let mut model = Model::new(&Config { victim_rule, ..config });
        for operation in &operations {
            model.apply(operation).unwrap();
            model.check()?;
        }
    }

    /// The least spare is enough for ever, however often the host gives up units half full.
    #[test]
    fn a_full_drive_accepts_overwrites_for_ever(
        config in drives(), victim_rule in rules(), seed in any::<u64>()
    ) {
        let pages = config.logical_pages;
        let mut model = Model::new(&Config { victim_rule, ..config });
        model.apply(&Operation::Write { first: 0, count: pages, identifier: None }).unwrap();
        let mut state = seed | 1;
        for _ in 0..40 * pages {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let first = (state >> 33) as u32 % pages;
            let number = (state >> 20) as u16 % 16;
            let identifier = Some(number);
            model.apply(&Operation::Write { first, count: 1, identifier }).unwrap();
            if state >> 60 == 0 {
                model.apply(&Operation::Update { identifiers: vec![number] }).unwrap();
            }
        }
        model.check()?;
        prop_assert_eq!(model.device.device().mapped_pages(), u64::from(pages));
    }

    /// Flash that fails does not put an isolated handle's data beside another's, to the last
    /// page the drive still takes.
    #[test]
    fn failing_units_do_not_break_persistent_isolation(
        config in drives(), victim_rule in rules(), seed in any::<u64>(), mean in 20_u64..400
    ) {
        let faults = Faults {
            pages_per_program_failure: mean,
            erases_per_failure: mean,
            ..Faults::default()
        };
        let model = wear_out(&Config { victim_rule, faults, seed, ..config });
        let model = model.map_err(TestCaseError::fail)?;
        for page in (0..model.writers.len() as u32).filter(|&page| model.is_isolated(page)) {
            prop_assert!(model.lies_apart(page), "page {}", page);
        }
    }
}

/// Overwrites at random on a failing drive with 12 units to spare, until it takes no more. An
/// error is what should not have happened.
fn wear_out(config: &Config) -> Result<Model, String> {
    let physical_units = config.least_physical_units() as u32 + 12;
    let mut model = Model::new(&Config {
        physical_units,
        ..config.clone()
    });
    let mut state = config.seed | 1;
    for _ in 0..60 * config.logical_pages {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        let write = Operation::Write {
            first: (state >> 33) as u32 % config.logical_pages,
            count: 1,
            identifier: Some((state >> 20) as u16 % 16),
        };
        match model.apply(&write) {
            Ok(()) => {}
            Err(FdpError::Device(DeviceError::ReadOnly { .. })) => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    model.device.verify().map_err(|error| error.to_string())?;
    Ok(model)
}

/// The write that waits for room finds a unit of its stream opened by copies meanwhile, or by
/// another group's, and that unit's next page fails.
#[test]
fn an_open_unit_whose_next_page_fails_is_not_lost() {
    for seed in 0..60 {
        let faults = Faults {
            pages_per_program_failure: 60,
            erases_per_failure: 40,
            ..Faults::default()
        };
        let config = Config {
            faults,
            seed,
            ..drive(136, 2, 4, 2, 1, 0)
        };
        wear_out(&config).unwrap();
    }
}
