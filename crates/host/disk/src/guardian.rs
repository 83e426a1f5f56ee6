//! The guardian: a small process that outlives a killed run for a moment, and ends what the run left.
//!
//! `PR_SET_PDEATHSIG` would end the workload's first process only, not what a script started; so a shell waits
//! on a pipe that closes when we die, however we die, and then kills every process of the run's control group and
//! of our mount namespace, and ends swapping to files of the drive. With the last of them the kernel takes down the
//! mount and the loop device.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::control_group::GroupPlace;
use crate::error::DiskError;

/// Standard error is the directory that the group `$1` lies in, and `$2` is the mount point. A group is gone when its
/// directory is; before Linux 5.14 it has no `cgroup.kill`. /proc/swaps writes blanks in names as octal digits.
///
/// `-ef` on two namespace links asks whether they are one namespace. IMPORTANT: in init's namespace that would be the
/// whole system, so the script does nothing there. $PPID is the process that started the guardian: on an orderly end it
/// is alive and must stay so. Passes are repeated for processes that fork meanwhile, for up to 10 s if one hangs in the
/// kernel.
const SCRIPT: &str = r#"
read -r _
group=/proc/self/fd/2/$1
pass=0
while [ -n "$1" ] && [ -d "$group" ] && [ $pass -lt 100 ]; do
    if [ -e "$group/cgroup.kill" ]; then
        echo 1 >"$group/cgroup.kill"
    else
        find "$group" -name cgroup.procs -exec cat {} + |
            while read -r pid; do kill -s KILL "$pid"; done
    fi
    find "$group" -depth -type d -exec rmdir {} +
    [ -d "$group" ] && sleep 0.1
    pass=$((pass + 1))
done
while read -r swap _; do
    case $swap in
    "$2"/*) swapoff "$(printf %b "$(echo "$swap" | sed 's/\\/\\0/g')")" ;;
    esac
done </proc/swaps
[ /proc/1/ns/mnt -ef /proc/$$/ns/mnt ] && exit
pass=0
while [ $pass -lt 100 ]; do
    found=no
    for process in /proc/[0-9]*; do
        pid=${process#/proc/}
        [ "$pid" = $$ ] && continue
        [ "$pid" = "$PPID" ] && continue
        [ "$process/ns/mnt" -ef /proc/$$/ns/mnt ] || continue
        kill -s KILL "$pid" && found=yes
    done
    [ $found = no ] && exit
    pass=$((pass + 1))
    sleep 0.1
done
"#;

/// The running guardian. Dropping it ends the run's processes and then the guardian itself.
#[derive(Debug)]
pub(crate) struct Guardian {
    shell: Child,
}

impl Guardian {
    /// Starts the guardian in the calling thread's mount namespace.
    pub(crate) fn start(group: Option<&GroupPlace>, mount_point: &Path) -> Result<Self, DiskError> {
        let group = group.map(GroupPlace::directory_and_name).transpose();
        let (parent, name) = match group.map_err(DiskError::Guardian)? {
            Some((parent, name)) => (parent.into(), name),
            None => (Stdio::null(), ""),
        };
        let shell = Command::new("/bin/sh")
            .args(["-c", SCRIPT, "anabranch-guardian", name])
            .arg(mount_point)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(parent)
            // Ctrl-C and a closed terminal are for the others.
            .process_group(0)
            .spawn()
            .map_err(DiskError::Guardian)?;
        Ok(Guardian { shell })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.shell.id()
    }

    /// Ends all processes of the run, and the guardian. A second call does nothing.
    pub(crate) fn end_all(&mut self) {
        drop(self.shell.stdin.take());
        // It is our child and no one else waits for it: an error could only say that it is gone.
        let _ = self.shell.wait();
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.end_all();
    }
}
