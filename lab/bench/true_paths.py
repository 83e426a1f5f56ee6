#!/usr/bin/env python3
"""Compares the call paths of a recording's contexts with true ones: those of stacks that perf copies meanwhile.

Use, as root: true_paths.py ANABRANCH [--seconds N] PROGRAM...
  ANABRANCH  the command (Markdown on standard output, the rest on standard error)
  --seconds  interrupts a program after so many [default: 90]
  PROGRAM    of lab/bench/programs, on the drive of its line `# drive=`, as lab/bench/record-programs.sh records it

At every seventh folio that becomes dirty on the drive, perf copies the registers and 8 KiB of the user stack. Some are unwound by .eh_frame,
which files without symbols or frame pointers have, too. A context's path is *true* if a true path begins with it. It has a *false call* if no
true path from the same innermost instruction has its calls in their order. It is neither if it only leaves out calls, if no stack was copied at
its innermost instruction, or if it goes on where a copied stack ends. Shares are of the bytes that the program wrote by known paths.

Formats: perf.data by Linux' tools/perf/Documentation/perf.data-file-format.txt; its records by include/uapi/linux/perf_event.h, registers by
arch/x86/include/uapi/asm/perf_regs.h; .eh_frame by LSB Core 5.0, 10.6; its numbers of registers by the System V psABI for AMD64, figure 3.36.
"""

from __future__ import annotations

import argparse
import functools
import json
import mmap
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import tempfile
from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import accumulate
from pathlib import Path
from typing import Iterable, Iterator, NamedTuple

from contests import at_least_one

try:
    import pyarrow.parquet
    from elftools.dwarf.callframe import FDE
    from elftools.elf.elffile import ELFFile
except ImportError as error:
    sys.exit(f"true_paths.py needs the Python packages pyelftools and pyarrow ({error}): pip install pyelftools pyarrow")

HERE = Path(__file__).resolve().parent
PERF = "perf record --quiet --all-cpus --event writeback:writeback_dirty_folio --count 7 --call-graph dwarf,8192 --mmap-pages 32M --max-size 2G"
# Bounds of what is read, beside the size of perf.data (our choice).
MAX_OBJECT_BYTES, MAX_FRAMES, MAX_STACKS, MAX_LOG_BYTES = 256 << 20, 64, 30_000, 1000

# Kinds of records, and flags in them.
TRACEPOINT, LOST, COMM, FORK, SAMPLE, MMAP2 = 2, 2, 3, 7, 9, 10
COMM_EXEC, PROT_EXEC = 1 << 13, 4
# Bits of `sample_type`, in the order of their words in a sample, and what lies ahead of the stack and has a size of its own.
WORDS = IDENTIFIER, IP, TID, TIME, ADDR, ID, STREAM_ID, CPU, PERIOD = tuple(1 << bit for bit in (16, 0, 1, 2, 3, 6, 9, 7, 8))
READ, CALLCHAIN, RAW, BRANCHES, REGISTERS, STACK = (1 << bit for bit in (4, 5, 10, 11, 12, 13))
NEEDED = TID | TIME | CALLCHAIN | RAW | REGISTERS | STACK
# Numbers of registers in .eh_frame by those of perf.
DWARF = {0: 0, 1: 3, 2: 2, 3: 1, 4: 4, 5: 5, 6: 6, 7: 7, 8: 16, **{16 + number: 8 + number for number in range(8)}}
STACK_POINTER, RETURN_ADDRESS = 7, 16
GNU_ARGS_SIZE = 0x2E
# The one expression of a frame's address that is known, of linkers' stubs: rsp + 8 + ((rip & 15) >= LIMIT) * 8, without the DW_OP_lit of LIMIT.
STUB = [0x77, 8, 0x80, 0, 0x3F, 0x1A, 0x2A, 0x33, 0x24, 0x22]

Registers = dict[int, int]
# A file by device and inode (by name, if it is gone), and the offset in it.
Frame = tuple[object, int]
# A part of a file in a process: first address, the one behind the last, offset in the file, name.
Mapping = tuple[int, int, int, str]


class TruePath(NamedTuple):
    """An unwound stack, innermost frame first."""

    frames: tuple[Frame, ...]
    is_whole: bool


class UnwindTable:
    """The rules of a file's .eh_frame."""

    def __init__(self, file: str) -> None:
        if os.path.getsize(file) > MAX_OBJECT_BYTES:
            raise ValueError(f"larger than {MAX_OBJECT_BYTES >> 20} MiB")
        with open(file, "rb") as opened:
            elf = ELFFile(opened)
            self.loads = [(load["p_offset"], load["p_filesz"], load["p_vaddr"]) for load in elf.iter_segments("PT_LOAD")]
            entries = elf.get_dwarf_info(relocate_dwarf_sections=False).EH_CFI_entries() if elf.get_section_by_name(".eh_frame") else []
        self.functions = sorted((entry for entry in entries if isinstance(entry, FDE)), key=lambda entry: entry["initial_location"])
        for function in self.functions:
            # DW_CFA_GNU_args_size changes no rule, and pyelftools 0.33 does not decode it.
            function.instructions = [one for one in function.instructions if getattr(one.opcode, "value", one.opcode) != GNU_ARGS_SIZE]
        self.starts = [function["initial_location"] for function in self.functions]

    @functools.lru_cache(maxsize=100_000)
    def rule(self, offset: int) -> dict | None:
        """The rule for the caller's registers at an offset in the file."""
        address = next((offset - first + virtual for first, size, virtual in self.loads if first <= offset < first + size), -1)
        at = bisect_right(self.starts, address) - 1
        if at < 0 or address >= self.starts[at] + self.functions[at]["address_range"]:
            return None
        return next((row for row in reversed(self.functions[at].get_decoded().table) if row["pc"] <= address), None)


@functools.cache
def unwind_table(file: str) -> UnwindTable | None:
    """The rules of a file, if it can be read."""
    try:
        return UnwindTable(file)
    except Exception as error:  # pyelftools raises many kinds at a file that is damaged or no ELF.
        print(f"no unwinding through {file}: {error}", file=sys.stderr)
        return None


@functools.cache
def identity(file: str) -> object:
    """The device and inode of a file, which may have several names."""
    try:
        return os.stat(file).st_dev, os.stat(file).st_ino
    except OSError:
        return file


def caller(rule: dict, registers: Registers, bottom: int, stack: bytes) -> Registers:
    """The caller's registers, as far as they are in the stack copied from address `bottom` on."""
    cfa = rule["cfa"]
    if cfa.expr and cfa.expr[:6] + cfa.expr[7:] == STUB:
        address = registers[STACK_POINTER] + 8 + 8 * (registers[RETURN_ADDRESS] & 15 >= cfa.expr[6] - 0x30)
    elif cfa.expr or cfa.reg not in registers:
        return {}
    else:
        address = registers[cfa.reg] + cfa.offset
    found = registers | {STACK_POINTER: address}
    for register in rule.keys() - {"pc", "cfa"}:
        at = address + (rule[register].arg or 0) - bottom if rule[register].type == "OFFSET" else -1
        if 0 <= at <= len(stack) - 8:
            found[register] = struct.unpack_from("<Q", stack, at)[0]
        elif rule[register].type != "SAME_VALUE":
            found.pop(register, None)
    return found


def unwind(mappings: list[Mapping], registers: Registers, stack: bytes) -> TruePath:
    """The path of a copied stack, as far as the copy and the rules reach."""
    frames: list[Frame] = []
    bottom = registers[STACK_POINTER]
    while RETURN_ADDRESS in registers and len(frames) < MAX_FRAMES:
        address = registers[RETURN_ADDRESS]
        mapping = next((one for one in reversed(mappings) if one[0] <= address < one[1]), None)
        if mapping is None:
            return TruePath(tuple(frames), is_whole=address == 0)
        start, _, first, file = mapping
        offset = address - start + first
        frames.append((identity(file), offset))
        table = unwind_table(file) if file.startswith("/") else None
        # A call may be its function's last instruction: the address behind it is another function's.
        rule = table.rule(offset - (len(frames) > 1)) if table else None
        if rule is None:
            break
        if RETURN_ADDRESS in rule and rule[RETURN_ADDRESS].type == "UNDEFINED":
            return TruePath(tuple(frames), is_whole=True)
        registers = caller(rule, registers, bottom, stack)
    return TruePath(tuple(frames), is_whole=False)


def sample_form(data: mmap.mmap) -> tuple[int, list[int]]:
    """The `sample_type` of a perf.data, and the registers in its samples."""
    magic, _, entry_bytes, start, size = struct.unpack_from("<8s4Q", data)
    for at in range(start, start + size, entry_bytes) if magic == b"PERFILE2" else ():
        kind, sample_type, registers = (struct.unpack_from("<Q", data, at + field)[0] for field in (0, 24, 80))
        if kind & 0xFFFF_FFFF == TRACEPOINT and sample_type & (NEEDED | READ | BRANCHES) == NEEDED:
            return sample_type, [bit for bit in range(64) if registers >> bit & 1]
    raise ValueError("perf.data has no samples of the form that is read here")


def records(data: mmap.mmap, sample_type: int) -> list[tuple[int, int, int, int]]:
    """Time, start, kind and bytes of each record that counts, by time: those of each processor are apart in the file."""
    at, total = struct.unpack_from("<2Q", data, 40)
    # perf leaves out the total if it is killed.
    end = at + total if total else len(data)
    before = 8 * sum(sample_type & bit != 0 for bit in (IDENTIFIER, IP, TID))
    behind = 8 * sum(sample_type & bit != 0 for bit in (TIME, ID, STREAM_ID, CPU, IDENTIFIER))
    found = []
    while at + 8 <= end:
        kind, _, size = struct.unpack_from("<IHH", data, at)
        if size < 8 or at + size > end:
            break
        if kind in (COMM, FORK, SAMPLE, MMAP2):
            time = struct.unpack_from("<Q", data, at + 8 + before if kind == SAMPLE else at + size - behind)[0]
            found.append((time, at, kind, size))
        elif kind == LOST:
            print(f"perf lost {struct.unpack_from('<Q', data, at + 16)[0]} records", file=sys.stderr)
        at += size
    return sorted(found)


def copied(data: mmap.mmap, at: int, sample_type: int, numbers: list[int]) -> tuple[int, Registers, bytes]:
    """The process of a sample, its registers and its stack, which are empty if it was a thread of the kernel."""
    process = struct.unpack_from("<I", data, at + 8 + 8 * sum(sample_type & bit != 0 for bit in (IDENTIFIER, IP)))[0]
    at += 8 + 8 * sum(sample_type & bit != 0 for bit in WORDS)
    at += 8 + 8 * struct.unpack_from("<Q", data, at)[0]
    at += 4 + struct.unpack_from("<I", data, at)[0]
    if not struct.unpack_from("<Q", data, at)[0]:
        return process, {}, b""
    values = struct.unpack_from(f"<{len(numbers)}Q", data, at + 8)
    at += 8 + 8 * len(numbers)
    size = struct.unpack_from("<Q", data, at)[0]
    used = min(size, struct.unpack_from("<Q", data, at + 8 + size)[0]) if size else 0
    return process, {DWARF[number]: value for number, value in zip(numbers, values) if number in DWARF}, data[at + 8:at + 8 + used]


def true_paths(data: mmap.mmap) -> Iterator[TruePath]:
    """The paths of the stacks in a perf.data, of one in so many where there are more than a bound."""
    sample_type, numbers = sample_form(data)
    mappings: dict[int, list[Mapping]] = defaultdict(list)
    found = records(data, sample_type)
    every = 1 + sum(kind == SAMPLE for _, _, kind, _ in found) // MAX_STACKS
    samples = 0
    for _, at, kind, size in found:
        process, parent = struct.unpack_from("<2I", data, at + 8)
        if kind == FORK and process != parent:
            mappings[process] = list(mappings[parent])
        elif kind == COMM and struct.unpack_from("<H", data, at + 4)[0] & COMM_EXEC:
            mappings[process] = []
        elif kind == MMAP2 and struct.unpack_from("<I", data, at + 64)[0] & PROT_EXEC:
            start, length, offset = struct.unpack_from("<3Q", data, at + 16)
            file = data[at + 72:at + size].partition(b"\0")[0].decode(errors="replace")
            mappings[process].append((start, start + length, offset, file))
        elif kind == SAMPLE and (samples := samples + 1) % every == 0:
            process, registers, stack = copied(data, at, sample_type, numbers)
            if stack:
                yield unwind(mappings[process], registers, stack)


def judge(frames: tuple[Frame, ...], paths: Iterable[TruePath]) -> str:
    """`true`, `gaps`, `false` or `unknown`, of a context's path, by the true ones from the same instruction."""
    verdicts = set()
    for path in paths:
        rest = iter(path.frames)
        if path.frames[:len(frames)] == frames:
            return "true"
        if all(frame in rest for frame in frames):
            verdicts.add("gaps")
        is_cut = not path.is_whole and frames[:len(path.frames)] == path.frames
        verdicts.add("unknown" if is_cut else "false")
    return next((verdict for verdict in ("gaps", "unknown", "false") if verdict in verdicts), "unknown")


def table_line(name: str, trace: Path, paths: Iterable[TruePath]) -> str:
    """The line of a program: its contexts, and the shares of its bytes."""
    contexts = json.loads(pyarrow.parquet.read_metadata(trace).metadata[b"anabranch.contexts"])
    requests = pyarrow.parquet.read_table(trace, columns=["operation", "length_bytes", "context"])
    sums = requests.group_by(["operation", "context"]).aggregate([("length_bytes", "sum")]).to_pylist()
    sizes = Counter({one["context"]: one["length_bytes_sum"] for one in sums if one["operation"] == "write"})
    stacks = Counter(path for path in paths if path.frames)
    by_first: dict[Frame, list[TruePath]] = defaultdict(list)
    for path in stacks:
        by_first[path.frames[0]].append(path)
    verdicts: Counter[str] = Counter()
    for context in contexts:
        # mkfs ends before perf begins.
        if context["kind"] == "application" and context["frames"] and not context["role"].startswith("mkfs"):
            frames = tuple((identity(frame["object"]), frame["file_offset"]) for frame in context["frames"])
            verdicts[judge(frames, by_first.get(frames[0], ()))] += sizes[context["id"]]
    total, largest_first = verdicts.total(), accumulate(sorted(sizes.values(), reverse=True))
    most = 1 + sum(size < 0.99 * sizes.total() for size in largest_first)
    print(f"{name}: {stacks.total()} stacks, {len(stacks)} paths; bytes by verdict: {dict(verdicts)}", file=sys.stderr)
    shares = (f"{100 * verdicts[verdict] / total:.1f}" if total else "-" for verdict in ("true", "false"))
    return f"| {name} | {most} | {' | '.join(shares)} |"


def described(name: str) -> tuple[Path, dict[str, str]]:
    """The file of a program, and the words of its line `# drive=`."""
    for file in sorted((HERE / "programs").glob(f"{name}.*")):
        if found := re.search("^# (drive=.*)", file.read_text(), re.MULTILINE):
            return file, {"unit": "4MiB", "fs": "ext4"} | dict(word.split("=", 1) for word in found[1].split())
    sys.exit(f"no program {name}: it has no file with a line `# drive=` in lab/bench/programs")


def record(anabranch: str, program: Path, drive: dict[str, str], seconds: int, folder: Path) -> None:
    """Leaves a program's `trace.parquet` and `perf.data` in a folder."""
    tools = Path(os.environ.get("TOOLS", HERE.parents[1] / "target/programs"))
    environment = {**os.environ, "TOOLS": str(tools), "PATH": f"{tools}/venv/bin:{os.environ['PATH']}"}
    # perf starts the program, once it listens to the drive that the program is given.
    perf = f"""exec {PERF} --output {shlex.quote(f"{folder}/perf.data")} --filter "name == \\"$(stat --format=%Hd:%Ld "$2")\\"" -- "$1" "$2" """
    run = ["timeout", "--foreground", "--signal=INT", "--kill-after=60", str(seconds), anabranch, "run", "--scheme", "baseline"]
    run += ["--size", drive["drive"], "--unit", drive["unit"], "--file-system", drive["fs"]]
    run += ["--log", f"{folder}/log", "-t", f"{folder}/trace.parquet"]
    ended = subprocess.run([*run, "--", "sh", "-c", perf, "sh", program, "{dir}"], env=environment, stdout=subprocess.DEVNULL)
    if ended.returncode not in (0, 124) or not all((folder / file).exists() for file in ("trace.parquet", "perf.data")):
        with (folder / "log").open("a+b") as log:
            log.seek(max(0, log.tell() - MAX_LOG_BYTES))
            sys.exit(f"{program.name} was not recorded (status {ended.returncode}): {log.read().decode(errors='replace')}")


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("anabranch")
    parser.add_argument("--seconds", type=at_least_one, default=90)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM")
    given = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("true_paths.py needs root, for the probe and perf: run it with sudo")
    if not shutil.which("perf"):
        sys.exit("true_paths.py needs perf: install linux-perf (Debian) or linux-tools (Ubuntu)")
    found = {name: described(name) for name in given.programs}
    print("| program | contexts that wrote 99 % | bytes whose whole path is true (%) | bytes whose path has a false call (%) |")
    print("|---|---|---|---|")
    for name, (program, drive) in found.items():
        with tempfile.TemporaryDirectory(prefix="true-paths-") as made:
            record(given.anabranch, program, drive, given.seconds, Path(made))
            with open(f"{made}/perf.data", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                print(table_line(name, Path(made) / "trace.parquet", true_paths(data)), flush=True)


if __name__ == "__main__":
    main()
