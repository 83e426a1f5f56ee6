# A user who wants a recording to fail: hostile.py TARGET PLACE GROUP SEED ROUNDS ATTACK...
# It writes to the second half of the target, a device or a file, as user 1000, and attacks whoever reads the files that it
# maps as code. Every attack is a process of its own, drawn by the seed. GROUP is a control group that is its user's;
# PLACE/silent is mounted for him, as fusermount would (with user_allow_other). PLACE/written has the bytes at the end.
import ctypes, mmap, os, random, select, signal, struct, sys, time

device, place, group = sys.argv[1:4]
seed, rounds, attacks = int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:]
PAGE, HALF, USER = 4096, 32 << 20, 1000
target = os.open(device, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
page = mmap.mmap(-1, PAGE)
buffer = ctypes.addressof(ctypes.c_char.from_buffer(page))
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + 3 * [ctypes.c_int] + [ctypes.c_long]
# push rbp; mov rbp, rsp; mov r10, rcx; mov eax, 18 (pwrite64); syscall; pop rbp; ret
CODE = bytes.fromhex("554889e54989cab8120000000f055dc3")
CODE_AT = 0x800


def elf(symbols):
    """An ELF file of one segment with code, whose symbol table has so many bytes from the second page on."""
    names = b"\0.symtab\0.strtab\0.shstrtab\0"
    file = b"\x7fELF\2\1\1".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 64, 120, 0, 64, 56, 1, 64, 4, 3)
    file += struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, PAGE, PAGE, PAGE)
    for name, kind, at, size, link, entry in [
        (0, 0, 0, 0, 0, 0), (1, 2, PAGE, symbols // 24 * 24, 2, 24), (9, 3, 400, 1, 0, 0), (17, 3, 402, len(names), 0, 0)
    ]:
        file += struct.pack("<IIQQQQIIQQ", name, kind, 0, 0, at, size, link, 0, 8, entry)
    return (file.ljust(402, b"\0") + names).ljust(CODE_AT, b"\0") + CODE.ljust(PAGE - CODE_AT, b"\0")


def mapped(path, bytes, length=PAGE):
    """Maps the first page of a new file as code."""
    with open(path, "wb") as file:
        file.write(bytes)
        file.truncate(length)
    file = os.open(path, os.O_RDONLY)
    code = libc.mmap(None, PAGE, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file, 0)
    os.close(file)
    return code


def write(draw, code, count=8):
    """Writes pages through the code: its addresses are the call path."""
    call = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)(code + CODE_AT)
    for _ in range(count):
        assert call(target, buffer, PAGE, HALF + draw.randrange(HALF // PAGE) * PAGE) == PAGE
    return count * PAGE


def pipe(draw, path):
    code = mapped(path, elf(0))
    os.unlink(path)
    os.mkfifo(path)
    return write(draw, code)


def link(draw, path):
    code = mapped(path, elf(0))
    os.unlink(path)
    os.symlink(draw.choice(["/dev/console", "/dev/kmsg", "/proc/kcore", "/dev/mem", place + "/loop"]), path)
    return write(draw, code)


def hole(draw, path):
    length = draw.choice([1 << 30, 2 << 30, 3 << 30, 1 << 40])
    return write(draw, mapped(path, elf(length), PAGE + length), 64)


def cut(draw, path):
    length = draw.choice([1 << 20, 64 << 20, 256 << 20])
    written = write(draw, mapped(path, elf(length), PAGE + length), 64)
    alone(cut_again_and_again, draw, path, length)
    return written


def cut_again_and_again(draw, path, length):
    end = time.monotonic() + 20
    whole = elf(length)
    while time.monotonic() < end and os.path.exists(place):
        with open(path, "r+b") as file:
            file.truncate(0)
            file.write(whole)
            file.truncate(PAGE + length)
        # Whole for as long as it takes to map it, and cut while it is read.
        time.sleep(draw.random() / 50)


def storm(draw, path):
    """Programs that end before anybody can look at them."""
    for _ in range(100):
        if os.fork() == 0:
            os.execv("/bin/true", ["true"])
    for _ in range(100):
        os.wait()
    return write(draw, mapped(path, elf(0)))


def name(draw, path):
    """A thread's name and a path that command a terminal, or are no text."""
    libc.prctl(15, draw.choice([b"\x1b[31mred", b"a\nb", b"\xff\xfe", b") R 1 1"]), 0, 0, 0)
    path = os.fsencode(path) + draw.choice([b"\n\x1b]0;x\x07", b"\xff", b" (deleted)", b"//deleted"])
    return write(draw, mapped(path, elf(0)))


def many(draw, path):
    """More mappings than anybody wants to look at."""
    mapped(path, elf(0))
    file = os.open(path, os.O_RDONLY)
    for at in range(3000):
        kinds = [mmap.PROT_READ | mmap.PROT_EXEC, mmap.PROT_READ]
        libc.mmap(None, PAGE, kinds[at % 2], mmap.MAP_PRIVATE, file, 0)
    return write(draw, mapped(path + "b", elf(0)))


def fuse(draw, path):
    """Code in a file whose server answers its own user alone."""
    path = place + "/silent/" + os.path.basename(path)
    file = os.open(path, os.O_RDONLY)
    code = libc.mmap(None, PAGE, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file, 0)
    os.close(file)
    return write(draw, code)


def groups(draw, path):
    """Control groups that come and go, with names that command a terminal; each has a writer."""
    code = mapped(path, elf(0))
    written = 0
    for at in range(8):
        own = group + "/" + draw.choice(["\x1b[31mred", "a b", "\udcff", ") R 1 1", "x" * 255, "*"]) + str(at)
        own = os.fsencode(own)[: len(os.fsencode(group)) + 250]
        try:
            os.mkdir(own)
        except FileExistsError:
            pass
        if os.fork() == 0:
            with open(own + b"/cgroup.procs", "w") as procs:
                procs.write("0")
            write(draw, code, 1)
            os._exit(0)
        assert os.wait()[1] == 0
        written += PAGE
        try:
            os.rmdir(own)
        except OSError:
            pass
    return written


def serve_silent(channel):
    """A file system of files of code (include/uapi/linux/fuse.h, 7.31): it never answers another user."""
    end = time.monotonic() + 600
    attributes = lambda node: struct.pack(
        "<6Q10I", node, 1 << 30, 8, 0, 0, 0, 0, 0, 0, 0o40755 if node == 1 else 0o100755, 1, USER, USER, 0, PAGE, 0
    )
    while time.monotonic() < end and os.path.isdir(place) and not os.path.exists(place + "/stop"):
        if not select.select([channel], [], [], 0.1)[0]:
            continue
        try:
            request = os.read(channel, 1 << 20)
        except OSError:
            return
        _, kind, unique, node, user = struct.unpack_from("<IIQQI", request)
        if kind in (2, 36, 42) or (kind != 26 and user != USER):
            continue
        answer, error = b"", 0
        if kind == 26:
            answer = struct.pack("<IIIIHHIIHHI28x", 7, 31, 0, 0, 16, 12, PAGE, 1, 1, 0, 0)
        elif kind == 1:
            inode = 2 + int(request[40:].rstrip(b"\0"))
            answer = struct.pack("<QQQQII", inode, 0, 600, 600, 0, 0) + attributes(inode)
        elif kind == 3:
            answer = struct.pack("<QII", 600, 0, 0) + attributes(node)
        elif kind in (14, 27):
            answer = bytes(16)
        elif kind == 15:
            at, length = struct.unpack_from("<QI", request, 48)
            answer = (elf(1 << 29)[at : at + length]).ljust(length, b"\0")
        elif kind not in (18, 25, 29):
            error = -38
        os.write(channel, struct.pack("<IiQ", 16 + len(answer), error, unique) + answer)


def mount_silent():
    os.mkdir(place + "/silent")
    channel = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={channel},rootmode=40000,user_id={USER},group_id={USER},allow_other"
    if libc.mount(b"silent", os.fsencode(place + "/silent"), b"fuse", 6, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "mount")
    return channel


def alone(work, *arguments):
    """Runs something in a process that outlives this one, and that nobody waits for."""
    if os.fork() == 0:
        os.setsid()
        for other in (0, 1, 2, target):
            os.close(other)
        work(*arguments)
        os._exit(0)


def attack(number):
    draw = random.Random(seed * 1_000_003 + number)
    return globals()[draw.choice(attacks)](draw, f"{place}/{number}")


os.chown(place, USER, USER)
channel = mount_silent() if "fuse" in attacks else None
if "groups" in attacks:
    os.makedirs(group + "/first", exist_ok=True)
    for path in ["", "/cgroup.procs", "/first", "/first/cgroup.procs"]:
        os.chown(group + path, USER, USER)
    with open(group + "/first/cgroup.procs", "w") as procs:
        procs.write("0")
os.setgroups([])
os.setgid(USER)
os.setuid(USER)
if channel is not None:
    alone(serve_silent, channel)
    os.close(channel)
os.symlink(place + "/loop", place + "/loop")
written = 0
for number in range(rounds):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        told = attack(number)
        os.write(writer, struct.pack("<q", told))
        # Whoever looks comes later.
        time.sleep(0.3)
        os._exit(0)
    os.close(writer)
    told = os.read(reader, 8)
    os.close(reader)
    if told:
        written += struct.unpack("<q", told)[0]
    else:
        print("an attack failed:", number, file=sys.stderr)
    if number % 4 == 3:
        os.waitpid(child, 0)
signal.signal(signal.SIGPIPE, signal.SIG_DFL)
with open(place + "/written", "w") as file:
    file.write(str(written))
