//! Fields of what Identify tells. Pure.

/// A byte of what Identify tells; 0 beyond its end.
pub fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// A text of what Identify tells: printable ASCII, without the blanks around it.
pub fn text(bytes: &[u8], at: usize, length: usize) -> String {
    let found = bytes.get(at..at + length).unwrap_or_default();
    let printable = |byte: &u8| {
        if byte.is_ascii_graphic() {
            char::from(*byte)
        } else {
            ' '
        }
    };
    let text: String = found.iter().map(printable).collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_a_drive_are_trimmed_and_printable() {
        assert_eq!(text(b"..\x1bModel 1   ", 2, 11), "Model 1");
    }
}
