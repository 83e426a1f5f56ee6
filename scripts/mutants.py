"""A sample of the mutants of crates, all of a crate in one build: `make mutants SAMPLE='nvme ssd=130' SEED=1`.

cargo-mutants lists the mutants; a seed draws the sample. Each function that has some gets one copy of its body for
each of them, and ANABRANCH_MUTANT chooses which copy runs. So a sample costs one build of each crate, and then a run
of the crate's own tests for each mutant, which ends with the first test that fails. Constants, and functions whose
copies would have types of their own, get a build each.
"""

import argparse
import concurrent.futures
import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
PLACE = HERE / "target/mutants/sample"
TREE = PLACE / "tree"
PLACEMENT = "crates/core/placement/src/schemes"
# What is mutated of a crate (all, if nothing is named), and the tests that can catch it: its own, or CRATE/TEST.
# Left out are two that take minutes: any_scheme of placement, golden_schemes of replay.
CRATES = {
    "ssd": ([], "lib copies emmc fdp golden invariants pairs recorded state streams time wear"),
    "replay": ([], "lib anabranch any_lane bounds golden_autostream names recorded requests tenants"),
    "lifetime": ([], "lib"),
    "nvme": (
        [f"crates/host/nvme/src/{file}.rs" for file in ("pdu", "pdu/*", "command", "completion")],
        "lib clauses commands directive fuzz golden limits sessions transport",
    ),
    "placement": (
        [f"{PLACEMENT}/{file}.rs" for file in ("pcstream", "pcstream/*", "anabranch", "anabranch/*")],
        "lib bounds memory replay/anabranch",
    ),
}
CHOSEN = """
/// The mutant that runs; 0 is none.
#[doc(hidden)]
pub(crate) fn chosen_mutant() -> u32 {
    static CHOSEN: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    *CHOSEN.get_or_init(|| std::env::var("ANABRANCH_MUTANT").map_or(0, |text| text.parse().unwrap_or(0)))
}
"""
# A mutant has three times the tests' processor time, and four seconds (cargo-mutants' own way, with another time).
MULTIPLE, MORE_S = 3, 4
# One that waits for ever takes no processor time.
WALL_S = 600
MEMORY_BYTES = 8 << 30


def drawn(crate, sample, seed):
    command = ["cargo", "mutants", "--list", "--json", "--package", f"anabranch-{crate}"]
    command += [word for file in CRATES[crate][0] for word in ("--file", file)]
    listed = json.loads(subprocess.run(command, cwd=HERE, check=True, capture_output=True).stdout)
    listed.sort(key=lambda mutant: mutant["name"])
    order = random.Random(seed).sample(range(len(listed)), len(listed))
    chosen = [listed[index] | {"crate": crate, "rank": rank} for rank, index in enumerate(order[: sample or None])]
    return chosen, len(listed)


def offset(text, place):
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: place["line"] - 1]) + place["column"] - 1


def extent(text, span):
    return offset(text, span["start"]), offset(text, span["end"])


def mutated(text, mutant):
    start, end = extent(text, mutant["span"])
    return text[:start] + mutant["replacement"] + " " + text[end:]


def is_alone(mutant):
    function = mutant["function"]
    return function is None or "impl " in function["return_type"] or mutant.get("alone", False)


def body(text, function):
    """Where a function begins, and its body between the braces."""
    start, end = extent(text, function["span"])
    depth = 0
    for at in range(text.index("fn ", start), end):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[at], 0)
        if text[at] == "{" and depth == 0:
            return start, at + 1, end - 1
    raise ValueError(function["function_name"])


def woven(text, mutants):
    """The file with a copy of a function's body for each mutant."""
    functions = {}
    for mutant in mutants:
        functions.setdefault(json.dumps(mutant["function"]["span"]), []).append(mutant)
    places = [(*body(text, group[0]["function"]), group) for group in functions.values()]
    places.sort(reverse=True, key=lambda place: place[0])
    last = len(text) + 1
    for start, first, end, group in places:
        if end >= last:
            # A function around one that has been woven.
            for mutant in group:
                mutant["alone"] = True
            continue
        last = start
        arms = ""
        for mutant in group:
            begins, ends = extent(text, mutant["span"])
            copy = text[first:begins] + mutant["replacement"] + " " + text[ends:end]
            arms += f"{mutant['number']} => {{ /*mutant {mutant['number']}*/ {copy}\n/*end*/ }}\n"
        arms += f"_ => {{ {text[first:end]}\n }}\n"
        head = re.sub(r"\bconst (?=(unsafe )?fn )", "", text[start:first])
        text = f"{text[:start]}{head} match crate::chosen_mutant() {{ {arms} }} {text[end:]}"
    return text


def folder(crate):
    """The folder of a crate, on whichever shelf it stands."""
    (found,) = HERE.glob(f"crates/*/{crate}")
    return found.relative_to(HERE)


def weave(mutants, alone=None):
    """Writes the files of the tree: all mutants that can be woven, or one by itself."""
    files = {f"{folder(mutant['crate'])}/src/lib.rs": [] for mutant in mutants}
    for mutant in mutants:
        files.setdefault(mutant["file"], [])
        if alone is None and not is_alone(mutant) and not mutant.get("unviable"):
            files[mutant["file"]].append(mutant)
    for file, group in files.items():
        text = (HERE / file).read_text()
        text = mutated(text, alone) if alone and alone["file"] == file else woven(text, group)
        written(TREE / file, text + CHOSEN if file.endswith("/src/lib.rs") else text)


def written(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def tests(crate):
    """The tests of a crate, as (crate, test)."""
    return [tuple(name.split("/")) if "/" in name else (crate, name) for name in CRATES[crate][1].split()]


def build(crates):
    """The test programs by crate, or what the compiler says against it."""
    command = ["cargo", "test", "--no-run", "--message-format=json", "--lib"]
    wanted = {test for crate in crates for test in tests(crate)}
    owners, names = {owner for owner, _ in wanted}, {name for _, name in wanted} - {"lib"}
    command += [word for owner in sorted(owners) for word in ("--package", f"anabranch-{owner}")]
    command += [word for name in sorted(names) for word in ("--test", name)]
    # Not the place of other builds: cargo takes equal paths below the workspace for equal packages.
    environment = os.environ | {"CARGO_TARGET_DIR": str(PLACE / "target")}
    done = subprocess.run(command, cwd=TREE, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    told = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    programs, errors = {crate: {} for crate in crates}, []
    for message in told:
        if message["reason"] == "compiler-artifact" and message.get("executable"):
            target = message["target"]
            test = (Path(message["manifest_path"]).parent.name, "lib" if "lib" in target["kind"] else target["name"])
            for crate in crates:
                if test in tests(crate):
                    programs[crate]["/".join(test)] = message["executable"]
        elif message["reason"] == "compiler-message" and message["message"]["level"] == "error":
            errors.append(message["message"])
    if done.returncode and not errors:
        sys.exit(done.stderr)
    return programs, errors


def accused(errors, mutants):
    """The mutants within which the compiler finds errors; a function that a constant calls cannot be woven."""
    numbers, names = set(), set()
    for error in errors:
        spans = [span for span in error["spans"] if span["is_primary"]]
        for span in spans:
            path = TREE / span["file_name"]
            before = path.read_bytes()[: span["byte_start"]].decode()
            opened, closed = before.rfind("/*mutant "), before.rfind("/*end*/")
            if opened > closed:
                numbers.add(int(before[opened:].split()[1].split("*")[0]))
            elif found := re.search(r"non-const .*`(.*)`", error["message"]):
                names.add(re.sub(r"<[^<>]*>", "", found[1]).split("::")[-1])
            else:
                sys.exit(error["rendered"])
    for mutant in mutants:
        mutant["unviable"] = mutant.get("unviable", False) or mutant["number"] in numbers
        function = mutant["function"]
        is_constant = function is not None and function["function_name"].split("::")[-1] in names
        mutant["alone"] = mutant.get("alone", False) or is_constant
    return numbers or names


def limits(cpu_s):
    def apply():
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return apply


def run(name, program, number, cpu_s):
    """How a test program, named by its crate and its own name, ends, and its processor time."""
    more = {"RUST_BACKTRACE": "0", "ANABRANCH_MUTANT": str(number), "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1"}
    # A failure is all that is asked, not the smallest. The test programs' option to end with the first is not stable.
    more |= {"PROPTEST_MAX_SHRINK_ITERS": "0", "PROPTEST_RNG_SEED": "1", "RUSTC_BOOTSTRAP": "1"}
    child = subprocess.Popen(
        [program, "-q", "-Z", "unstable-options", "--fail-fast"],
        cwd=TREE / folder(name.split("/")[0]),
        env=os.environ | more,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=limits(cpu_s),
    )
    waiting = threading.Timer(WALL_S, lambda: os.killpg(child.pid, signal.SIGXCPU))
    waiting.start()
    _, status, used = os.wait4(child.pid, 0)
    waiting.cancel()
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, used.ru_utime + used.ru_stime


def tried(mutant, programs, base):
    """caught, timeout or missed, and by which test program."""
    number = 0 if is_alone(mutant) else mutant["number"]
    for name in sorted(programs, key=lambda name: base[name]):
        ended, _ = run(name, programs[name], number, math.ceil(base[name] * MULTIPLE + MORE_S))
        if ended in (-signal.SIGXCPU, -signal.SIGKILL):
            return "timeout", name
        if ended:
            return "caught", name
    return "missed", ""


def wilson(missed, tested):
    """The 95 % interval of a share."""
    z, share = 1.959964, missed / tested
    middle = share + z * z / (2 * tested)
    half = z * math.sqrt(share * (1 - share) / tested + z * z / (4 * tested * tested))
    return [(middle + side * half) / (1 + z * z / tested) for side in (-1, 1)]


def told(mutant, outcome, by):
    line = {"crate": mutant["crate"], "outcome": outcome, "by": by, "name": mutant["name"], "number": mutant["number"]}
    with (PLACE / "outcomes.jsonl").open("a") as log:
        log.write(json.dumps(line) + "\n")
    mutant["outcome"] = outcome


def table(mutants, listed):
    print("| crate | listed | drawn | unviable | tested | caught | timeouts | missed | missed %, 95 % interval |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for crate, count in listed.items():
        of = [mutant.get("outcome") for mutant in mutants if mutant["crate"] == crate]
        each = {outcome: of.count(outcome) for outcome in ("unviable", "caught", "timeout", "missed")}
        tested = len([outcome for outcome in of if outcome]) - each["unviable"]
        low, high = wilson(each["missed"], tested) if tested else (0, 1)
        share = f"{100 * each['missed'] / max(tested, 1):.1f}, {100 * low:.1f} to {100 * high:.1f}"
        numbers = [count, len(of), each["unviable"], tested, each["caught"], each["timeout"], each["missed"], share]
        print(f"| `{crate}` | " + " | ".join(map(str, numbers)) + " |")
    for mutant in mutants:
        if mutant.get("outcome") == "missed":
            print("missed:", mutant["name"])


def copied():
    """The tree as git has it, beside the one that is worked in. What is there and differs, such as what another run wove,
    gets a new time, or cargo would take what it built of it."""
    files = subprocess.run(["git", "ls-files", "-z"], cwd=HERE, check=True, capture_output=True, text=True).stdout
    for file in files.split("\0"):
        of, to = HERE / file, TREE / file
        if file and of.is_file() and not (to.exists() and to.read_bytes() == of.read_bytes()):
            to.parent.mkdir(parents=True, exist_ok=True)
            to.unlink(missing_ok=True)
            shutil.copy(of, to, follow_symlinks=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crates", nargs="+", metavar="CRATE[=COUNT]", help="all its mutants, or so many")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    copied()
    mutants, listed = [], {}
    for word in arguments.crates:
        crate, _, count = word.partition("=")
        chosen, listed[crate] = drawn(crate, int(count or 0), arguments.seed)
        mutants += chosen
    for number, mutant in enumerate(mutants, 1):
        mutant["number"] = number
    while True:
        weave(mutants)
        programs, errors = build(list(listed))
        if not errors:
            break
        accused(errors, mutants)
    base = {}
    for crate in listed:
        ended = {name: run(name, program, 0, 600) for name, program in programs[crate].items()}
        failed = [name for name, (status, _) in ended.items() if status]
        if failed or not ended:
            sys.exit(f"{crate}: without a mutant these fail: {failed}")
        base[crate] = {name: cpu_s for name, (_, cpu_s) in ended.items()}
    (PLACE / "outcomes.jsonl").unlink(missing_ok=True)
    together = [mutant for mutant in mutants if not is_alone(mutant) and not mutant.get("unviable")]
    # Of every crate in turn, so that what is done at any time is a smaller sample.
    together.sort(key=lambda mutant: mutant["rank"])

    def one(mutant):
        told(mutant, *tried(mutant, programs[mutant["crate"]], base[mutant["crate"]]))

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        list(pool.map(one, together))
    for mutant in mutants:
        if mutant.get("unviable"):
            told(mutant, "unviable", "")
        elif is_alone(mutant):
            weave(mutants, mutant)
            programs, errors = build([mutant["crate"]])
            crate = mutant["crate"]
            told(mutant, *(("unviable", "") if errors else tried(mutant, programs[crate], base[crate])))
    table(mutants, listed)


if __name__ == "__main__":
    main()
