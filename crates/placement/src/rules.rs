//! Rules that give writes their streams, as people write them.

use glob::Pattern;
use serde::{Deserialize, Serialize};

use anabranch_trace::{ContextKind, WriteHint};

/// Gives the text of the file of that name, or says in words why it cannot. Schemes touch no
/// file: whoever reads their parameters hands this in.
pub type ReadText<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Rules there can be in a set: as many as a word has bits.
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

/// One rule. What it does not mention may be anything.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// The file's name, without a directory: `*` any letters, `?` one, `[a-z]` one of those.
    pub file: Option<Glob>,
    /// The role of the writing thread, its name without digits; likewise.
    pub role: Option<Glob>,
    /// The kind of the context.
    pub kind: Option<ContextKind>,
    /// The tenant's number.
    pub tenant: Option<u32>,
    /// The life-time hint asked for.
    pub hint: Option<Hint>,
    /// The program context's signature, in hexadecimal.
    pub context: Option<Signature>,
    /// The first byte of the addresses it is of.
    pub from_byte: Option<u64>,
    /// The byte behind the last of them. A request belongs where it begins.
    pub to_byte: Option<u64>,
    /// The hint the application should give such writes: advice to people, not gone by here.
    #[serde(rename = "write_hint")]
    pub _write_hint: Option<Hint>,
    /// Where such writes go; the drive's last stream if it has fewer.
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

/// Which rules of a set were of use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleUse {
    /// The set's name, or its file's.
    pub set: String,
    /// Rules in the set.
    pub rules: u32,
    /// Those that placed no write, by their places in the set, counted from 1: none matched, or
    /// a rule before them took it.
    pub idle: Vec<u32>,
}

impl RuleUse {
    /// What was of use to at least one of two that had the same set.
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

/// A set of rules, the first that matches wins.
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

    /// The shipped set of that name, or the one in the file of that name, which `read` gives.
    ///
    /// # Errors
    /// In words, when there is neither, or the file's text is no set of rules.
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

    /// The rules of a TOML text.
    ///
    /// # Errors
    /// In words, with the place, when the text is not a set of rules.
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

    /// The name people write: a shipped set's, or a file's.
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
