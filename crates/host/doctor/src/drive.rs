//! The answers of an NVMe drive about itself. Only commands that change nothing are sent.

use std::path::Path;

use anabranch_counters::Count;
use anabranch_nvme_host::{
    Configuration, Log, Namespace, NamespaceError, PlacementHandle, Queue, Usage, opcode,
};
use anabranch_steer::Shape;

use crate::findings::{DriveFindings, Handle, Neighbour, PlacementFindings, Writes};

/// A drive's answers: the bytes of Identify, and whatever else Identify says that it can be asked.
#[derive(Debug, Clone, Default)]
struct Answers {
    controller: Vec<u8>,
    namespace: Vec<u8>,
    /// The namespace's handles, and the configuration in force; `None` where Flexible Data Placement is off.
    placement: Option<(Vec<PlacementHandle>, Option<Configuration>)>,
    /// The use of the endurance group's handles.
    usage: Vec<Usage>,
    neighbours: Vec<Neighbour>,
    streams: Option<u16>,
    counts: Vec<Count>,
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

    /// Reads the answers.
    fn read(&self) -> DriveFindings {
        let shape = Shape::of(&self.namespace);
        let answered = self.placement.as_ref();
        DriveFindings {
            model: text(self.controller.get(24..64).unwrap_or_default()),
            bytes: shape.bytes,
            block_bytes: shape.block_bytes,
            metadata_bytes: shape.metadata_bytes,
            plain_format: shape.plain_format,
            namespaces: u32_at(&self.controller, 516),
            endurance_group: self.endurance_group(),
            fdp: answered.map(|(handles, configuration)| PlacementFindings {
                usage: self.usage.iter().map(|one| one.name()).collect(),
                neighbours: self.neighbours.clone(),
                ..placement(handles, configuration.as_ref())
            }),
            has_fdp: self.has_fdp(),
            streams: self.streams,
            writes: Writes::of(&self.counts),
        }
    }
}

pub(crate) fn ask(character: &Path) -> Result<DriveFindings, NamespaceError> {
    let namespace = Namespace::open(character)?;
    let mut answers = Answers {
        controller: namespace.identify_controller()?,
        namespace: namespace.identify_namespace()?,
        ..Answers::default()
    };
    if answers.has_fdp()
        && let Ok(handles) = namespace.handles()
    {
        let configuration = namespace.configuration(answers.endurance_group());
        answers.placement = Some((handles, configuration.ok().flatten()));
        let usage = namespace.usage(answers.endurance_group());
        answers.usage = usage.unwrap_or_default();
        answers.neighbours = neighbours(&namespace, answers.endurance_group());
    }
    if answers.has_directives() {
        answers.streams = streams(&namespace);
    }
    answers.counts = Log::open(character)?.counts();
    Ok(answers.read())
}

/// The namespace's handles, and what the configuration in force says of them.
fn placement(
    handles: &[PlacementHandle],
    configuration: Option<&Configuration>,
) -> PlacementFindings {
    let is_persistent = |one: &PlacementHandle| configuration?.is_persistent(one.handle);
    PlacementFindings {
        handles: u16::try_from(handles.len()).unwrap_or(u16::MAX),
        configuration: configuration.map(Configuration::index),
        drive_handles: configuration.map_or(0, Configuration::handles),
        persistently_isolated: all(handles.iter().map(is_persistent)),
        unit_bytes: configuration
            .and_then(Configuration::unit_bytes)
            .unwrap_or(0),
        own: handles.iter().map(own).collect(),
        usage: Vec::new(),
        neighbours: Vec::new(),
    }
}

/// Whether all are so: one that is known not to be decides, and one that is not known leaves it open, as none at all does.
fn all(are: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let are: Vec<Option<bool>> = are.into_iter().collect();
    if are.contains(&Some(false)) {
        return Some(false);
    }
    (!are.is_empty() && !are.contains(&None)).then_some(true)
}

fn own(one: &PlacementHandle) -> Handle {
    Handle {
        identifier: one.identifier,
        handle: one.handle,
    }
}

fn neighbours(namespace: &Namespace, endurance_group: u16) -> Vec<Neighbour> {
    let asked = anabranch_nvme_host::neighbours(namespace, endurance_group).into_iter();
    asked
        .map(|neighbour| Neighbour {
            device: neighbour.path.display().to_string(),
            handles: neighbour.handles.map_err(|error| error.to_string()),
        })
        .collect()
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

    /// The configuration with this index, of two: 3 handles of one isolation, and 4 of another, of which 1 is not
    /// persistent.
    fn configuration(index: u8) -> Option<Configuration> {
        let mut log = vec![0; 16];
        log[0] = 1;
        for (unit_mib, kinds) in [(24_u64, &[1_u8, 1, 1][..]), (6, &[2, 1, 2, 2])] {
            let mut descriptor = vec![0; 64 + 4 * kinds.len()];
            descriptor[0] = descriptor.len() as u8;
            descriptor[8] = kinds.len() as u8;
            descriptor[16..24].copy_from_slice(&(unit_mib << 20).to_le_bytes());
            let types = descriptor[64..].chunks_exact_mut(4);
            types.zip(kinds).for_each(|(one, kind)| one[0] = *kind);
            log.extend(descriptor);
        }
        let size = log.len() as u32;
        log[4..8].copy_from_slice(&size.to_le_bytes());
        let found = Configuration::in_force(1, |_, (_, code, _), _, data| {
            if code == opcode::GET_FEATURES {
                return Ok::<u32, ()>(1 | u32::from(index) << 8);
            }
            data.copy_from_slice(log.get(..data.len()).ok_or(())?);
            Ok(0)
        });
        found.unwrap()
    }

    /// Placement handles that stand for these of the drive.
    fn handles(of_drive: &[u16]) -> Vec<PlacementHandle> {
        let handles = of_drive.iter().enumerate();
        handles
            .map(|(place, &handle)| PlacementHandle {
                identifier: place as u16,
                handle,
                room_blocks: 0,
            })
            .collect()
    }

    #[test]
    fn the_configuration_in_force_says_what_the_handles_are() {
        let told = |of_drive: &[u16], index| {
            let found = placement(&handles(of_drive), configuration(index).as_ref());
            (
                found.configuration,
                found.drive_handles,
                found.persistently_isolated,
                found.unit_bytes >> 20,
            )
        };
        assert_eq!(told(&[0, 1, 2], 0), (Some(0), 3, Some(false), 24));
        // Those of the namespace alone count.
        assert_eq!(told(&[0, 2, 3], 1), (Some(1), 4, Some(true), 6));
        assert_eq!(told(&[0, 1], 1), (Some(1), 4, Some(false), 6));
        // Of one that there is not, it is not known, and neither is what nobody tells; one that is mixed decides.
        assert_eq!(told(&[0, 4], 1), (Some(1), 4, None, 6));
        assert_eq!(told(&[1, 4], 1), (Some(1), 4, Some(false), 6));
        assert_eq!(told(&[], 1), (Some(1), 4, None, 6));
        assert_eq!(told(&[0], 2), (None, 0, None, 0));
    }

    fn neighbour() -> Neighbour {
        Neighbour {
            device: "/dev/ng0n2".into(),
            handles: Ok(vec![1]),
        }
    }

    /// The counts of a page of FDP statistics.
    fn fdp_statistics(host: u8, flash: u8) -> Vec<Count> {
        let drive = anabranch_counters::DriveIdentity {
            has_fdp: true,
            ..anabranch_counters::DriveIdentity::default()
        };
        let mut page = vec![0; 64];
        (page[1], page[17]) = (host, flash);
        anabranch_counters::read(&drive, |asked, _, _| (asked == 0x22).then(|| page.clone()))
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
        Answers {
            controller,
            namespace,
            placement: Some((handles(&[0, 2, 3]), configuration(1))),
            usage: vec![Usage::HostSpecified, Usage::Unused],
            neighbours: vec![neighbour()],
            streams: Some(7),
            counts: fdp_statistics(2, 5),
        }
    }

    #[test]
    fn a_drive_is_what_it_answered() {
        let whole = whole();
        assert!(whole.has_fdp() && whole.has_directives());
        let drive = whole.read();
        let expected = DriveFindings {
            model: "A drive".into(),
            bytes: 1000 << 12,
            block_bytes: 4096,
            metadata_bytes: 0,
            plain_format: Some(0),
            namespaces: 4,
            endurance_group: 1,
            fdp: Some(PlacementFindings {
                handles: 3,
                configuration: Some(1),
                drive_handles: 4,
                persistently_isolated: Some(true),
                unit_bytes: 6 << 20,
                own: [(0, 0), (1, 2), (2, 3)]
                    .map(|(identifier, handle)| Handle { identifier, handle })
                    .to_vec(),
                usage: vec!["host_specified", "unused"],
                neighbours: vec![neighbour()],
            }),
            has_fdp: true,
            streams: Some(7),
            writes: Writes {
                host_bytes: Some(512),
                flash_bytes: Some(1280),
                waf: Some(2.5),
                logs: vec!["FDP statistics"],
            },
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
        assert_eq!(silent.writes, Writes::default());
    }
}
