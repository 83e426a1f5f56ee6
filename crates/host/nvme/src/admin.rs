//! Admin commands.

mod directives;
mod effects;
mod fdp_features;
mod fdp_logs;
mod features;
mod identify;
mod logs;
mod names;
mod namespaces;
mod ocp;

pub(crate) use effects::{has_io_opcode, has_opcode};
use std::{net::SocketAddr, sync::Arc};

use tokio::task::block_in_place;

use crate::{
    command::{ALL_NAMESPACES, Command, admin},
    completion::{Answer, Status},
    controller::Controller,
    namespace::Namespace,
    target::Target,
};

/// An admin command with its data, and what it is asked of.
pub(crate) struct Request<'a> {
    pub(crate) target: &'a Target,
    pub(crate) controller: &'a Controller,
    /// Our address, as the host reached it.
    pub(crate) address: SocketAddr,
    pub(crate) command: &'a Command,
    pub(crate) data: &'a [u8],
}

impl Request<'_> {
    pub(crate) fn perform(&self) -> Result<Answer, Status> {
        let io = self.controller.is_io();
        match self.command.opcode {
            admin::IDENTIFY => self.identify(),
            admin::GET_LOG_PAGE => self.log_page(),
            admin::GET_FEATURES => self.get_features(),
            admin::SET_FEATURES => self.set_features(),
            admin::KEEP_ALIVE => Ok(Answer::Done(0)),
            admin::DIRECTIVE_SEND if io => self.directive_send(),
            admin::DIRECTIVE_RECEIVE if io => self.directive_receive(),
            admin::FORMAT if io => self.format(),
            admin::NAMESPACE_MANAGEMENT if io => self.manage_namespaces(),
            admin::NAMESPACE_ATTACHMENT if io => self.attach_namespace(),
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    /// The namespace named, which is attached.
    fn namespace(&self) -> Result<Arc<Namespace>, Status> {
        self.controller.namespace(self.command.namespace)
    }

    /// The namespace named, or all that are attached, if all are meant.
    fn namespaces_named(&self) -> Result<Vec<Arc<Namespace>>, Status> {
        match self.command.namespace {
            ALL_NAMESPACES => Ok(self.controller.namespaces()),
            _ => Ok(vec![self.namespace()?]),
        }
    }

    /// The namespace named is attached, or all are meant.
    fn check_namespace_or_all(&self) -> Result<(), Status> {
        self.namespaces_named().map(drop)
    }

    /// Format NVM (§5.1.10): erases everything, and chooses the size of blocks.
    fn format(&self) -> Result<Answer, Status> {
        let namespaces = self.namespaces_named()?;
        let options = self.command.dword(10);
        let format = (options & 0xf | options >> 8 & 0x30) as u8;
        let erase = options >> 9 & 7;
        // Neither metadata nor protection information.
        if options >> 4 & 0x1f != 0 {
            return Err(Status::INVALID_FORMAT);
        }
        // User data erase is what every format does; there is no key to erase.
        if erase > 1 {
            return Err(Status::INVALID_FIELD);
        }
        let shift = identify::block_shift_of(format).ok_or(Status::INVALID_FORMAT)?;
        for namespace in namespaces {
            let status = block_in_place(|| self.target.format(&namespace, shift));
            if !status.is_success() {
                return Err(status);
            }
        }
        Ok(Answer::Done(0))
    }
}
