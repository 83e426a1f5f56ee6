//! The kernel's own target: its ring of commands.
