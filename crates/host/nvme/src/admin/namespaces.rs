//! Namespace Management and Namespace Attachment (§5.2.11, §5.2.10; NVM §4.1.6).

use tokio::task::block_in_place;

use super::{
    Request,
    identify::{ENDURANCE_GROUP, PAGE, block_shift_of},
};
use crate::{
    command::ALL_NAMESPACES,
    completion::{Answer, Status},
    drive::{MOST_HANDLES, Mode},
    manage::NotMade,
    namespace::{MOST_NAMESPACES, NamespaceError, Wanted},
    wire::{u8_at, u16_at, u64_at},
};

/// Select (dword 10, bits 3:0): create and delete; attach and detach.
const FIRST: u32 = 0;
const SECOND: u32 = 1;
/// Offsets of what the host says of a new namespace (NVM §4.1.6.1): NSZE, NCAP, FLBAS, DPS, NMIC,
/// NVMSETID, ENDGID, and the number of its placement handles and their list.
const SIZE_AT: usize = 0;
const CAPACITY_AT: usize = 8;
const FORMAT_AT: usize = 26;
const PROTECTION_AT: usize = 29;
const SHARING_AT: usize = 30;
const SET_AT: usize = 100;
const ENDURANCE_GROUP_AT: usize = 102;
const HANDLES_AT: usize = 392;
const HANDLE_LIST_AT: usize = 512;

impl Request<'_> {
    /// Namespace Management: a namespace is made or deleted.
    pub(super) fn manage_namespaces(&self) -> Result<Answer, Status> {
        match self.command.dword(10) & 0xf {
            FIRST => self.create(),
            SECOND => self.delete(),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn create(&self) -> Result<Answer, Status> {
        // The NVM command set is number 0, and the only one.
        if self.command.dword(11) >> 24 != 0 {
            return Err(Status::COMMAND_SET);
        }
        let wanted = self.wanted()?;
        match block_in_place(|| self.target.create(&wanted)) {
            Ok(id) => Ok(Answer::Done(id.into())),
            Err(NotMade::ServedDrive(status)) => Err(status),
            Err(NotMade::Namespace(error)) => Err(refusal(&error)),
        }
    }

    /// Decodes the host's wish for a new namespace.
    fn wanted(&self) -> Result<Wanted, Status> {
        let data = self.data.get(..PAGE).ok_or(Status::SGL_LENGTH)?;
        let (size, capacity) = (u64_at(data, SIZE_AT), u64_at(data, CAPACITY_AT));
        if size != capacity {
            return Err(Status::THIN_PROVISIONING);
        }
        // FLBAS: metadata at the end (bit 4) of blocks that have none is refused, as by Format.
        let format = u8_at(data, FORMAT_AT);
        let index = format & 0xf | format >> 1 & 0x30;
        let shift = block_shift_of(index).filter(|_| format & 1 << 4 == 0);
        let block_shift = shift.ok_or(Status::INVALID_FORMAT)?;
        let group = u16_at(data, ENDURANCE_GROUP_AT);
        let plain = u8_at(data, PROTECTION_AT) == 0
            && u8_at(data, SHARING_AT) <= 1
            && u16_at(data, SET_AT) == 0
            && [0, ENDURANCE_GROUP].contains(&group);
        if !plain || size == 0 {
            return Err(Status::INVALID_FIELD);
        }
        let bytes = size.checked_mul(1 << block_shift);
        Ok(Wanted {
            bytes: Some(bytes.unwrap_or(u64::MAX)),
            block_shift,
            shared: u8_at(data, SHARING_AT) == 1,
            handles: self.handles(data)?,
        })
    }

    /// The list of placement handles; without Flexible Data Placement it is not looked at.
    fn handles(&self, data: &[u8]) -> Result<Vec<u16>, Status> {
        let count = u16_at(data, HANDLES_AT);
        match self.target.facts.mode {
            Mode::Fdp if !self.target.enabled.places() => Ok(Vec::new()),
            Mode::Fdp if count > MOST_HANDLES => Err(Status::PLACEMENT_HANDLES),
            Mode::Fdp => {
                let at = |place: u16| HANDLE_LIST_AT + 2 * usize::from(place);
                Ok((0..count).map(|place| u16_at(data, at(place))).collect())
            }
            Mode::Plain | Mode::Streams => Ok(Vec::new()),
        }
    }

    /// Deletes a namespace, or all, where all are meant.
    fn delete(&self) -> Result<Answer, Status> {
        let all = self.target.namespaces();
        let named = match self.command.namespace {
            ALL_NAMESPACES => all,
            id => {
                self.check_identifier(id)?;
                let found = all.into_iter().find(|one| one.id() == id);
                vec![found.ok_or(Status::INVALID_FIELD)?]
            }
        };
        for namespace in named {
            let status = block_in_place(|| self.target.delete(&namespace));
            if !status.is_success() {
                return Err(status);
            }
        }
        Ok(Answer::Done(0))
    }

    /// Whether there can be a namespace of that identifier.
    pub(super) fn check_identifier(&self, id: u32) -> Result<(), Status> {
        if (1..=MOST_NAMESPACES).contains(&id) {
            Ok(())
        } else {
            Err(Status::INVALID_NAMESPACE)
        }
    }

    /// Namespace Attachment: a namespace is attached to controllers, or detached.
    pub(super) fn attach_namespace(&self) -> Result<Answer, Status> {
        let id = self.command.namespace;
        self.check_identifier(id)?;
        let namespace = self.target.drive().namespaces().get(id).cloned();
        let namespace = namespace.ok_or(Status::INVALID_FIELD)?;
        let controllers = self.controllers()?;
        let status = match self.command.dword(10) & 0xf {
            FIRST => block_in_place(|| self.target.attach(&namespace, &controllers)),
            SECOND => block_in_place(|| self.target.detach(&namespace, &controllers)),
            _ => return Err(Status::INVALID_FIELD),
        };
        if status.is_success() {
            Ok(Answer::Done(0))
        } else {
            Err(status)
        }
    }

    /// A Controller List (§4.4.1): identifiers in ascending order.
    fn controllers(&self) -> Result<Vec<u16>, Status> {
        let data = self.data.get(..PAGE).ok_or(Status::SGL_LENGTH)?;
        let count = usize::from(u16_at(data, 0));
        let list = data.get(2..2 + 2 * count).ok_or(Status::CONTROLLER_LIST)?;
        let ids: Vec<u16> = list.chunks_exact(2).map(|id| u16_at(id, 0)).collect();
        if ids.is_sorted_by(|one, next| one < next) {
            Ok(ids)
        } else {
            Err(Status::CONTROLLER_LIST)
        }
    }
}

/// The command's status for a namespace that cannot be made.
fn refusal(error: &NamespaceError) -> Status {
    match error {
        NamespaceError::NoRoom { .. } => Status::INSUFFICIENT_CAPACITY,
        NamespaceError::TooMany => Status::NO_IDENTIFIER,
        NamespaceError::Impossible(_) | NamespaceError::Configuration(_) => Status::INVALID_FIELD,
        NamespaceError::Handles(anabranch_ssd::fdp::FdpError::TooManyNamespaces(_)) => {
            Status::NO_IDENTIFIER
        }
        NamespaceError::Handles(_) => Status::PLACEMENT_HANDLES,
    }
}
