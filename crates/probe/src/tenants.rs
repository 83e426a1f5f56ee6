//! Tenants by control group: which of several programs on a drive a writer belongs to.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirEntryExt as _;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anabranch_trace::Tenant;

use crate::bounded::BoundedMap;
use crate::error::ProbeError;
use crate::whose::below_mount;

/// The most tenants whose names are kept, and of whom it is remembered that they wrote. Our choice.
const MAX_NAMES: usize = 1024;
/// The most letters of a name that are kept. Our choice.
const MAX_LETTERS: usize = 512;
/// The most directories that are looked at for a group that was not seen before. Our choice.
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
/// writer's group is known even when its process is gone, and a process that moves is another tenant's from then on. A
/// group that was removed and made again by the same name is the same tenant.
#[derive(Debug)]
pub(crate) struct Tenants {
    /// Where the hierarchy of version 2 is mounted.
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
}

impl Tenants {
    /// The tenants that these groups are; `None` where there are no groups.
    pub(crate) fn of(groups: &[TenantGroup]) -> Result<Option<Tenants>, ProbeError> {
        if groups.is_empty() {
            return Ok(None);
        }
        let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
        let root = mounted(&mounts).ok_or(ProbeError::NoControlGroups)?;
        Ok(Some(Tenants::below(root, groups)))
    }

    fn below(root: PathBuf, groups: &[TenantGroup]) -> Tenants {
        let mut tenants = Tenants {
            root,
            groups: groups.to_vec(),
            named: Vec::new(),
            later: BoundedMap::new(MAX_NAMES),
            last: 0,
            found: Vec::new(),
            owners: BoundedMap::new(MAX_GROUPS),
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
        if self.owners.get_mut(&group).is_none() {
            self.look();
        }
        let owner = self.owners.get_mut(&group).cloned().flatten();
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
        silent.chain(nameless).collect()
    }

    /// Looks at all groups that are there now. Where several patterns match, the first of them has the group.
    fn look(&mut self) {
        let mut left = MAX_DIRECTORIES;
        for group in self.groups.clone() {
            for (path, number) in directories(&self.root.join(&group.directory)) {
                if path.file_name().is_some_and(|name| group.takes(name)) {
                    let own = path.strip_prefix(&self.root).unwrap_or(&path);
                    let own = Arc::from(own);
                    self.claim((path, number), &own, &mut left);
                }
            }
        }
    }

    /// Notes that a group and all below it belong to a tenant, as far as they are nobody's yet.
    fn claim(&mut self, top: (PathBuf, u64), tenant: &Arc<Path>, left: &mut usize) {
        let mut open = VecDeque::from([top]);
        while let Some((path, number)) = open.pop_front() {
            if *left == 0 {
                return;
            }
            *left -= 1;
            if self.owners.get_mut(&number).is_none() {
                self.owners.insert(number, Some(Arc::clone(tenant)));
            }
            open.extend(directories(&path));
        }
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

/// The directories in a directory, with their numbers; none if it cannot be read.
fn directories(path: &Path) -> impl Iterator<Item = (PathBuf, u64)> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| (entry.path(), entry.ino()))
}

/// Where control groups of version 2 are mounted, by the words of `/proc/self/mounts`.
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
    use std::os::unix::fs::MetadataExt as _;

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
        assert_eq!((tenants.number(0), tenants.number(u64::MAX)), (0, 0));
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
    fn tenants_beyond_the_names_that_are_kept_have_numbers_of_their_own() {
        let paths: Vec<String> = (0..MAX_NAMES + 2).map(|at| format!("m/{at:05}")).collect();
        let all = Hierarchy::new(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        let mut tenants = all.tenants(&["m/00000", "m/*"]);
        let numbers: Vec<u32> = paths
            .iter()
            .map(|path| tenants.number(all.id(path)))
            .collect();
        assert!(numbers.iter().copied().eq(1..=MAX_NAMES as u32 + 2));
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
