//! The control device of ublk: makes block devices, starts, stops and recovers them.
//!
//! `unsafe` only to hand commands that name memory to the ring; each lives until its completion.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use io_uring::{IoUring, cqueue, opcode::UringCmd80, squeue, types::Fd};

use crate::abi::{self, INFO_BYTES, Info, Parameters, control_command};
use crate::error::SteerError;

/// The kernel's own name for "any device number".
const ANY: u32 = u32::MAX;

/// What this kernel's ublk can do: bits of linux/ublk_cmd.h.
///
/// # Errors
/// When there is no ublk, or io_uring is not allowed.
pub fn features() -> Result<u64, SteerError> {
    Control::open()?.features()
}

/// The open control device.
pub struct Control {
    file: File,
    ring: IoUring<squeue::Entry128, cqueue::Entry>,
}

impl Control {
    pub fn open() -> Result<Control, SteerError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/ublk-control")
            .map_err(SteerError::NoDriver)?;
        let ring = IoUring::builder().build(4).map_err(SteerError::Ring)?;
        Ok(Control { file, ring })
    }

    /// Performs one command and waits for its end.
    fn perform(
        &mut self,
        what: &'static str,
        number: u32,
        command: [u8; 80],
    ) -> Result<(), SteerError> {
        let entry = UringCmd80::new(Fd(self.file.as_raw_fd()), number)
            .cmd(command)
            .build();
        // SAFETY: the command's memory belongs to the caller, who waits here for its completion.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_| SteerError::Ring(io::Error::other("its queue is full")))?;
        let answer = loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(SteerError::Ring(error)),
            }
            if let Some(answer) = self.ring.completion().next() {
                break answer.result();
            }
        };
        if answer < 0 {
            Err(SteerError::Control {
                what,
                source: io::Error::from_raw_os_error(-answer),
            })
        } else {
            Ok(())
        }
    }

    fn simple(
        &mut self,
        what: &'static str,
        number: u32,
        device: u32,
        data: u64,
    ) -> Result<(), SteerError> {
        self.perform(what, number, control_command(device, 0, 0, data))
    }

    pub fn features(&mut self) -> Result<u64, SteerError> {
        let mut features = 0_u64;
        let command = control_command(ANY, (&raw mut features) as u64, 8, 0);
        self.perform("tell its features", abi::control::GET_FEATURES, command)?;
        Ok(features)
    }

    fn with_info(
        &mut self,
        what: &'static str,
        number: u32,
        info: Info,
    ) -> Result<Info, SteerError> {
        let mut bytes = info.to_bytes();
        let address = bytes.as_mut_ptr() as u64;
        let command = control_command(info.device, address, INFO_BYTES as u16, 0);
        self.perform(what, number, command)?;
        Ok(Info::from_bytes(&bytes))
    }

    /// Makes a device; its number is the kernel's choice.
    pub fn add(&mut self, info: Info) -> Result<Info, SteerError> {
        let info = Info {
            device: ANY,
            ..info
        };
        self.with_info("make a device", abi::control::ADD, info)
    }

    /// What a device is; nothing where there is none of that number.
    pub fn info(&mut self, device: u32) -> Result<Option<Info>, SteerError> {
        let info = Info {
            device,
            ..Info::default()
        };
        match self.with_info("describe a device", abi::control::GET_INFO, info) {
            Ok(info) => Ok(Some(info)),
            Err(SteerError::Control { source, .. })
                if source.raw_os_error() == Some(nix::libc::ENODEV) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    pub fn set_parameters(
        &mut self,
        device: u32,
        parameters: &Parameters,
    ) -> Result<(), SteerError> {
        let mut bytes = parameters.to_bytes();
        let length = bytes.len() as u16;
        let command = control_command(device, bytes.as_mut_ptr() as u64, length, 0);
        self.perform(
            "take the device's limits",
            abi::control::SET_PARAMETERS,
            command,
        )
    }

    /// The device appears; every queue must have fetched before.
    pub fn start(&mut self, device: u32) -> Result<(), SteerError> {
        let own = std::process::id().into();
        self.simple("start the device", abi::control::START, device, own)
    }

    /// The device disappears; what it was asked for ends with errors.
    pub fn stop(&mut self, device: u32) -> Result<(), SteerError> {
        self.simple("stop the device", abi::control::STOP, device, 0)
    }

    /// Waits for the last holder of the device's files: let go of them first.
    pub fn delete(&mut self, device: u32) -> Result<(), SteerError> {
        self.simple("delete the device", abi::control::DELETE, device, 0)
    }

    /// The same without waiting, where the kernel can: somebody may have it mounted.
    pub fn delete_later(&mut self, device: u32) -> Result<(), SteerError> {
        let later = abi::control::DELETE_LATER;
        match self.simple("delete the device", later, device, 0) {
            Err(SteerError::Control { source, .. })
                if source.raw_os_error() == Some(nix::libc::EOPNOTSUPP) =>
            {
                self.delete(device)
            }
            result => result,
        }
    }

    pub fn start_recovery(&mut self, device: u32) -> Result<(), SteerError> {
        self.simple("begin a recovery", abi::control::START_RECOVERY, device, 0)
    }

    pub fn end_recovery(&mut self, device: u32) -> Result<(), SteerError> {
        let own = std::process::id().into();
        self.simple("end a recovery", abi::control::END_RECOVERY, device, own)
    }

    /// All devices there are, by their character devices.
    pub fn devices(&mut self) -> Result<Vec<Info>, SteerError> {
        let mut numbers: Vec<u32> = std::fs::read_dir("/dev")
            .map_err(SteerError::io("list", "/dev"))?
            .flatten()
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()?
                    .strip_prefix("ublkc")?
                    .parse()
                    .ok()
            })
            .collect();
        numbers.sort_unstable();
        let mut devices = Vec::new();
        for number in numbers {
            devices.extend(self.info(number)?);
        }
        Ok(devices)
    }
}

/// The character device through which a server serves.
pub fn character_device(device: u32) -> PathBuf {
    format!("/dev/ublkc{device}").into()
}

/// The block device that everybody uses.
pub fn block_device(device: u32) -> PathBuf {
    format!("/dev/ublkb{device}").into()
}
