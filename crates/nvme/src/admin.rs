//! Admin commands.

mod directives;
mod effects;
mod fdp_features;
mod fdp_logs;
mod features;
mod identify;
mod logs;
mod names;

pub(crate) use effects::{has_io_opcode, has_opcode};
use std::net::SocketAddr;

use crate::{
    command::{ALL_NAMESPACES, Command, admin},
    completion::Status,
    connection::Answer,
    controller::Controller,
    drive::NAMESPACE,
    target::Target,
};

/// An admin command with its data, and what it is asked of.
pub(crate) struct Request<'a> {
    pub(crate) target: &'a Target,
    pub(crate) controller: &'a Controller,
    /// Where the host reached us.
    pub(crate) address: SocketAddr,
    pub(crate) command: &'a Command,
    pub(crate) data: &'a [u8],
}

impl Request<'_> {
    /// Performs it.
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
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    /// The namespace named is the one there is.
    fn check_namespace(&self) -> Result<(), Status> {
        match self.command.namespace {
            NAMESPACE => Ok(()),
            _ => Err(Status::INVALID_NAMESPACE),
        }
    }

    /// The namespace named is the one there is, or all are meant.
    fn check_namespace_or_all(&self) -> Result<(), Status> {
        match self.command.namespace {
            NAMESPACE | ALL_NAMESPACES => Ok(()),
            _ => Err(Status::INVALID_NAMESPACE),
        }
    }

    /// Format NVM (§5.1.10): erases everything, and chooses the size of blocks.
    fn format(&self) -> Result<Answer, Status> {
        self.check_namespace_or_all()?;
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
        let status = tokio::task::block_in_place(|| self.target.format(shift));
        if !status.is_success() {
            return Err(status);
        }
        for controller in self.target.controllers().iter() {
            controller.namespace_changed();
        }
        Ok(Answer::Done(0))
    }
}
