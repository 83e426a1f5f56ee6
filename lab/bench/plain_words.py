"""Measures of the code's language at commits, as a table in Markdown.

Use: python3 lab/bench/plain_words.py COMMIT...                      one column for each commit
     python3 lab/bench/plain_words.py --rooms COMMIT COMMIT          lines of each room at both
     python3 lab/bench/plain_words.py --lot SEED N COMMIT COMMIT     N files drawn by lot, at both

Sources are the Rust files below `crates` that git has at the commit. Tests at the end of a file count as lines alone.
"""

import collections
import difflib
import random
import re
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

WORDS = Path(__file__).resolve().parents[2] / "crates/core/replay/tests/words.rs"


def words_of(name: str) -> set[str]:
    """The words of a list of the test that holds them."""
    return set(re.findall(r'"(\w+)"', re.search(rf"const {name}: [^=]*= \[(.*?)\];", WORDS.read_text(), re.S)[1]))


CLAUSES = words_of("CLAUSES")
LISTED = words_of("LISTED")
TESTS = "#[cfg(test)]\nmod tests {"
DEFINITION = re.compile(r"^\s*(pub(?:\([^)]*\))? )?(?:async |const |unsafe )*(fn|struct|enum|trait|type|mod) (\w+)", re.M)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


def sources(commit: str) -> dict[str, str]:
    """The text of each source file by its path, without its tests."""
    paths = [path for path in git("ls-tree", "-r", "--name-only", commit, "crates").split() if path.endswith(".rs")]
    blobs = subprocess.run(
        ["git", "cat-file", "--batch"],
        input="".join(f"{commit}:{path}\n" for path in paths).encode(),
        check=True,
        capture_output=True,
    ).stdout
    texts = {}
    for path in paths:
        head, _, rest = blobs.partition(b"\n")
        size = int(head.split()[-1])
        texts[path] = rest[:size].decode().partition(TESTS)[0]
        blobs = rest[size + 1 :]
    return {path: text for path, text in texts.items() if "/src/" in path}


def room(path: str) -> str:
    return path.partition("/src/")[0].rpartition("/")[2]


def doc_comments(texts: dict[str, str]) -> list[str]:
    """Each doc comment, its lines joined."""
    found = []
    for text in texts.values():
        for block in re.findall(r"(?:^[ \t]*//[/!][^\n]*\n)+", text, re.M):
            words = " ".join(line.strip()[3:].strip() for line in block.splitlines())
            found.append(re.sub(r" *```.*?(?:```|$)", "", words))
    return found


def clauses(texts: dict[str, str]) -> int:
    return sum(comment.split(" ")[0] in CLAUSES and not comment.endswith("?") for comment in doc_comments(texts))


def listed(texts: dict[str, str]) -> int:
    return sum(name in LISTED for text in texts.values() for _, _, name in DEFINITION.findall(text))


def shared_nouns(texts: dict[str, str]) -> int:
    rooms = collections.defaultdict(set)
    for path, text in texts.items():
        for visible, kind, name in DEFINITION.findall(text):
            if visible == "pub " and kind in ("struct", "enum", "trait", "type") and name != "Result":
                rooms[name].add(room(path))
    return sum(len(those) > 2 for those in rooms.values())


def matches_on_bool(texts: dict[str, str]) -> int:
    return sum(len(re.findall(r"^\s*(?:true|false) => ", text, re.M)) for text in texts.values()) // 2


def reasons(texts: dict[str, str]) -> str:
    lines = [line for text in texts.values() for line in text.splitlines()]
    beside = sum(bool(re.match(r"\s*//(?![/!])", line)) for line in lines)
    return f"{beside} ({100 * beside / len(lines):.1f} %)"


def lengths(texts: dict[str, str]) -> str:
    counts = [text.count("\n") for text in texts.values()]
    return f"{statistics.median(counts):.0f} ({max(counts)})"


def functions(texts: dict[str, str]) -> str:
    """Lines of functions as rustfmt lays them out: from `fn` to the brace of the same indentation."""
    found = []
    for text in texts.values():
        for _, body in re.findall(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const |async |unsafe )*fn [^;{]*\{\n(.*?)^\1\}", text, re.M | re.S):
            found.append(body.count("\n"))
    return f"{statistics.median(found):.0f} ({max(found)})"


MEASURES: list[tuple[str, Callable[[dict[str, str]], object]]] = [
    ("doc comments that begin with a noun clause", clauses),
    ("definitions with a listed name", listed),
    ("`match` on a bool", matches_on_bool),
    ("nouns of public types in more than two rooms", shared_nouns),
    ("`//` lines (share of lines without tests)", reasons),
    ("lines of a file: median (most)", lengths),
    ("lines of a function: median (most)", functions),
    ("lines without tests", lambda texts: sum(text.count("\n") for text in texts.values())),
]


def table(head: list[str], rows: list[list[object]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def by_room(texts: dict[str, str]) -> collections.Counter[str]:
    lines: collections.Counter[str] = collections.Counter()
    for path, text in texts.items():
        lines[room(path)] += text.count("\n")
    return lines


def lot(seed: str, number: str, before: str, after: str) -> None:
    """Files that both commits have, drawn by lot: comments that are gone, and what each file has in their place."""
    old, new = (
        {path.partition("/src/")[2] + "@" + room(path): (path, text) for path, text in sources(commit).items()}
        for commit in (before, after)
    )
    for name in random.Random(int(seed)).sample(sorted(set(old) & set(new)), int(number)):
        was, now = (doc_comments({name: texts[name][1]}) for texts in (old, new))
        lines = " -> ".join(str(texts[name][1].count("\n")) for texts in (old, new))
        print(f"\n`{new[name][0]}`, {lines} lines:\n")
        gone = [comment for comment in was if comment not in now]
        if not gone:
            print("No comment is gone.")
            continue
        added = [comment for comment in now if comment not in was]
        rows: list[list[object]] = []
        for comment in gone[:4]:
            near = difflib.get_close_matches(comment, added, 1, 0.3)
            rows.append([comment, *(near or ["(gone)"])])
        table([before, after], [[str(cell).replace("|", "\\|") for cell in row] for row in rows])


def main() -> None:
    words = sys.argv[1:]
    if words[:1] == ["--rooms"]:
        before, after = (by_room(sources(commit)) for commit in words[1:])
        table(["room", *words[1:]], [[name, before[name] or "", after[name] or ""] for name in sorted(before | after)])
    elif words[:1] == ["--lot"]:
        lot(*words[1:])
    elif words:
        texts = [sources(commit) for commit in words]
        table(["", *words], [[name, *(measure(text) for text in texts)] for name, measure in MEASURES])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
