//! The features of Flexible Data Placement (§5.1.25.1.20 and .21).

use anabranch_ssd::fdp::{FdpEventKind, FdpEventKinds};
use tokio::task::block_in_place;

use super::{Request, identify::ENDURANCE_GROUP};
use crate::{
    completion::{Answer, Status},
    drive::fdp_status,
};

impl Request<'_> {
    /// Flexible Data Placement (1Dh): whether it is enabled (FDPE), and the configuration (FDPCI, bits
    /// 15:8). By default it is, with configuration 0.
    pub(super) fn fdp_feature(&self, is_default: bool) -> Result<Answer, Status> {
        if self.command.dword(11) as u16 != ENDURANCE_GROUP {
            return Err(Status::INVALID_FIELD);
        }
        let enabled = if is_default {
            Some(0)
        } else {
            self.target.drive().fdp_configuration()
        };
        let value = enabled.map_or(0, |index| 1 | u64::from(index) << 8);
        Ok(Answer::Done(value))
    }

    /// It cannot be changed while there is a namespace. It is kept in any case, saved (SV) or not.
    pub(super) fn set_fdp_feature(&self) -> Result<Answer, Status> {
        if self.command.dword(11) as u16 != ENDURANCE_GROUP {
            return Err(Status::INVALID_FIELD);
        }
        let (enable, index) = (self.command.dword(12) & 1, self.command.dword(12) >> 8);
        let wanted = (enable != 0).then_some(index as u8);
        let status = block_in_place(|| self.target.configure(wanted));
        if status.is_success() {
            Ok(Answer::Done(0))
        } else {
            Err(status)
        }
    }

    /// Events are of an enabled Flexible Data Placement.
    fn check_places(&self) -> Result<(), Status> {
        if self.target.enabled.places() {
            Ok(())
        } else {
            Err(Status::FDP_DISABLED)
        }
    }

    /// FDP Events (1Eh): which kinds of events of a placement handle are recorded.
    pub(super) fn fdp_events_feature(&self) -> Result<Answer, Status> {
        self.check_places()?;
        let namespace = self.namespace()?;
        let handle = self.command.dword(11) as u16;
        let wanted = (self.command.dword(11) >> 16 & 0xff) as usize;
        let drive = self.target.drive();
        let device = drive.as_fdp().ok_or(Status::INVALID_FIELD)?;
        let enabled = device.enabled_events(namespace.id(), handle);
        let enabled = enabled.map_err(|error| fdp_status(&error))?;
        let describe = |&kind: &FdpEventKind| [kind.code(), u8::from(enabled.contains(kind))];
        let kinds = FdpEventKind::ALL.iter().take(wanted);
        let bytes: Vec<u8> = kinds.flat_map(describe).collect();
        let count = FdpEventKind::ALL.len() as u64;
        Ok(Answer::Data(bytes, count))
    }

    /// Enables or disables kinds of events.
    pub(super) fn set_fdp_events_feature(&self) -> Result<Answer, Status> {
        self.check_places()?;
        let namespaces = self.namespaces_named()?;
        let handle = self.command.dword(11) as u16;
        let count = (self.command.dword(11) >> 16 & 0xff) as usize;
        let enable = self.command.dword(12) & 1 != 0;
        let codes = self.data.get(..count).ok_or(Status::SGL_LENGTH)?;
        let kinds: Option<FdpEventKinds> = codes.iter().map(|&code| kind(code)).collect();
        let kinds = kinds.ok_or(Status::INVALID_FIELD)?;
        let mut drive = self.target.drive();
        let device = drive.as_fdp_mut().ok_or(Status::INVALID_FIELD)?;
        for namespace in namespaces {
            let set = device.enable_events(namespace.id(), handle, kinds, enable);
            set.map_err(|error| fdp_status(&error))?;
        }
        Ok(Answer::Done(0))
    }
}

fn kind(code: u8) -> Option<FdpEventKind> {
    let mut kinds = FdpEventKind::ALL.into_iter();
    kinds.find(|kind| kind.code() == code)
}
