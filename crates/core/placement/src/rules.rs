//! Rules that people write, which give writes their streams.

use glob::Pattern;
use serde::{Deserialize, Serialize};

use anabranch_trace::{ContextKind, WriteHint};

/// Gives the text of the file of that name; the error is a sentence. Schemes open no file: the
/// caller that parses their parameters passes this function.
pub type ReadText<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// The most rules of a set: as many as a word has bits.
pub(crate) const MAX_RULES: usize = 64;

/// The sets that are shipped.
const SHIPPED: &[(&str, &str)] = &[
    ("common", include_str!("../rules/common.toml")),
    (
        "cassandra-normal",
        include_str!("../rules/cassandra-normal.toml"),
    ),
    (
        "cassandra-single",
        include_str!("../rules/cassandra-single.toml"),
    ),
    (
        "cassandra-multi-log",
        include_str!("../rules/cassandra-multi-log.toml"),
    ),
    (
        "cassandra-multi-data",
        include_str!("../rules/cassandra-multi-data.toml"),
    ),
    ("mysql", include_str!("../rules/mysql.toml")),
    ("rocksdb", include_str!("../rules/rocksdb.toml")),
    ("sqlite", include_str!("../rules/sqlite.toml")),
    ("f2fs", include_str!("../rules/f2fs.toml")),
];

/// One rule. A condition that is absent matches everything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// Pattern of the file's name, without a directory: `*` matches any letters, `?` one, `[a-z]`
    /// one of those.
    pub file: Option<Glob>,
    /// Pattern of the writing thread's role, its name without digits.
    pub role: Option<Glob>,
    pub kind: Option<ContextKind>,
    /// The number of the tenant.
    pub tenant: Option<u32>,
    /// The life-time hint that the application asked for.
    pub hint: Option<Hint>,
    /// The signature of the program context, in hexadecimal.
    pub context: Option<Signature>,
    /// The first byte of the address range.
    pub from_byte: Option<u64>,
    /// The byte behind the address range. A request is in the range if it begins there.
    pub to_byte: Option<u64>,
    /// The hint that the application should give such writes: advice to people, ignored here.
    #[serde(rename = "write_hint")]
    pub _write_hint: Option<Hint>,
    /// The stream of such writes; the drive's last stream if it has fewer.
    pub stream: u16,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Glob(pub Pattern);

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> Result<Glob, String> {
        let pattern = Pattern::new(&text);
        pattern
            .map(Glob)
            .map_err(|error| format!("`{text}` is no pattern: {error}"))
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Hint(pub WriteHint);

impl TryFrom<String> for Hint {
    type Error = String;

    fn try_from(text: String) -> Result<Hint, String> {
        let hint = WriteHint::from_name(&text).map(Hint);
        hint.ok_or_else(|| {
            let names = WriteHint::ALL.map(WriteHint::name).join(", ");
            format!("`{text}` is no hint: there are {names}")
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Signature(pub u64);

impl TryFrom<String> for Signature {
    type Error = String;

    fn try_from(text: String) -> Result<Signature, String> {
        let number = u64::from_str_radix(&text, 16).map(Signature);
        number.map_err(|_| format!("`{text}` is no context: write its signature in hexadecimal"))
    }
}

/// The use of a set of rules: which rules placed a write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleUse {
    /// The name of the set, or of its file.
    pub set: String,
    /// Number of rules in the set.
    pub rules: u32,
    /// Rules that placed no write, by their places in the set, counted from 1: none matched, or an
    /// earlier rule took the write.
    pub idle: Vec<u32>,
}

impl RuleUse {
    /// The use by two schemes with the same set: a rule is idle if both did not use it.
    pub(crate) fn joined(mut self, other: RuleUse) -> RuleUse {
        self.idle.retain(|rule| other.idle.contains(rule));
        self
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "description")]
    _description: Option<String>,
    #[serde(rename = "source")]
    _source: Option<String>,
    #[serde(default)]
    rule: Vec<Rule>,
}

/// A set of rules, of which the first that matches decides.
#[derive(Debug, Clone)]
pub struct Rules {
    name: String,
    rules: Vec<Rule>,
}

impl Default for Rules {
    /// The first of the shipped sets.
    fn default() -> Rules {
        let (name, text) = SHIPPED[0];
        Rules::parse(name, text).unwrap_or(Rules {
            name: String::new(),
            rules: Vec::new(),
        })
    }
}

impl Rules {
    /// The names of the shipped sets.
    pub fn shipped() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|(name, _)| *name)
    }

    /// The TOML of a shipped set.
    pub fn text(name: &str) -> Option<&'static str> {
        let found = SHIPPED.iter().find(|(known, _)| *known == name);
        found.map(|(_, text)| *text)
    }

    /// The shipped set of that name, or the set in the file of that name, whose text `read` gives.
    ///
    /// # Errors
    /// When there is neither, or the file's text is not a set of rules; the error is a sentence.
    pub fn find(name: &str, read: &ReadText<'_>) -> Result<Rules, String> {
        if let Some(text) = Rules::text(name) {
            return Rules::parse(name, text);
        }
        let text = read(name).map_err(|problem| {
            let shipped: Vec<&str> = Rules::shipped().collect();
            format!("one of {}, or a TOML file: {problem}", shipped.join(", "))
        })?;
        Rules::parse(name, &text)
    }

    /// Parses a TOML text as a set of rules.
    ///
    /// # Errors
    /// When the text is not a set of rules: a sentence that names the place in the text.
    pub fn parse(name: &str, text: &str) -> Result<Rules, String> {
        let document: Document =
            toml::from_str(text).map_err(|error| format!("a set of rules:\n{error}"))?;
        if document.rule.len() > MAX_RULES {
            let count = document.rule.len();
            return Err(format!("at most {MAX_RULES} rules, not {count}"));
        }
        Ok(Rules {
            name: name.to_owned(),
            rules: document.rule,
        })
    }

    /// The name of the shipped set or of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_file(name: &str) -> Result<String, String> {
        Err(format!("cannot read {name}"))
    }

    #[test]
    fn every_shipped_set_reads() {
        for name in Rules::shipped() {
            let rules = Rules::find(name, &no_file).unwrap();
            assert_eq!(rules.name(), name);
        }
        assert_eq!(Rules::default().name(), "common");
        assert!(Rules::default().rules().len() > 10);
    }

    #[test]
    fn a_file_is_asked_for_where_no_set_has_the_name() {
        let read = |name: &str| {
            assert_eq!(name, "mine.toml");
            Ok("[[rule]]\nfile = \"*.log\"\nstream = 1\n".to_owned())
        };
        assert_eq!(Rules::find("mine.toml", &read).unwrap().rules().len(), 1);
        let error = Rules::find("cassandra", &no_file).unwrap_err();
        assert!(error.contains("cassandra-normal"), "{error}");
        assert!(error.contains("cannot read cassandra"), "{error}");
    }

    #[test]
    fn what_is_no_rule_is_met_with_the_place() {
        for (text, expected) in [
            ("[[rule]]\nstream = 1\nfiles = \"a\"", "files"),
            ("[[rule]]\nfile = \"a\"", "stream"),
            ("[[rule]]\nfile = \"a[\"\nstream = 1", "no pattern"),
            (
                "[[rule]]\nhint = \"soon\"\nstream = 1",
                "not-set, none, short",
            ),
            ("[[rule]]\nkind = \"disk\"\nstream = 1", "journal"),
            ("[[rule]]\nstream = -1", "line 2"),
            ("[[rule]]\ncontext = \"x1\"\nstream = 1", "hexadecimal"),
            ("rules = 3", "rules"),
        ] {
            let error = Rules::parse("x", text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let many = "[[rule]]\nstream = 1\n".repeat(65);
        assert!(Rules::parse("x", &many).unwrap_err().contains("at most 64"));
    }
}
