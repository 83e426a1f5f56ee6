//! Files that processes begin after reading others, and whether they are of the generation that follows.

use std::collections::BTreeSet;

use anabranch_trace::Context;

/// Files that are named for the generation they must be of, each group by a process of its own.
pub const PROGRAM: &str = "
import mmap, os, sys

root = sys.argv[1] + '/'
MOST = 1 << 18

def read(name, size=MOST):
    with open(root + name, 'rb', buffering=0) as file:
        while size > 0 and (piece := file.read(min(size, 16384))):
            size -= len(piece)

def touch(name):
    with open(root + name, 'rb') as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        for at in range(0, MOST, 4096):
            memory[at]

def direct(name, flags):
    file, memory = os.open(root + name, flags | os.O_DIRECT, 0o600), mmap.mmap(-1, MOST)
    os.readv(file, [memory]) if flags == os.O_RDONLY else os.writev(file, [memory])
    os.close(file)

def write(name, flags=os.O_CREAT):
    file = os.open(root + name, os.O_WRONLY | flags)
    os.write(file, bytes(MOST))
    os.fsync(file)
    os.close(file)

def flush(name):
    # By another call path than that of a merge.
    file = os.open(root + name, os.O_WRONLY | os.O_CREAT)
    os.writev(file, [bytes(MOST)])
    os.fsync(file)
    os.close(file)

GROUPS = [
    lambda: write('0-first'),
    lambda: (read('0-first'), write('1-after-first'), write('1-with-it')),
    lambda: (read('1-after-first'), write('2-after-second')),
    lambda: (read('2-after-second'), read('0-first', 8192), write('1-of-the-least')),
    lambda: (write('0-in-between'), read('0-first'), write('0-in-between', os.O_APPEND), read('2-after-second'), write('3-other')),
    lambda: (write('0-again'), read('2-after-second', 8192), write('0-a-look-is-no-read'), read('1-with-it'), write('2-now')),
    lambda: (read('1-with-it'), write('2-merged'), read('1-with-it'), write('2-merged', os.O_APPEND), flush('0-flushed')),
    lambda: (flush('0-flushed-first'), read('1-with-it', 4096), write('2-a-small-merge')),
    lambda: (direct('2-after-second', os.O_RDONLY), direct('3-direct', os.O_WRONLY | os.O_CREAT)),
    lambda: (touch('3-direct'), write('4-mapped')),
    lambda: (read('2-after-second'), write('0-first', os.O_APPEND), write('2-after-second', 0)),
]
for group in GROUPS:
    child = os.fork()
    if not child:
        group()
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit('a group failed')
";

/// Compares each write to one of those files: the file's name, and the context it has.
pub fn judge<'a>(writes: impl Iterator<Item = (&'a str, &'a Context)>) {
    assert!(
        anabranch_probe::check().unwrap().sees_reads,
        "this needs a kernel that tells of reads: Linux 6.12 or later"
    );
    let mut files = BTreeSet::new();
    for (name, context) in writes {
        if let Some((generation, _)) = name.split_once('-') {
            assert_eq!(context.generation.to_string(), generation, "{name}");
            files.insert(name);
        }
    }
    assert_eq!(files.len(), 16, "{files:?}");
}
