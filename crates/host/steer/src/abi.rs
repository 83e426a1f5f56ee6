//! The words of linux/ublk_cmd.h and linux/nvme_ioctl.h, as bytes.
//!
//! Both headers are stable interfaces; offsets stand beside what is written there.

/// Bytes of one entry of the descriptor table, `struct ublksrv_io_desc`.
pub const DESCRIPTOR_BYTES: usize = 24;
/// Entries a queue may have, by which the tables of several queues are laid out.
pub const MOST_DEPTH: usize = 4096;
/// Bytes of `struct ublksrv_ctrl_dev_info`.
pub const INFO_BYTES: usize = 64;
/// Bytes of `struct ublk_params` up to and with its `discard` part.
pub const PARAMETER_BYTES: usize = 60;

const READ: u32 = 2;
const READ_WRITE: u32 = 3;

/// The kernel's `_IOR` and `_IOWR` (asm-generic/ioctl.h).
const fn ioctl(direction: u32, kind: u8, number: u8, bytes: u32) -> u32 {
    direction << 30 | bytes << 16 | (kind as u32) << 8 | number as u32
}

/// Commands to `/dev/ublk-control`; their argument has 32 bytes.
pub mod control {
    use super::{READ, READ_WRITE, ioctl};

    pub const GET_INFO: u32 = ioctl(READ, b'u', 0x02, 32);
    pub const ADD: u32 = ioctl(READ_WRITE, b'u', 0x04, 32);
    pub const DELETE: u32 = ioctl(READ_WRITE, b'u', 0x05, 32);
    pub const START: u32 = ioctl(READ_WRITE, b'u', 0x06, 32);
    pub const STOP: u32 = ioctl(READ_WRITE, b'u', 0x07, 32);
    pub const SET_PARAMETERS: u32 = ioctl(READ_WRITE, b'u', 0x08, 32);
    pub const START_RECOVERY: u32 = ioctl(READ_WRITE, b'u', 0x10, 32);
    pub const END_RECOVERY: u32 = ioctl(READ_WRITE, b'u', 0x11, 32);
    pub const GET_FEATURES: u32 = ioctl(READ, b'u', 0x13, 32);
    /// Since Linux 6.9.
    pub const DELETE_LATER: u32 = ioctl(READ, b'u', 0x14, 32);
}

/// Commands to `/dev/ublkcN`; their argument has 16 bytes.
pub mod io {
    use super::{READ_WRITE, ioctl};

    pub const FETCH: u32 = ioctl(READ_WRITE, b'u', 0x20, 16);
    pub const COMMIT_AND_FETCH: u32 = ioctl(READ_WRITE, b'u', 0x21, 16);
}

/// Features of a kernel's ublk, and flags of a device.
pub mod feature {
    /// A device survives its server.
    pub const USER_RECOVERY: u64 = 1 << 3;
    /// Requests that a dead server had not answered go to the next one.
    pub const RECOVERY_REISSUE: u64 = 1 << 4;
    /// Commands are numbered as ioctls are.
    pub const IOCTL_ENCODE: u64 = 1 << 6;
    /// A request's memory is lent to the server's ring: nothing is copied.
    pub const AUTO_BUFFER: u64 = 1 << 11;
}

/// Operations of a request: the low byte of its first word, and flags above.
pub mod request {
    pub const READ: u32 = 0;
    pub const WRITE: u32 = 1;
    pub const FLUSH: u32 = 2;
    pub const DISCARD: u32 = 3;
    pub const WRITE_ZEROES: u32 = 5;
    pub const META: u32 = 1 << 11;
    pub const FUA: u32 = 1 << 13;
    pub const NO_UNMAP: u32 = 1 << 15;
}

/// `NVME_URING_CMD_IO`.
pub const NVME_COMMAND: u32 = ioctl(READ_WRITE, b'N', 0x80, 72);

/// A command to the control device, `struct ublksrv_ctrl_cmd`, in the 80 bytes a ring has for it.
pub fn control_command(device: u32, address: u64, bytes: u16, data: u64) -> [u8; 80] {
    let mut command = [0; 80];
    put(&mut command, 0, &device.to_ne_bytes());
    // No queue: all ones.
    put(&mut command, 4, &u16::MAX.to_ne_bytes());
    put(&mut command, 6, &bytes.to_ne_bytes());
    put(&mut command, 8, &address.to_ne_bytes());
    put(&mut command, 16, &data.to_ne_bytes());
    command
}

/// A command of a queue, `struct ublksrv_io_cmd`. `address`: of the memory that the kernel copies
/// to and from; 0 where it does not.
pub fn io_command(queue: u16, tag: u16, result: i32, address: u64) -> [u8; 80] {
    let mut command = [0; 80];
    put(&mut command, 0, &queue.to_ne_bytes());
    put(&mut command, 2, &tag.to_ne_bytes());
    put(&mut command, 4, &result.to_ne_bytes());
    put(&mut command, 8, &address.to_ne_bytes());
    command
}

/// The description of a ublk device, `struct ublksrv_ctrl_dev_info`, as far as a server sets it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Info {
    pub queues: u16,
    pub depth: u16,
    pub state: u16,
    pub most_bytes: u32,
    pub device: u32,
    pub process: i32,
    pub flags: u64,
    /// The server's own word, which the kernel keeps: whose device it is.
    pub owner: u64,
}

/// The states of a device.
pub mod state {
    pub const DEAD: u16 = 0;
    pub const QUIESCED: u16 = 2;
}

impl Info {
    pub fn to_bytes(self) -> [u8; INFO_BYTES] {
        let mut bytes = [0; INFO_BYTES];
        put(&mut bytes, 0, &self.queues.to_ne_bytes());
        put(&mut bytes, 2, &self.depth.to_ne_bytes());
        put(&mut bytes, 4, &self.state.to_ne_bytes());
        put(&mut bytes, 8, &self.most_bytes.to_ne_bytes());
        put(&mut bytes, 12, &self.device.to_ne_bytes());
        put(&mut bytes, 16, &self.process.to_ne_bytes());
        put(&mut bytes, 24, &self.flags.to_ne_bytes());
        put(&mut bytes, 32, &self.owner.to_ne_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8; INFO_BYTES]) -> Info {
        Info {
            queues: u16::from_ne_bytes(take(bytes, 0)),
            depth: u16::from_ne_bytes(take(bytes, 2)),
            state: u16::from_ne_bytes(take(bytes, 4)),
            most_bytes: u32::from_ne_bytes(take(bytes, 8)),
            device: u32::from_ne_bytes(take(bytes, 12)),
            process: i32::from_ne_bytes(take(bytes, 16)),
            flags: u64::from_ne_bytes(take(bytes, 24)),
            owner: u64::from_ne_bytes(take(bytes, 32)),
        }
    }
}

/// The limits of a block device, `struct ublk_params`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters {
    /// Its logical block is 1 << this many bytes.
    pub block_shift: u8,
    /// Bytes of the largest read or write.
    pub most_bytes: u32,
    pub device_bytes: u64,
    /// Whether the drive has a cache that forgets, to be flushed.
    pub volatile_cache: bool,
    /// Bytes of the largest discard; 0 for none.
    pub most_discard_bytes: u64,
    /// Bytes of the largest write of zeroes; 0 for none.
    pub most_zeroes_bytes: u64,
}

impl Parameters {
    /// Sectors of the block layer have 512 bytes. Physical and smallest good writes are a page;
    /// segments end at pages, as NVMe's lists of pages want them.
    pub fn to_bytes(self) -> [u8; PARAMETER_BYTES] {
        const BASIC_AND_DISCARD: u32 = 0b11;
        const VOLATILE_CACHE_AND_FUA: u32 = 0b1100;
        const PAGE_SHIFT: u8 = 12;
        let sectors = |bytes: u64| u32::try_from(bytes / 512).unwrap_or(u32::MAX);
        let mut bytes = [0; PARAMETER_BYTES];
        put(&mut bytes, 0, &(PARAMETER_BYTES as u32).to_ne_bytes());
        put(&mut bytes, 4, &BASIC_AND_DISCARD.to_ne_bytes());
        if self.volatile_cache {
            put(&mut bytes, 8, &VOLATILE_CACHE_AND_FUA.to_ne_bytes());
        }
        let physical = PAGE_SHIFT.max(self.block_shift);
        put(&mut bytes, 12, &[self.block_shift, physical, 0, physical]);
        put(
            &mut bytes,
            16,
            &sectors(self.most_bytes.into()).to_ne_bytes(),
        );
        put(&mut bytes, 24, &(self.device_bytes / 512).to_ne_bytes());
        put(&mut bytes, 32, &4095_u64.to_ne_bytes());
        put(&mut bytes, 44, &(1_u32 << physical).to_ne_bytes());
        put(
            &mut bytes,
            48,
            &sectors(self.most_discard_bytes).to_ne_bytes(),
        );
        put(
            &mut bytes,
            52,
            &sectors(self.most_zeroes_bytes).to_ne_bytes(),
        );
        put(&mut bytes, 56, &1_u16.to_ne_bytes());
        bytes
    }
}

/// An NVMe command for a ring, `struct nvme_uring_cmd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NvmeCommand {
    pub opcode: u8,
    pub namespace: u32,
    pub address: u64,
    pub data_bytes: u32,
    /// Command words 10 to 15.
    pub words: [u32; 6],
}

impl NvmeCommand {
    pub fn to_bytes(self) -> [u8; 80] {
        let mut bytes = [0; 80];
        bytes[0] = self.opcode;
        put(&mut bytes, 4, &self.namespace.to_ne_bytes());
        put(&mut bytes, 24, &self.address.to_ne_bytes());
        put(&mut bytes, 36, &self.data_bytes.to_ne_bytes());
        for (index, word) in self.words.iter().enumerate() {
            put(&mut bytes, 40 + 4 * index, &word.to_ne_bytes());
        }
        bytes
    }
}

fn put(to: &mut [u8], offset: usize, bytes: &[u8]) {
    if let Some(place) = to.get_mut(offset..offset + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

fn take<const N: usize>(from: &[u8], offset: usize) -> [u8; N] {
    let found = from.get(offset..offset + N);
    found
        .and_then(|found| found.try_into().ok())
        .unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_numbers_are_those_of_the_headers() {
        assert_eq!(control::GET_FEATURES, 0x8020_7513);
        assert_eq!(control::ADD, 0xc020_7504);
        assert_eq!(io::FETCH, 0xc010_7520);
        assert_eq!(NVME_COMMAND, 0xc048_4e80);
    }

    #[test]
    fn what_a_device_is_reads_back() {
        let info = Info {
            queues: 2,
            depth: 64,
            state: state::QUIESCED,
            most_bytes: 1 << 19,
            device: 3,
            process: -1,
            flags: u64::MAX - 5,
            owner: 0x1234_5678_9abc_def0,
        };
        assert_eq!(Info::from_bytes(&info.to_bytes()), info);
    }

    #[test]
    fn a_limit_beyond_the_field_is_the_field_s_largest() {
        let bytes = Parameters {
            block_shift: 9,
            most_bytes: 1 << 19,
            device_bytes: 1 << 30,
            volatile_cache: true,
            most_discard_bytes: u64::MAX,
            most_zeroes_bytes: 0,
        }
        .to_bytes();
        let word = |offset| u32::from_ne_bytes(take(&bytes, offset));
        assert_eq!((word(0), word(4), word(8)), (60, 3, 12));
        assert_eq!(bytes[12..16], [9, 12, 0, 12]);
        assert_eq!((word(16), word(48), word(52)), (1024, u32::MAX, 0));
        assert_eq!(u64::from_ne_bytes(take(&bytes, 24)), 1 << 21);
    }
}
