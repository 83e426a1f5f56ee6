//! Advice as a text for one application: what it writes, what its own options can keep apart, and what each way costs.
//!
//! A directory reaches the drive even if no hint does: an FDP namespace has placement handles of its own
//! (NVMe TP4146; `nvme create-ns --phndls`), and what is written without a directive goes to its
//! first.

use anabranch_compare::{CompareError, Result, Watch, read_text};
use anabranch_placement::SchemeSpec;
use anabranch_report::{foreign, ratio};
use glob::Pattern;

use super::{
    advice::{Advice, Checked},
    check::{Cost, measure, under_rules},
    names::kind,
    plan::Plan,
    rules::{Line, describe_writer, document},
    survey::WriterSurvey,
};

/// The most rows of the table of writers (our choice).
const MAX_ROWS: usize = 16;

/// An application that is recognised by its files.
struct Application {
    name: &'static str,
    /// Patterns of file names, of which a trace of the application has at least one.
    files: &'static [&'static str],
    /// Files that its own options can keep apart: a phrase, and patterns of file names.
    apart: &'static [(&'static str, &'static [&'static str])],
    /// Whether it gives the kernel life-time hints.
    gives_hints: bool,
    file: &'static str,
    text: &'static str,
}

impl Application {
    /// Whether the trace has a file that only this application has.
    fn has_files(&self, survey: &WriterSurvey) -> bool {
        let patterns = self
            .files
            .iter()
            .filter_map(|pattern| Pattern::new(pattern).ok());
        let patterns: Vec<Pattern> = patterns.collect();
        let is_of_it = |file: &str| patterns.iter().any(|pattern| pattern.matches(file));
        let names = survey.names.by_weight();
        names.iter().any(|(name, _)| is_of_it(&name.file))
    }
}

/// The applications that are recognised, by the targets of `--to`.
const APPLICATIONS: [(&str, &Application); 4] = [
    ("rocksdb", &ROCKSDB),
    ("mysql", &MYSQL),
    ("postgres", &POSTGRES),
    ("cassandra", &CASSANDRA),
];

const LOG_APART: &str = "the log in a namespace of its own";

const ROCKSDB: Application = Application {
    name: "RocksDB",
    files: &["*.sst"],
    apart: &[(LOG_APART, &["*.log"])],
    gives_hints: true,
    file: "rocksdb.txt",
    text: "\
Options (RocksDB's own names; db_bench takes the same with two dashes)
  wal_dir=DIR                                the log in a directory, so in a namespace, of its own
  wal_bytes_per_sync=262144                  else the page cache decides when the log is written, or that it
  bytes_per_sync=1048576                     never is
  use_direct_io_for_flush_and_compaction=true
Hints: with leveled compaction RocksDB asks for SHORT for the log, MEDIUM for flushes and the base level,
LONG and EXTREME for the levels below (db/version_set.cc, CalculateSSTWriteHint), without any option. Debian's
7.8.3 asks in a form that the kernel refuses (EINVAL). What the kernel does with a granted hint: from 6.16 on
it reaches an FDP drive's handles where the file system or the program passes it on; F2FS does from about 7.2, ext4 and XFS
do not yet. Otherwise use the namespaces below.
",
};

const CASSANDRA: Application = Application {
    name: "Cassandra",
    files: &["*-big-Data.db", "nb-*-big-Data.db", "CommitLog-*-*.log", "me-*-big-Data.db"],
    apart: &[(LOG_APART, &["CommitLog-*-*.log", "CommitLog-*.log"])],
    gives_hints: false,
    file: "cassandra.txt",
    text: "\
cassandra.yaml
  commitlog_directory: DIR                   the commit log in a directory, so in a namespace, of its own
  data_file_directories: [DIR]               tables, all flushes and compactions together
Cassandra gives no hints: what its tables' flushes and compactions could gain apart, only the rules of
`--to rules` can have (by thread), on a system that applies them.
",
};

const MYSQL: Application = Application {
    name: "MySQL or MariaDB",
    files: &["*.ibd", "ibdata*", "ib_logfile*"],
    apart: &[
        (
            "the doublewrite buffer (MariaDB: ibdata1) in a namespace of its own",
            &["ibdata*", "#ib_*.dblwr"],
        ),
        (
            "the redo log in a namespace of its own",
            &["ib_logfile*", "#ib_redo*"],
        ),
        (
            "the redo log and the binary log in one namespace of their own",
            &["ib_logfile*", "#ib_redo*", "*binlog.*", "*-bin.*"],
        ),
    ],
    gives_hints: false,
    file: "mysql.txt",
    text: "\
Options (my.cnf)
  innodb_doublewrite_dir=DIR                 the doublewrite buffer in a directory, so in a namespace, of its own:
                                             MySQL from 8.0.20 on. MariaDB's lies in ibdata1, which
                                             innodb_data_home_dir=DIR moves
  innodb_log_group_home_dir=DIR              the redo log
  log_bin=DIR/binlog                         the binary log
  innodb_undo_directory=DIR                  undo tablespaces, where there are any
  CREATE TABLE ... DATA DIRECTORY='DIR'      one table: those whose rows die young, as `--to rules` finds them
MariaDB (10.11 was watched) asks for no life-time hints.
",
};

/// PostgreSQL. A segment of its write-ahead log has a name of 24 hexadecimal digits, and another name before its first
/// use.
const POSTGRES: Application = Application {
    name: "PostgreSQL",
    files: &["pg_control", "xlogtemp.*", "pg_filenode.map"],
    apart: &[(
        "the write-ahead log in a namespace of its own",
        &["xlogtemp.*", "????????????????????????"],
    )],
    gives_hints: false,
    file: "postgres.txt",
    text: "\
Options
  initdb --waldir=DIR                        the write-ahead log in a directory, so in a namespace, of its own; of
                                             a stopped server, move pg_wal there and leave a symbolic link
  CREATE TABLESPACE t LOCATION 'DIR'         and ALTER TABLE ... SET TABLESPACE t: tables and indexes that are
                                             written much, apart from those that are not
  temp_tablespaces = 't'                     sorts and hashes that do not fit the memory
PostgreSQL (15 was watched) asks for no life-time hints. Its tables are files named by numbers (pg_relation_filepath tells
whose), which `--to rules` therefore cannot tell apart.
",
};

/// Makes rules, placement identifiers, and the text for each application whose files are in the trace.
pub fn auto(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    super::names::by_name(plan, survey, advice, watch)?;
    super::by_context::by_context(plan, survey, advice, watch)?;
    for (target, application) in APPLICATIONS {
        if application.has_files(survey) {
            advice.notes.push(format!(
                "the files are those of {}: {} is what `--to {target}` makes",
                application.name, application.file
            ));
            write(application, plan, survey, advice, watch)?;
        }
    }
    Ok(())
}

/// Makes the text for RocksDB, if the trace has its files.
pub fn rocksdb(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    write(&ROCKSDB, plan, survey, advice, watch)
}

/// Makes the text for Cassandra, if the trace has its files.
pub fn cassandra(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    write(&CASSANDRA, plan, survey, advice, watch)
}

/// Makes the text for MySQL or MariaDB, if the trace has their files.
pub fn mysql(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    write(&MYSQL, plan, survey, advice, watch)
}

/// Makes the text for PostgreSQL, if the trace has its files.
pub fn postgres(
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    write(&POSTGRES, plan, survey, advice, watch)
}

fn write(
    application: &Application,
    plan: &Plan,
    survey: &WriterSurvey,
    advice: &mut Advice,
    watch: &mut dyn Watch,
) -> Result {
    if !application.has_files(survey) {
        return Err(CompareError::wrong_use(format!(
            "there is no {} in {}: no file is called {}",
            application.name,
            plan.source.name(),
            application.files.join(" or ")
        )));
    }
    let ways = ways(application, plan)?;
    let specs: Vec<SchemeSpec> = ways.iter().map(|(_, spec)| spec.clone()).collect();
    let costs = measure(plan, &specs, watch)?;
    let mut text = format!(
        "Issued by: the administrator of {0}, by its options\n\n{0}: what it writes, and what keeps it apart\n\n{1}\n{2}\n{3}",
        application.name,
        writers(plan, survey),
        application.text,
        NAMESPACES
    );
    text += "\nFed back on the recorded writes, the second half of which is counted\n";
    for ((way, _), cost) in ways.iter().zip(&costs) {
        text += &format!("  WAF {}  {way}\n", ratio(cost.unseen.waf()));
    }
    text += &format!(
        "  WAF {}  {}, from which the rules of `--to rules` are made\n",
        ratio(survey.promised.unseen.waf()),
        foreign(plan.scheme.name())
    );
    advice.file(application.file, text);
    advice.checks.extend(checks(application, ways, costs));
    Ok(())
}

fn checks(
    application: &Application,
    ways: Vec<(String, SchemeSpec)>,
    costs: Vec<Cost>,
) -> Vec<Checked> {
    let check = |((way, _), cost)| Checked {
        what: format!("{}: {way}", application.file),
        cost,
        loses: None,
    };
    ways.into_iter().zip(costs).map(check).collect()
}

const NAMESPACES: &str = "\
Namespaces with a placement handle of their own (FDP drive, nvme-cli 2.11 or newer; sizes in blocks)
  nvme create-ns /dev/nvme0 --nsze=N --ncap=N --flbas=0 --endg-id=1 --nphndls=1 --phndls=0     data
  nvme create-ns /dev/nvme0 --nsze=N --ncap=N --flbas=0 --endg-id=1 --nphndls=1 --phndls=1     log
";

/// The placements that are possible without the scheme.
fn ways(application: &Application, plan: &Plan) -> Result<Vec<(String, SchemeSpec)>> {
    let line = |pattern: &&str| Line {
        asks: vec![("file", (*pattern).to_owned())],
        stream: 1,
        hint: None,
        comments: Vec::new(),
    };
    let mut ways = vec![(
        "everything together, as it is now".to_owned(),
        under_rules(plan, &document("all together", &[]))?,
    )];
    for (told, patterns) in application.apart {
        let lines: Vec<Line> = patterns.iter().map(line).collect();
        let rules = document(told, &lines);
        ways.push(((*told).to_owned(), under_rules(plan, &rules)?));
    }
    if plan.drive.host_streams > 1 && application.gives_hints {
        let hints = SchemeSpec::read("hints", &read_text).map_err(CompareError::work)?;
        let relocation = under_rules(plan, "")?.relocation();
        let hints = match relocation {
            anabranch_placement::DeviceHalf::Relocation(kind) => hints.with_relocation(kind),
            anabranch_placement::DeviceHalf::Own => hints,
        };
        ways.push((
            "the hints that RocksDB asks for, all of them reaching the drive".to_owned(),
            hints,
        ));
    }
    Ok(ways)
}

/// The table of writers, those with most bytes first.
fn writers(plan: &Plan, survey: &WriterSurvey) -> String {
    let rows = survey.names.by_weight();
    let mut text = String::new();
    for (name, tally) in rows.iter().take(MAX_ROWS) {
        let file = if name.file.is_empty() {
            "-".to_owned()
        } else {
            foreign(&name.file)
        };
        let what = describe_writer(
            tally,
            u64::from(plan.drive.page_bytes),
            survey.written_pages,
        );
        text += &format!(
            "  {file:<24} {:<18} {:<12} stream {}  {what}\n",
            foreign(&name.role),
            kind(name.kind),
            tally.stream()
        );
    }
    text
}
