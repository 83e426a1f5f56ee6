//! The kernel's version.

/// The content of a file in /proc/sys/kernel.
pub fn said_by_kernel(name: &str) -> String {
    std::fs::read_to_string(format!("/proc/sys/kernel/{name}"))
        .unwrap_or_default()
        .trim()
        .to_owned()
}
