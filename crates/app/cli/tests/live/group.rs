//! Control groups of one's own, and programs that write from within them.

use std::{fs, path::Path, process::Command, thread::sleep, time::Duration};

use super::support::{Device, Place, Started};

/// Starts a child of its own once it may, which writes to the device and then stays.
const WRITER: &str = "
import mmap, os, sys, time
device, mebibytes, go, done = sys.argv[1:]
while not os.path.exists(go):
    time.sleep(0.01)
if os.fork() == 0:
    drive = os.open(device, os.O_WRONLY | os.O_DIRECT)
    block = mmap.mmap(-1, 1 << 20)
    for _ in range(int(mebibytes)):
        os.write(drive, block)
    open(done, 'w').close()
    time.sleep(60)
    os._exit(0)
os.wait()
";

/// A program that writes so much to the device once the place has the file `go`, and then makes the file
/// `done-MEBIBYTES` there.
pub fn writer(place: &Place, device: &Device, mebibytes: u64) -> Started {
    let done = place.path(&format!("done-{mebibytes}"));
    let (go, mebibytes) = (place.path("go"), mebibytes.to_string());
    let mut python = Command::new("python3");
    python.args(["-c", WRITER, &device.0, &mebibytes, &go, &done]);
    Started::new(&mut python)
}

/// A control group, which ends with all that is in it.
pub struct Group {
    mount: String,
    /// Its path below the mount.
    pub name: String,
}

impl Group {
    pub fn new(place: &Place) -> Group {
        let mount = place.path("groups");
        fs::create_dir(&mount).unwrap();
        let mounted = ["-t", "cgroup2", "none", &mount];
        let status = Command::new("mount").args(mounted).status();
        assert!(status.unwrap().success());
        let name = format!(
            "anabranch-test-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        );
        let name = name.replace(['(', ')'], "");
        let group = Group { mount, name };
        fs::create_dir(group.path()).unwrap();
        group
    }

    /// One within it, by its path below the mount.
    pub fn within(&self, name: &str) -> String {
        fs::create_dir(format!("{}/{name}", self.path())).unwrap();
        format!("{}/{name}", self.name)
    }

    /// Moves a process into it.
    pub fn take(&self, process: i32) {
        self.take_into("", process);
    }

    /// Moves a process into one within it.
    pub fn take_into(&self, name: &str, process: i32) {
        let list = format!("{}/{name}/cgroup.procs", self.path());
        fs::write(list, process.to_string()).unwrap();
    }

    /// Its directory.
    pub fn path(&self) -> String {
        format!("{}/{}", self.mount, self.name)
    }
}

/// Whether a group and those within it could be removed.
fn is_removed(group: &Path) -> bool {
    for inner in fs::read_dir(group).into_iter().flatten().flatten() {
        if inner.file_type().is_ok_and(|kind| kind.is_dir()) {
            is_removed(&inner.path());
        }
    }
    fs::remove_dir(group).is_ok()
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(format!("{}/cgroup.kill", self.path()), "1");
        for _ in 0..500 {
            if is_removed(Path::new(&self.path())) {
                break;
            }
            sleep(Duration::from_millis(10));
        }
        let _ = Command::new("umount").arg(&self.mount).status();
    }
}
