//! Names of hosts and subsystems (NQN).

/// Bytes of the longest name (Base 2.0, 4.7).
const MOST_NAME: usize = 223;

/// Whether a text can be the name of a host or a subsystem.
pub fn is_name(name: &str) -> bool {
    (1..=MOST_NAME).contains(&name.len()) && !name.chars().any(char::is_control)
}
