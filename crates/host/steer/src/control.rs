//! The control device of ublk: makes block devices, starts, stops and recovers them.
//!
//! `unsafe` only to hand commands that name memory to the ring; each stays where it is until its completion.
#![allow(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use io_uring::{IoUring, cqueue, opcode::UringCmd80, squeue, types::Fd};

use crate::abi::{self, Info, Parameters, control_command};
use crate::error::SteerError;

/// The kernel's own name for "any device number".
const ANY: u32 = u32::MAX;

/// Asks for the features of this kernel's ublk: bits of linux/ublk_cmd.h.
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
    /// Commands so far, by which completions are told apart.
    asked: u64,
}

impl Control {
    pub fn open() -> Result<Control, SteerError> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/ublk-control")
            .map_err(SteerError::NoDriver)?;
        let ring = IoUring::builder().build(4).map_err(SteerError::Ring)?;
        Ok(Control {
            file,
            ring,
            asked: 0,
        })
    }

    /// Performs one command and waits for its end. The kernel reads and writes `data`, as a copy that stays with the ring
    /// until then.
    fn perform(
        &mut self,
        what: &'static str,
        number: u32,
        (device, argument): (u32, u64),
        data: &mut [u8],
    ) -> Result<(), SteerError> {
        self.asked += 1;
        let asked = self.asked;
        let mut exchanged: Box<[u8]> = data.into();
        let address = match exchanged.len() {
            0 => 0,
            _ => exchanged.as_mut_ptr() as u64,
        };
        let length = u16::try_from(exchanged.len()).unwrap_or(u16::MAX);
        let entry = UringCmd80::new(Fd(self.file.as_raw_fd()), number)
            .cmd(control_command(device, address, length, argument))
            .build()
            .user_data(asked);
        // SAFETY: the command names `exchanged` alone, which is freed only behind its completion.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_| SteerError::Ring(io::Error::other("its queue is full")))?;
        let answer = loop {
            match self.ring.submit_and_wait(1) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    // IMPORTANT: the kernel may still write there.
                    std::mem::forget(exchanged);
                    return Err(SteerError::Ring(error));
                }
            }
            let seen = self.ring.completion();
            if let Some(answer) = own(seen.map(|one| (one.user_data(), one.result())), asked) {
                break answer;
            }
        };
        if answer < 0 {
            return Err(SteerError::Control {
                what,
                source: io::Error::from_raw_os_error(-answer),
            });
        }
        data.copy_from_slice(&exchanged);
        Ok(())
    }

    fn simple(
        &mut self,
        what: &'static str,
        number: u32,
        device: u32,
        data: u64,
    ) -> Result<(), SteerError> {
        self.perform(what, number, (device, data), &mut [])
    }

    pub fn features(&mut self) -> Result<u64, SteerError> {
        let mut features = [0; 8];
        let number = abi::control::GET_FEATURES;
        self.perform("tell its features", number, (ANY, 0), &mut features)?;
        Ok(u64::from_ne_bytes(features))
    }

    fn with_info(
        &mut self,
        what: &'static str,
        number: u32,
        info: Info,
    ) -> Result<Info, SteerError> {
        let mut bytes = info.to_bytes();
        self.perform(what, number, (info.device, 0), &mut bytes)?;
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

    /// Describes a device; nothing where there is none of that number.
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
        let number = abi::control::SET_PARAMETERS;
        let mut bytes = parameters.to_bytes();
        self.perform("take the device's limits", number, (device, 0), &mut bytes)
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

/// The answer to the command of this number, among completions. One before it that gave no answer in time is passed over.
fn own(mut completions: impl Iterator<Item = (u64, i32)>, asked: u64) -> Option<i32> {
    completions.find_map(|(number, answer)| (number == asked).then_some(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_came_late_is_not_taken_for_the_next_commands() {
        let late = [(1, -5), (2, 0)];
        assert_eq!(own(late.into_iter(), 2), Some(0));
        assert_eq!(own(late.into_iter().take(1), 2), None);
        assert_eq!(own(late.into_iter(), 1), Some(-5));
    }
}
