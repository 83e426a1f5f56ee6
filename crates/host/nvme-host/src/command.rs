//! Commands: where they go, and their opcodes.

/// Queue of a drive that a command goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// The admin queue.
    Admin,
    /// An I/O queue.
    Io,
}

/// Opcodes, and where they go.
pub mod opcode {
    /// Identify (admin).
    pub const IDENTIFY: u8 = 0x06;
    /// Get Log Page (admin).
    pub const GET_LOG: u8 = 0x02;
    /// Get Features (admin).
    pub const GET_FEATURES: u8 = 0x0a;
    /// Directive Send (admin).
    pub const DIRECTIVE_SEND: u8 = 0x19;
    /// Directive Receive (admin).
    pub const DIRECTIVE_RECEIVE: u8 = 0x1a;
    /// I/O Management Receive (I/O).
    pub const MANAGEMENT_RECEIVE: u8 = 0x12;
    /// I/O Management Send (I/O).
    pub const MANAGEMENT_SEND: u8 = 0x1d;
}
