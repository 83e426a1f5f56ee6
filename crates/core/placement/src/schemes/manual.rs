//! `manual`: streams by rules that people write.

use anabranch_ssd::StreamId;
use anabranch_trace::{ContextId, FileId, WriteHint};

use crate::{
    assign::{Assign, ContextName, Names, Write},
    halves::Halves,
    parameter::{named, parameters},
    rules::{Rule, RuleUse, Rules},
    scheme::{HostScheme, Unfit},
    site::Site,
};

/// The most files and contexts whose names are remembered; later ones count as nameless. For files it is the most that
/// the probe keeps apart, for contexts 64 times that (our choice).
const MAX_FILES: usize = 1 << 20;
const MAX_CONTEXTS: usize = 1 << 16;

parameters! {
    /// Parameters of [`Manual`].
    #[derive(Debug, Clone)]
    pub struct Parameters {
        /// The rules. `common` by default: what most programs' files are told apart by.
        rules: Rules = Rules::default(),
            "a shipped set of rules, or a TOML file";
    }
}

impl HostScheme for Parameters {
    named!("manual");

    fn rules(&self) -> Option<&Rules> {
        Some(&self.rules)
    }

    fn build(&self, site: &Site<'_>) -> Result<Halves, Unfit> {
        Ok(Halves::host(Manual::new(
            &self.rules,
            site.drive.host_streams,
            site.drive.page_bytes,
        )))
    }
}

/// A set of rules: one bit for each, by its place.
type Matching = u64;

/// Follows rules over file name, thread role, program context and its kind, tenant, hint and address. The first rule
/// that matches names the stream; if none does, it is stream 0. A stream that the drive does not have becomes its last
/// one.
///
/// Names are matched when they become known. A write then costs a few table reads, since the rules that match it are
/// those that match each of its parts. A file or context without a name matches only rules that do not ask for one.
/// Memory: 8 bytes for each file and context, of which there are at most 2^20 and 65,536, and the rules.
#[derive(Debug, Clone)]
pub struct Manual {
    set: String,
    rules: Vec<Rule>,
    /// The rules that have placed a write.
    used: Matching,
    streams: Vec<StreamId>,
    nameless_file: Matching,
    nameless_context: Matching,
    files: Vec<Matching>,
    contexts: Vec<Matching>,
    hints: [Matching; WriteHint::ALL.len()],
    any_tenant: Matching,
    /// The tenants that rules name, each with the rules that match it.
    tenants: Vec<(u32, Matching)>,
    /// The rules that match from a page on, up to the page of the next row; the first row begins at page 0.
    addresses: Vec<(u32, Matching)>,
}

impl Manual {
    /// The scheme for a drive with `host_streams` streams, at least 1, and pages of `page_bytes`.
    pub fn new(rules: &Rules, host_streams: u16, page_bytes: u32) -> Manual {
        let set = rules.name().to_owned();
        let rules = rules.rules().to_vec();
        let last = host_streams.saturating_sub(1);
        let tenant = |wanted| matching(&rules, |rule| rule.tenant == Some(wanted));
        let mut tenants: Vec<u32> = rules.iter().filter_map(|rule| rule.tenant).collect();
        tenants.sort_unstable();
        tenants.dedup();
        Manual {
            set,
            used: 0,
            streams: rules
                .iter()
                .map(|rule| StreamId(rule.stream.min(last)))
                .collect(),
            nameless_file: matching(&rules, |rule| rule.file.is_none()),
            nameless_context: matching(&rules, |rule| {
                rule.role.is_none() && rule.kind.is_none() && rule.context.is_none()
            }),
            files: Vec::new(),
            contexts: Vec::new(),
            hints: WriteHint::ALL
                .map(|hint| matching(&rules, |rule| rule.hint.is_none_or(|one| one.0 == hint))),
            any_tenant: matching(&rules, |rule| rule.tenant.is_none()),
            tenants: tenants.iter().map(|one| (*one, tenant(*one))).collect(),
            addresses: addresses(&rules, page_bytes),
            rules,
        }
    }

    fn learn_file(&mut self, file: FileId, name: &str) {
        if name.is_empty() {
            return;
        }
        let matches = |rule: &Rule| rule.file.as_ref().is_none_or(|glob| glob.0.matches(name));
        let matching = matching(&self.rules, matches);
        let row = file.0 as usize;
        put(
            &mut self.files,
            MAX_FILES,
            row,
            matching,
            self.nameless_file,
        );
    }

    fn learn_context(&mut self, context: &ContextName) {
        if context.id == ContextId::UNKNOWN {
            return;
        }
        let matches = |rule: &Rule| {
            let role = rule.role.as_ref();
            role.is_none_or(|glob| glob.0.matches(&context.role))
                && rule.kind.is_none_or(|kind| kind == context.kind)
                && rule.context.is_none_or(|one| one.0 == context.signature)
        };
        let matching = matching(&self.rules, matches);
        let row = context.id.0 as usize;
        let nameless = self.nameless_context;
        put(&mut self.contexts, MAX_CONTEXTS, row, matching, nameless);
    }

    /// The stream of a write that is not counted among those a rule has placed.
    pub(crate) fn stream_of(&self, write: &Write) -> StreamId {
        self.first(self.matching(write))
    }

    /// The rules that match a write.
    #[inline]
    fn matching(&self, write: &Write) -> Matching {
        let file = self.files.get(write.file.0 as usize);
        let context = self.contexts.get(write.context.0 as usize);
        file.unwrap_or(&self.nameless_file)
            & context.unwrap_or(&self.nameless_context)
            & self.hints[write.hint as usize]
            & self.of_tenant(write.tenant)
            & self.at(write.pages.first)
    }

    /// The stream of the first of the rules that match.
    #[inline]
    fn first(&self, matching: Matching) -> StreamId {
        let first = self.streams.get(matching.trailing_zeros() as usize);
        first.copied().unwrap_or_default()
    }

    #[inline]
    fn of_tenant(&self, tenant: u32) -> Matching {
        let own = self.tenants.iter().find(|(known, _)| *known == tenant);
        self.any_tenant | own.map_or(0, |(_, matching)| *matching)
    }

    #[inline]
    fn at(&self, page: u32) -> Matching {
        if let [(_, all)] = self.addresses.as_slice() {
            return *all;
        }
        let behind = self.addresses.partition_point(|(from, _)| *from <= page);
        let row = behind
            .checked_sub(1)
            .and_then(|row| self.addresses.get(row));
        row.map_or(0, |(_, matching)| *matching)
    }
}

/// The rules that match each address: a row for page 0, and one wherever the set of rules changes.
fn addresses(rules: &[Rule], page_bytes: u32) -> Vec<(u32, Matching)> {
    let page_bytes = u64::from(page_bytes.max(1));
    let ends = rules.iter().flat_map(|rule| [rule.from_byte, rule.to_byte]);
    // The first page that begins at or behind the byte.
    let page = |byte: u64| u32::try_from(byte.div_ceil(page_bytes)).ok();
    let mut pages: Vec<u32> = ends.flatten().filter_map(page).chain([0]).collect();
    pages.sort_unstable();
    pages.dedup();
    let at = |page: u32| {
        let byte = u64::from(page) * page_bytes;
        matching(rules, |rule| {
            rule.from_byte.is_none_or(|from| from <= byte)
                && rule.to_byte.is_none_or(|to| byte < to)
        })
    };
    pages.into_iter().map(|page| (page, at(page))).collect()
}

fn matching(rules: &[Rule], matches: impl Fn(&Rule) -> bool) -> Matching {
    let bit = |(number, rule)| Matching::from(matches(rule)) << number;
    rules.iter().enumerate().map(bit).sum()
}

/// Stores the matching rules in a row, if the table may grow that far.
fn put(table: &mut Vec<Matching>, most: usize, row: usize, with: Matching, nameless: Matching) {
    if row >= most {
        return;
    }
    if row >= table.len() {
        table.resize(row + 1, nameless);
    }
    table[row] = with;
}

impl Assign for Manual {
    fn assign(&mut self, write: &Write) -> StreamId {
        let matching = self.matching(write);
        // Its lowest bit: the first that matches.
        self.used |= matching & matching.wrapping_neg();
        self.first(matching)
    }

    fn learn(&mut self, names: &Names) {
        for (file, name) in &names.files {
            self.learn_file(*file, name);
        }
        for context in &names.contexts {
            self.learn_context(context);
        }
    }

    fn rule_use(&self) -> Option<RuleUse> {
        let rules = self.rules.len() as u32;
        Some(RuleUse {
            set: self.set.clone(),
            rules,
            idle: (1..=rules)
                .filter(|rule| self.used >> (rule - 1) & 1 == 0)
                .collect(),
        })
    }

    fn memory_bytes(&self) -> usize {
        (self.files.capacity() + self.contexts.capacity()) * size_of::<Matching>()
            + self.rules.capacity() * size_of::<Rule>()
            + self.streams.capacity() * size_of::<StreamId>()
            + (self.tenants.capacity() + self.addresses.capacity()) * size_of::<(u32, Matching)>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anabranch_ssd::PageRange;
    use anabranch_trace::ContextKind;

    /// Rules that name files and their streams.
    struct Host {
        scheme: Manual,
        files: u32,
        contexts: u32,
    }

    impl Host {
        fn new(rules: &str, host_streams: u16) -> Host {
            let rules = match Rules::text(rules) {
                Some(text) => Rules::parse(rules, text).unwrap(),
                None => Rules::parse("own", rules).unwrap(),
            };
            Host {
                scheme: Manual::new(&rules, host_streams, 4096),
                files: 0,
                contexts: 0,
            }
        }

        fn write(&mut self, file: &str, role: &str, kind: ContextKind, hint: WriteHint) -> u16 {
            self.files += 1;
            self.contexts += 1;
            let (file_id, context) = (FileId(self.files), ContextId(self.contexts));
            self.scheme.learn(&Names {
                files: vec![(file_id, file.to_owned())],
                contexts: vec![ContextName {
                    id: context,
                    signature: 1,
                    kind,
                    role: role.to_owned(),
                }],
            });
            self.scheme.assign(&write(context, file_id, hint, 0)).0
        }

        fn file(&mut self, name: &str) -> u16 {
            self.by(name, "thread")
        }

        fn by(&mut self, name: &str, role: &str) -> u16 {
            self.write(name, role, ContextKind::Application, WriteHint::NotSet)
        }
    }

    fn write(context: ContextId, file: FileId, hint: WriteHint, tenant: u32) -> Write {
        Write {
            pages: PageRange::new(0, 1),
            context,
            file,
            hint,
            tenant,
            now_pages: 0,
        }
    }

    #[test]
    fn rules_that_placed_no_write_are_told() {
        let rules = r#"
            [[rule]]
            file = "*.log"
            stream = 1
            [[rule]]
            file = "a.*"
            stream = 2
            [[rule]]
            file = "*.tmp"
            stream = 3
        "#;
        let mut host = Host::new(rules, 8);
        let idle = |host: &Host| host.scheme.rule_use().unwrap().idle;
        assert_eq!(idle(&host), [1, 2, 3]);
        // The first takes it from the second.
        host.file("a.log");
        assert_eq!(idle(&host), [2, 3]);
        host.file("b.txt");
        assert_eq!(idle(&host), [2, 3]);
        host.file("a.txt");
        assert_eq!(idle(&host), [3]);
        let told = host.scheme.rule_use().unwrap();
        assert_eq!((told.set.as_str(), told.rules), ("own", 3));
    }

    #[test]
    fn the_first_rule_that_matches_wins() {
        let rules = r#"
            [[rule]]
            file = "*.log"
            role = "writer*"
            stream = 3
            [[rule]]
            file = "*.log"
            stream = 1
            [[rule]]
            kind = "journal"
            stream = 2
            [[rule]]
            hint = "short"
            stream = 9
        "#;
        let mut host = Host::new(rules, 8);
        assert_eq!(host.by("a.log", "writer-a"), 3);
        assert_eq!(host.by("a.log", "reader"), 1);
        assert_eq!(host.by("a.txt", "writer-a"), 0);
        let journal = ContextKind::Journal;
        assert_eq!(host.write("", "jbd", journal, WriteHint::NotSet), 2);
        let application = ContextKind::Application;
        let short = host.write("a.txt", "x", application, WriteHint::Short);
        assert_eq!(short, 7, "the drive's last");
    }

    #[test]
    fn tenants_may_have_rules_of_their_own() {
        let rules = "[[rule]]\ntenant = 7\nstream = 1\n[[rule]]\nhint = \"long\"\nstream = 2\n";
        let mut scheme = Manual::new(&Rules::parse("own", rules).unwrap(), 8, 4096);
        let mut stream = |hint, tenant| {
            let write = write(ContextId(0), FileId(0), hint, tenant);
            scheme.assign(&write).0
        };
        assert_eq!(stream(WriteHint::Long, 7), 1);
        assert_eq!(stream(WriteHint::Long, 8), 2);
        assert_eq!(stream(WriteHint::Short, 8), 0);
    }

    #[test]
    fn what_has_no_name_matches_no_rule_that_asks_for_one() {
        let rules = "[[rule]]\nfile = \"*\"\nstream = 1\n[[rule]]\nrole = \"*\"\nstream = 2\n\
                     [[rule]]\nstream = 3\n";
        let mut scheme = Manual::new(&Rules::parse("own", rules).unwrap(), 8, 4096);
        let nameless = write(ContextId(5), FileId(5), WriteHint::NotSet, 0);
        assert_eq!(scheme.assign(&nameless).0, 3);
        let beyond = write(ContextId(u32::MAX), FileId(u32::MAX), WriteHint::NotSet, 0);
        assert_eq!(scheme.assign(&beyond).0, 3);
    }

    #[test]
    fn cassandras_four_configurations_are_those_of_the_paper() {
        let files = [
            ("CommitLog-6-1700000000000.log", "COMMIT-LOG-WRIT"),
            ("nb-1-big-Data.db", "MemtableFlushWr"),
            ("nb-2-big-Data.db", "CompactionExecu"),
            ("nb-2-big-Index.db", "CompactionExecu"),
            ("system.log", "AsyncAppender"),
        ];
        for (rules, streams) in [
            ("cassandra-normal", [0, 0, 0, 0, 0]),
            ("cassandra-single", [1, 1, 1, 1, 0]),
            ("cassandra-multi-log", [1, 2, 2, 2, 0]),
            ("cassandra-multi-data", [1, 2, 3, 3, 0]),
        ] {
            let mut host = Host::new(rules, 8);
            let found = files.map(|(file, role)| host.by(file, role));
            assert_eq!(found, streams, "{rules}");
        }
    }

    #[test]
    fn the_databases_logs_and_tables_are_told_apart_by_name() {
        for (rules, files) in [
            (
                "mysql",
                &[
                    ("ib_logfile0", 1),
                    ("#ib_redo12", 1),
                    ("#ib_16384_0.dblwr", 2),
                    ("ibdata1", 2),
                    ("undo_001", 3),
                    ("undo002", 3),
                    ("ibtmp1", 3),
                    ("binlog.000002", 4),
                    ("mysql-bin.000002", 4),
                    ("stock.ibd", 5),
                    ("error.log", 0),
                ][..],
            ),
            (
                "common",
                &[
                    ("000004.log", 1),
                    ("00000001000000000000002A", 1),
                    ("test.db-wal", 1),
                    ("binlog.000002", 4),
                    ("000009.sst", 6),
                    ("stock.ibd", 7),
                    ("16384", 0),
                ],
            ),
            (
                "sqlite",
                &[
                    ("test.db-wal", 1),
                    ("test.sqlite-journal", 2),
                    ("test.db", 3),
                    ("notes.txt", 0),
                ],
            ),
            (
                "rocksdb",
                &[("000004.log", 1), ("MANIFEST-000005", 0), ("000009.sst", 3)],
            ),
        ] {
            let mut host = Host::new(rules, 8);
            for (file, stream) in files {
                assert_eq!(host.file(file), *stream, "{rules}: {file}");
            }
        }
    }

    #[test]
    fn rocksdbs_tables_go_by_the_level_their_hint_tells_or_by_the_thread() {
        let mut host = Host::new("rocksdb", 8);
        let mut stream = |role, hint| host.write("7.sst", role, ContextKind::Application, hint);
        assert_eq!(stream("rocksdb:high", WriteHint::NotSet), 2);
        assert_eq!(stream("rocksdb:low", WriteHint::NotSet), 3);
        assert_eq!(stream("rocksdb:low", WriteHint::Medium), 2);
        assert_eq!(stream("rocksdb:low", WriteHint::Long), 3);
        assert_eq!(stream("rocksdb:low", WriteHint::Extreme), 4);
    }

    #[test]
    fn f2fss_six_logs_are_told_by_their_hints() {
        let mut host = Host::new("f2fs", 8);
        let streams =
            WriteHint::ALL.map(|hint| host.write("a", "f2fs", ContextKind::Application, hint));
        assert_eq!(streams, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn a_request_belongs_to_the_addresses_it_begins_in() {
        let rules = r#"
            [[rule]]
            from_byte = 8192
            to_byte = 16384
            stream = 1
            [[rule]]
            from_byte = 16000
            write_hint = "long"
            stream = 2
            [[rule]]
            to_byte = 4096
            stream = 3
        "#;
        let mut scheme = Manual::new(&Rules::parse("own", rules).unwrap(), 8, 4096);
        let mut at = |first| {
            let write = Write {
                pages: PageRange::new(first, 9),
                ..write(ContextId(0), FileId(0), WriteHint::NotSet, 0)
            };
            scheme.assign(&write).0
        };
        let streams: Vec<u16> = [0, 1, 2, 3, 4, 5, 1 << 30].map(&mut at).to_vec();
        assert_eq!(streams, [3, 0, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn a_context_is_known_by_its_signature() {
        let rules = "[[rule]]\ncontext = \"00000000000000ff\"\nstream = 4\n";
        let mut scheme = Manual::new(&Rules::parse("own", rules).unwrap(), 8, 4096);
        let named = |id, signature| ContextName {
            id: ContextId(id),
            signature,
            kind: ContextKind::Application,
            role: String::new(),
        };
        scheme.learn(&Names {
            files: Vec::new(),
            contexts: vec![named(1, 0xff), named(2, 0xfe)],
        });
        let mut by = |id| {
            let write = write(ContextId(id), FileId(0), WriteHint::NotSet, 0);
            scheme.assign(&write).0
        };
        assert_eq!([by(0), by(1), by(2), by(3)], [0, 4, 0, 0]);
    }
}
