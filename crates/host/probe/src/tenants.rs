//! Tenants by control group: which of several programs on a drive a writer belongs to.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{DirEntryExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anabranch_trace::Tenant;

use crate::bounded::BoundedMap;
use crate::capture_filter::below_mount;
use crate::error::ProbeError;

/// The most tenants whose names are kept, and of whom it is remembered that they wrote. Our choice.
const MAX_NAMES: usize = 1024;
/// The most letters of a name that are kept. Our choice.
const MAX_LETTERS: usize = 512;
/// The most control groups that are looked at for one `--tenant`, each time a group writes that was not seen before, and
/// to find out whether that group is still there. Our choice.
const MAX_DIRECTORIES: usize = 16_384;
/// The most groups that are remembered. Our choice.
const MAX_GROUPS: usize = 65_536;

/// A control group of version 2 that is a tenant, with all groups below it: `system.slice/mysql.service`. A `*` in the
/// last name, `machine.slice/*.scope`, makes each group that it matches a tenant of its own.
///
/// ```
/// use anabranch_probe::TenantGroup;
///
/// let group: TenantGroup = "/sys/fs/cgroup/machine.slice/*.scope".parse()?;
/// assert_eq!(group.to_string(), "machine.slice/*.scope");
/// assert!("system.slice/../etc".parse::<TenantGroup>().is_err());
/// assert!("*/mysql.service".parse::<TenantGroup>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantGroup {
    directory: PathBuf,
    /// The last name: before its `*` and behind it.
    name: (String, Option<String>),
}

impl FromStr for TenantGroup {
    type Err = String;

    fn from_str(text: &str) -> Result<TenantGroup, String> {
        let path = below_mount(Path::new(text));
        let is_plain = path
            .components()
            .all(|one| matches!(one, Component::Normal(_)));
        let directory = path.parent().map(Path::to_owned).unwrap_or_default();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|_| is_plain) else {
            return Err(format!(
                "{text:?} is no control group; `cat /proc/PID/cgroup` tells that of a process"
            ));
        };
        let stars = name.matches('*').count();
        if directory.to_string_lossy().contains('*') || stars > 1 {
            return Err(format!(
                "{text:?}: one `*`, in the last name, stands for any letters"
            ));
        }
        let name = match name.split_once('*') {
            Some((before, behind)) => (before.to_owned(), Some(behind.to_owned())),
            None => (name.to_owned(), None),
        };
        Ok(TenantGroup { directory, name })
    }
}

impl fmt::Display for TenantGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, behind) = &self.name;
        let name = match behind {
            Some(behind) => format!("{before}*{behind}"),
            None => before.clone(),
        };
        f.write_str(&self.directory.join(name).to_string_lossy())
    }
}

impl TenantGroup {
    /// The path of the one group that is named in full.
    fn whole(&self) -> Option<PathBuf> {
        let (whole, behind) = &self.name;
        behind.is_none().then(|| self.directory.join(whole))
    }

    fn takes(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        match &self.name {
            (whole, None) => name == whole.as_bytes(),
            (before, Some(behind)) => name
                .strip_prefix(before.as_bytes())
                .is_some_and(|rest| rest.ends_with(behind.as_bytes())),
        }
    }
}

/// The tenants, and the control groups that were looked up already.
///
/// The kernel numbers its groups; the number of a group is that of its directory, and no later group has it again. So a
/// writer's group is known even when its process is gone, as long as the directory is there when it is first looked for,
/// and a process that moves is another tenant's from then on. A group that was removed and made again by the same name is
/// the same tenant.
#[derive(Debug)]
pub(crate) struct Tenants {
    /// Mount point of the hierarchy of version 2.
    root: PathBuf,
    groups: Vec<TenantGroup>,
    /// Those named in full, which are the first tenants in their order, and whether each wrote.
    named: Vec<(PathBuf, bool)>,
    /// The numbers of the others, given as they write; one that was forgotten gets another.
    later: BoundedMap<Arc<Path>, u32>,
    /// The last number given.
    last: u32,
    /// The first [`MAX_NAMES`], by their numbers.
    found: Vec<Tenant>,
    /// The group below the root that makes each group a tenant's, by the group's number; none if it is nobody's.
    owners: BoundedMap<u64, Option<Arc<Path>>>,
    /// [`MAX_DIRECTORIES`].
    most: usize,
    /// Number of groups that wrote and were not found.
    gone: u64,
    /// Whether one of the groups had more below it than is looked at.
    was_cut: bool,
}

impl Tenants {
    /// The tenants that these groups are; `None` where there are no groups.
    pub(crate) fn of(groups: &[TenantGroup]) -> Result<Option<Tenants>, ProbeError> {
        if groups.is_empty() {
            return Ok(None);
        }
        Ok(Some(Tenants::below(control_groups()?, groups)))
    }

    pub(crate) fn below(root: PathBuf, groups: &[TenantGroup]) -> Tenants {
        let mut tenants = Tenants {
            root,
            groups: groups.to_vec(),
            named: Vec::new(),
            // Of its entries at least half are kept.
            later: BoundedMap::new(2 * MAX_NAMES),
            last: 0,
            found: Vec::new(),
            owners: BoundedMap::new(MAX_GROUPS),
            most: MAX_DIRECTORIES,
            gone: 0,
            was_cut: false,
        };
        for path in groups.iter().filter_map(TenantGroup::whole) {
            if tenants.named.iter().all(|(known, _)| *known != path) {
                tenants.add(&path);
                tenants.named.push((path, false));
            }
        }
        tenants
    }

    /// The tenant that the group with this number belongs to; 0 if it belongs to none.
    pub(crate) fn number(&mut self, group: u64) -> u32 {
        if group == 0 {
            return 0;
        }
        let owner = match self.owners.get_mut(&group) {
            Some(known) => known.clone(),
            None => self.find_owner(group),
        };
        // Known from here on, whatever it is.
        self.owners.insert(group, owner.clone());
        owner.map_or(0, |path| self.tenant(path))
    }

    /// The tenants so far: those named in full, and the first of the others that wrote.
    pub(crate) fn found(&self) -> &[Tenant] {
        &self.found
    }

    /// Sentences on tenants that were named and not seen, and on those seen and not named.
    pub(crate) fn limitations(&self) -> Vec<String> {
        let named = self.named.iter().zip(&self.found);
        let silent = named.filter(|((_, wrote), _)| !wrote).map(|(_, tenant)| {
            format!(
                "Nothing was written from within the control group {:?}, tenant {}.",
                tenant.control_group, tenant.number
            )
        });
        let nameless = self.last as usize - self.found.len();
        let nameless = (nameless > 0).then(|| {
            format!("{nameless} tenants have numbers without names: {MAX_NAMES} names are kept.")
        });
        let gone = (self.gone > 0).then(|| {
            format!(
                "{} control groups that wrote were not found when they were looked for (as a rule removed before): what \
                 they wrote is tenant 0's.",
                self.gone
            )
        });
        let cut = self.was_cut.then(|| {
            format!(
                "One `--tenant` stands for more than {} control groups: what those beyond wrote may be tenant 0's.",
                self.most
            )
        });
        silent.chain(nameless).chain(gone).chain(cut).collect()
    }

    /// Looks at all groups that are there now, and answers with the owner of the one that is wanted. Where several
    /// patterns match, the first of them has the group.
    fn find_owner(&mut self, wanted: u64) -> Option<Arc<Path>> {
        let mut owner = None;
        for group in self.groups.clone() {
            let within = self.root.join(&group.directory);
            let tops = directories(&within)
                .filter(|(path, _)| path.file_name().is_some_and(|name| group.takes(name)));
            let tops = tops.map(|(path, number)| {
                let own = path.strip_prefix(&self.root).unwrap_or(&path);
                (Arc::from(own), path, number)
            });
            let mut all = Below::new(tops.collect(), self.most);
            for (tenant, number) in &mut all {
                if self.owners.get_mut(&number).is_none() {
                    self.owners.insert(number, Some(Arc::clone(&tenant)));
                }
                if number == wanted {
                    owner.get_or_insert(tenant);
                }
            }
            self.was_cut |= !all.open.is_empty();
        }
        if owner.is_none() && !self.is_there(wanted) {
            self.gone += 1;
        }
        owner
    }

    /// Whether there is a group with this number, as far as groups are looked at.
    fn is_there(&self, wanted: u64) -> bool {
        let number = fs::metadata(&self.root).map_or(0, |root| root.ino());
        let root = VecDeque::from([((), self.root.clone(), number)]);
        Below::new(root, self.most).any(|((), number)| number == wanted)
    }

    /// The number of the tenant with this group, which wrote.
    fn tenant(&mut self, path: Arc<Path>) -> u32 {
        let mut named = self.named.iter_mut().zip(&self.found);
        if let Some(((_, wrote), tenant)) = named.find(|((known, _), _)| **known == *path) {
            *wrote = true;
            return tenant.number;
        }
        if let Some(number) = self.later.get_mut(&path) {
            return *number;
        }
        let number = self.add(&path);
        self.later.insert(path, number);
        number
    }

    /// Gives the next number.
    fn add(&mut self, path: &Path) -> u32 {
        self.last = self.last.saturating_add(1);
        if self.found.len() < MAX_NAMES {
            let name = path.to_string_lossy();
            self.found.push(Tenant {
                number: self.last,
                control_group: name.chars().take(MAX_LETTERS).collect(),
            });
        }
        self.last
    }
}

/// The numbers of directories and of all below them, those given first; each with what stands for the one above.
struct Below<T> {
    open: VecDeque<(T, PathBuf, u64)>,
    /// So many more are looked at.
    left: usize,
}

impl<T> Below<T> {
    fn new(open: VecDeque<(T, PathBuf, u64)>, left: usize) -> Below<T> {
        Below { open, left }
    }
}

impl<T: Clone> Iterator for Below<T> {
    type Item = (T, u64);

    fn next(&mut self) -> Option<(T, u64)> {
        self.left = self.left.checked_sub(1)?;
        let (top, path, number) = self.open.pop_front()?;
        let more = directories(&path).map(|(path, number)| (top.clone(), path, number));
        self.open.extend(more);
        Some((top, number))
    }
}

/// Mount point of control groups of version 2, by which tenants are told apart.
///
/// # Errors
/// When they are not mounted.
pub fn control_groups() -> Result<PathBuf, ProbeError> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounted(&mounts).ok_or(ProbeError::NoControlGroups)
}

/// The directories in a directory, with their numbers; none if it cannot be read.
fn directories(path: &Path) -> impl Iterator<Item = (PathBuf, u64)> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| (entry.path(), entry.ino()))
}

/// Returns the mount point of control groups of version 2, from the text of `/proc/self/mounts`.
fn mounted(mounts: &str) -> Option<PathBuf> {
    let mut fields = mounts.lines().map(|line| line.split(' '));
    let point = fields.find_map(|mut line| {
        let point = line.nth(1)?;
        (line.next()? == "cgroup2").then_some(point)
    });
    // Blanks are written as octal digits: such a place is not looked for.
    point
        .filter(|point| !point.contains('\\'))
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Directories in place of control groups: the hierarchy is read as any directory is.
    struct Hierarchy(tempfile::TempDir);

    impl Hierarchy {
        fn new(groups: &[&str]) -> Hierarchy {
            let made = Hierarchy(tempfile::tempdir().unwrap());
            groups.iter().for_each(|group| made.add(group));
            made
        }

        fn add(&self, group: &str) {
            fs::create_dir_all(self.0.path().join(group)).unwrap();
        }

        fn id(&self, group: &str) -> u64 {
            fs::metadata(self.0.path().join(group)).unwrap().ino()
        }

        fn tenants(&self, groups: &[&str]) -> Tenants {
            let groups: Vec<TenantGroup> = groups.iter().map(|one| one.parse().unwrap()).collect();
            Tenants::below(self.0.path().to_owned(), &groups)
        }
    }

    fn names(tenants: &Tenants) -> Vec<(u32, &str)> {
        let found = tenants.found().iter();
        found
            .map(|tenant| (tenant.number, tenant.control_group.as_str()))
            .collect()
    }

    #[test]
    fn a_group_is_the_tenant_that_names_it_or_one_above_it() {
        let all = Hierarchy::new(&["a.slice/b.service/inner/deep", "a.slice/b", "c"]);
        let mut tenants = all.tenants(&["c", "a.slice/b.service", "later"]);
        assert_eq!(tenants.number(all.id("a.slice/b.service/inner/deep")), 2);
        assert_eq!(tenants.number(all.id("a.slice/b.service")), 2);
        assert_eq!(tenants.number(all.id("c")), 1);
        assert_eq!(tenants.number(all.id("a.slice/b")), 0);
        assert_eq!(tenants.number(all.id("a.slice")), 0);
        assert_eq!((tenants.number(0), tenants.number(all.id(""))), (0, 0));
        // One that is made later.
        all.add("later/x");
        assert_eq!(tenants.number(all.id("later/x")), 3);
        assert_eq!(tenants.limitations(), Vec::<String>::new());
    }

    #[test]
    fn each_group_that_a_pattern_matches_is_a_tenant_of_its_own() {
        let all = Hierarchy::new(&["m/vm-1.scope/vcpu0", "m/vm-2.scope", "m/vm-3.service"]);
        let mut tenants = all.tenants(&["m/*.scope", "m/vm-3.service"]);
        assert_eq!(tenants.number(all.id("m/vm-2.scope")), 2);
        assert_eq!(tenants.number(all.id("m/vm-1.scope/vcpu0")), 3);
        all.add("m/vm-0.scope");
        assert_eq!(tenants.number(all.id("m/vm-0.scope")), 4);
        assert_eq!(
            names(&tenants),
            [
                (1, "m/vm-3.service"),
                (2, "m/vm-2.scope"),
                (3, "m/vm-1.scope"),
                (4, "m/vm-0.scope")
            ]
        );
        let silent = tenants.limitations();
        assert_eq!(silent.len(), 1, "{silent:?}");
        assert!(silent[0].contains("m/vm-3.service"), "{silent:?}");
    }

    #[test]
    fn of_several_that_match_the_first_has_the_group() {
        let all = Hierarchy::new(&["a/b/c"]);
        let mut tenants = all.tenants(&["a/b", "a"]);
        let of = ["a/b/c", "a/b", "a"].map(|group| tenants.number(all.id(group)));
        assert_eq!(of, [1, 1, 2]);
    }

    #[test]
    fn a_group_that_is_not_there_any_more_is_counted_once_and_told() {
        let all = Hierarchy::new(&["a/gone", "b"]);
        let mut tenants = all.tenants(&["a"]);
        let (gone, known) = (all.id("a/gone"), all.id("a"));
        fs::remove_dir(all.0.path().join("a/gone")).unwrap();
        let of = [known, gone, gone, all.id("b")].map(|group| tenants.number(group));
        assert_eq!(of, [1, 0, 0, 0]);
        let told = tenants.limitations();
        assert!(
            told.len() == 1 && told[0].starts_with("1 control groups"),
            "{told:?}"
        );
    }

    #[test]
    fn each_tenant_has_as_many_groups_and_those_beyond_are_told() {
        let all = Hierarchy::new(&["a/1/2/3", "b/1", "m/x/1", "m/y"]);
        let mut tenants = all.tenants(&["a", "b", "m/*"]);
        tenants.most = 3;
        let groups = ["a/1/2", "a/1/2/3", "b/1", "m/x/1", "m/y"];
        let of = groups.map(|group| tenants.number(all.id(group)));
        assert_eq!(of, [1, 0, 2, 3, 4]);
        let told = tenants.limitations().concat();
        assert!(told.contains("more than 3 control groups"), "{told}");
    }

    #[test]
    fn tenants_beyond_the_names_that_are_kept_have_numbers_of_their_own() {
        let paths: Vec<String> = (0..MAX_NAMES + 2).map(|at| format!("m/{at:05}")).collect();
        let all = Hierarchy::new(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let mut tenants = all.tenants(&["m/00000", "m/*"]);
        for _ in 0..2 {
            let numbers = paths.iter().map(|path| tenants.number(all.id(path)));
            assert!(numbers.eq(1..=MAX_NAMES as u32 + 2));
        }
        assert_eq!(tenants.found().len(), MAX_NAMES);
        assert!(tenants.limitations()[0].starts_with("2 tenants have numbers without"));
        // The one named in full is never forgotten.
        assert_eq!(tenants.number(all.id("m/00000")), 1);
    }

    #[test]
    fn names_are_text_that_others_chose() {
        let long = "x".repeat(200);
        let group = format!("m/{long}/{long}/{long}");
        let bytes = OsStr::from_bytes(b"m/\xff.scope\x1b[31m");
        let all = Hierarchy::new(&[&group]);
        fs::create_dir(all.0.path().join(bytes)).unwrap();
        let id = |path: &Path| fs::metadata(all.0.path().join(path)).unwrap().ino();
        let mut tenants = all.tenants(&["m/*", &format!("{group}/none")]);
        assert_eq!(tenants.number(id(bytes.as_ref())), 2);
        let found = names(&tenants);
        assert_eq!(found[0].1.len(), MAX_LETTERS);
        assert_eq!(found[1], (2, "m/\u{fffd}.scope\u{1b}[31m"));
        assert!(!tenants.limitations().concat().contains('\u{1b}'));
    }

    #[test]
    fn names_that_say_nothing_are_refused() {
        for text in [
            "",
            "/",
            "..",
            "a/../b",
            "./a",
            "a*b*",
            "*/b",
            "/sys/fs/cgroup",
        ] {
            assert!(text.parse::<TenantGroup>().is_err(), "{text}");
        }
        let star: TenantGroup = "docker/*".parse().unwrap();
        assert!(star.takes("0123".as_ref()) && star.whole().is_none());
        let same: TenantGroup = "a*a".parse().unwrap();
        let taken = ["aa", "axa", "a"].map(|name| same.takes(name.as_ref()));
        assert_eq!(taken, [true, true, false]);
    }

    #[test]
    fn the_hierarchy_of_version_2_is_found() {
        let mounts = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n\
                      cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(mounted(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(mounted("cgroup2 /a\\040b cgroup2 rw 0 0\nnonsense\n"), None);
    }
}
