//! LVM's own files, as far as they decide which devices it looks at: `lvm.conf` and its devices file. Pure: text in,
//! settings out. Anything that is no such text is passed over.

use regex::bytes::{Regex, RegexBuilder};

/// Patterns of a filter that are read; more are passed over (our choice).
const MOST_PATTERNS: usize = 256;
/// Bytes of a compiled pattern (our choice): a longer one is passed over.
const PATTERN_BYTES: usize = 1 << 16;

/// The settings of `lvm.conf` (section `devices`).
#[derive(Debug, Default)]
pub struct Settings {
    /// `filter` and `global_filter`, as far as they are set: a device must pass both.
    pub filters: Vec<Filter>,
    /// Whether `global_filter` is set.
    pub has_global_filter: bool,
    /// `use_devicesfile`; `None` where the file does not set it.
    pub uses_devices_file: Option<bool>,
    /// `devicesfile`: the name of the devices file below `/etc/lvm/devices`.
    pub devices_file: Option<String>,
}

/// A filter: patterns in order.
#[derive(Debug, Default)]
pub struct Filter(Vec<Pattern>);

#[derive(Debug)]
struct Pattern {
    accepts: bool,
    regex: Regex,
}

impl Filter {
    fn parse(patterns: &[String]) -> Filter {
        let patterns = patterns.iter().take(MOST_PATTERNS);
        Filter(patterns.filter_map(|text| Pattern::parse(text)).collect())
    }

    /// Whether a device of these names passes: one name that is accepted is enough, names without a pattern do not count.
    pub fn accepts(&self, names: &[String]) -> bool {
        let verdict = |name: &String| {
            let first = self
                .0
                .iter()
                .find(|one| one.regex.is_match(name.as_bytes()));
            first.map(|pattern| pattern.accepts)
        };
        let mut verdicts = names.iter().filter_map(verdict).peekable();
        verdicts.peek().is_none() || verdicts.any(|accepts| accepts)
    }
}

impl Pattern {
    /// Reads `a|REGEX|` or `r|REGEX|`, where any character, or a pair of brackets, stands for the bars.
    fn parse(text: &str) -> Option<Pattern> {
        let text = text.trim();
        let (accepts, rest) = match text.strip_prefix('a') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('r')?),
        };
        let opening = rest.chars().next()?;
        let closing = match opening {
            '(' => ')',
            '[' => ']',
            '{' => '}',
            other => other,
        };
        let regex = rest.strip_prefix(opening)?.strip_suffix(closing)?;
        let mut builder = RegexBuilder::new(regex);
        let regex = builder.unicode(false).size_limit(PATTERN_BYTES).build();
        Some(Pattern {
            accepts,
            regex: regex.ok()?,
        })
    }
}

/// A word of `lvm.conf`.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A quoted string.
    Text(String),
    /// A name, a number, or a path of names.
    Word(String),
    /// One of `{ } [ ] = ,`.
    Mark(char),
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '#' => while rest.next_if(|&one| one != '\n').is_some() {},
            '"' | '\'' => {
                let mut quoted = String::new();
                while let Some(one) = rest.next() {
                    match one {
                        // Between double quotes, a backslash protects these two alone.
                        '\\' if next == '"' => {
                            let protected = rest.next_if(|one| "\"\\".contains(*one));
                            quoted.push(protected.unwrap_or(one));
                        }
                        end if end == next => break,
                        other => quoted.push(other),
                    }
                }
                tokens.push(Token::Text(quoted));
            }
            '{' | '}' | '[' | ']' | '=' | ',' => tokens.push(Token::Mark(next)),
            blank if blank.is_whitespace() => {}
            first => {
                let mut word = String::from(first);
                let ends = |one: &char| one.is_whitespace() || "{}[]=,#\"'".contains(*one);
                while let Some(one) = rest.next_if(|one| !ends(one)) {
                    word.push(one);
                }
                tokens.push(Token::Word(word));
            }
        }
    }
    tokens
}

impl Settings {
    /// Reads the text of an `lvm.conf`. Of a setting that is there twice the last counts.
    pub fn parse(text: &str) -> Settings {
        let mut settings = Settings::default();
        let (mut filter, mut global) = (None, None);
        let mut sections: Vec<String> = Vec::new();
        let mut name = String::new();
        let mut rest = tokens(text).into_iter().peekable();
        while let Some(token) = rest.next() {
            match token {
                Token::Word(word) | Token::Text(word) => name = word,
                Token::Mark('{') => sections.push(std::mem::take(&mut name)),
                Token::Mark('}') => drop(sections.pop()),
                Token::Mark('=') => {
                    let mut values = Vec::new();
                    let is_list = rest.next_if_eq(&Token::Mark('[')).is_some();
                    while let Some(value) = rest.next_if(|token| !is_end(token, is_list)) {
                        if let Token::Text(text) | Token::Word(text) = value {
                            values.push(text);
                        }
                        if !is_list {
                            break;
                        }
                    }
                    // No section of ours lies in another: names of many sections are not put together.
                    let section = match &sections[..] {
                        [] => String::new(),
                        [section] => format!("{section}/"),
                        _ => continue,
                    };
                    match format!("{section}{name}").as_str() {
                        "devices/filter" => filter = Some(values),
                        "devices/global_filter" => global = Some(values),
                        "devices/use_devicesfile" => {
                            settings.uses_devices_file = values.first().map(|value| value != "0");
                        }
                        "devices/devicesfile" => settings.devices_file = values.pop(),
                        _ => {}
                    }
                }
                Token::Mark(_) => {}
            }
        }
        settings.has_global_filter = global.is_some();
        let filters = [filter, global].into_iter().flatten();
        settings.filters = filters.map(|values| Filter::parse(&values)).collect();
        settings
    }
}

/// Whether a value ends before this token.
fn is_end(token: &Token, is_list: bool) -> bool {
    match token {
        Token::Mark(']') => true,
        Token::Mark(',') => !is_list,
        Token::Mark(_) => true,
        _ => false,
    }
}

/// Whether a devices file lists a device: by one of its names, or by its worldwide name.
pub fn is_listed(devices_file: &str, names: &[String], worldwide: Option<&str>) -> bool {
    // LVM writes blanks of a worldwide name as underscores.
    let worldwide = worldwide.map(|name| name.split_whitespace().collect::<Vec<_>>().join("_"));
    let is_it =
        |value: &str| names.iter().any(|name| name == value) || worldwide.as_deref() == Some(value);
    let entries = devices_file.lines().map(str::trim_start);
    entries.filter(|line| !line.starts_with('#')).any(|line| {
        let mut fields = line.split_whitespace();
        fields.any(|field| {
            let value = field
                .strip_prefix("IDNAME=")
                .or_else(|| field.strip_prefix("DEVNAME="));
            value.is_some_and(is_it)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    /// Whether a device of these names passes the filters of a text.
    fn passes(text: &str, of: &[&str]) -> bool {
        let settings = Settings::parse(text);
        let names = names(of);
        settings.filters.iter().all(|one| one.accepts(&names))
    }

    const GUIDE: &str = r#"
# global_filter = [ "r|.*|" ]
config { checks = 1 }
devices {
    dir = "/dev"   # filter = [ "r|.*|" ]
    scan = [ "/dev" ]
    global_filter = [ "a|^/dev/ublkb|",
        "r|^/dev/nvme|", "r|^/dev/disk/by-id/nvme-|" ]
}
"#;

    #[test]
    fn the_guides_filter_leaves_the_drive_out_by_any_of_its_names() {
        assert!(passes(GUIDE, &["/dev/ublkb0"]));
        assert!(passes(GUIDE, &["/dev/sda"]));
        assert!(!passes(GUIDE, &["/dev/nvme0n1"]));
        let others = ["/dev/disk/by-path/pci-1", "/dev/disk/by-id/nvme-A_B_1"];
        assert!(!passes(GUIDE, &others));
        assert!(passes("", &["/dev/nvme0n1"]) && passes("devices {}", &["/dev/nvme0n1"]));
        assert!(Settings::parse(GUIDE).has_global_filter);
        assert!(!Settings::parse("devices { filter = \"r|x|\" }").has_global_filter);
    }

    #[test]
    fn the_first_pattern_decides_for_a_name_and_one_accepted_name_is_enough() {
        let text = r#"devices { filter = [ "a/^\/dev\/nvme1/", "r#^/dev/nvme#", "a[.*]" ] }"#;
        assert!(passes(text, &["/dev/nvme1n1"]) && !passes(text, &["/dev/nvme0n1"]));
        assert!(passes(text, &["/dev/nvme0n1", "/dev/disk/by-id/x"]));
        // Both filters must let it pass; a single string is a list of one.
        let both = "devices/filter = \"a|.*|\" devices { global_filter = 'r|nvme|' }";
        assert!(!passes(both, &["/dev/nvme0n1"]) && passes(both, &["/dev/sda"]));
        let elsewhere = "activation { filter = [ \"r|.*|\" ] }";
        assert!(passes(elsewhere, &["/dev/nvme0n1"]));
    }

    #[test]
    fn the_last_of_a_setting_counts_and_the_devices_file_has_a_name() {
        let text = "devices { use_devicesfile = 1 use_devicesfile = 0 devicesfile = \"own\" }";
        let settings = Settings::parse(text);
        assert_eq!(settings.uses_devices_file, Some(false));
        assert_eq!(settings.devices_file.as_deref(), Some("own"));
        assert_eq!(Settings::parse("").uses_devices_file, None);
    }

    #[test]
    fn text_that_is_no_configuration_does_no_harm() {
        let deep = "a{b=".repeat(200_000);
        let huge = "devices { filter = [ \"r|((((a{99}){99}){99}){99}){99}|\" ] }";
        for text in [
            "}",
            "= = [",
            "\"\\",
            "[ ] ]",
            "devices { filter = ",
            &deep,
            huge,
        ] {
            assert!(passes(text, &["/dev/nvme0n1"]), "{text:.40}");
        }
        for pattern in [
            "",
            "a",
            "r",
            "a|",
            "x|.*|",
            "r|(|",
            "\u{fc}|.*|",
            "r\u{fc}.*\u{fc}b",
        ] {
            assert!(Pattern::parse(pattern).is_none(), "{pattern}");
        }
    }

    #[test]
    fn a_devices_file_lists_by_name_and_by_worldwide_name() {
        let file = "# IDNAME=/dev/sda\nVERSION=1.1.2\n\
            IDTYPE=sys_wwid IDNAME=eui.01 DEVNAME=/dev/nvme7n1 PVID=x\n\
            IDTYPE=devname IDNAME=/dev/ublkb0 DEVNAME=/dev/ublkb0 PVID=x PART=1\n";
        let listed = |name, worldwide| is_listed(file, &names(&[name]), worldwide);
        assert!(listed("/dev/nvme0n1", Some("eui.01")));
        assert!(listed("/dev/nvme7n1", None) && listed("/dev/ublkb0", None));
        assert!(!listed("/dev/sda", Some("eui.02")) && !listed("/dev/ublkb1", None));
        let blanks = "IDTYPE=sys_wwid IDNAME=nvme.1_2 DEVNAME=.";
        assert!(is_listed(blanks, &[], Some("nvme.1  2")));
    }
}
