"""What the change of the comparator changed: for each trace, the headline beside a drive that mixes copies with new data, and today's.

Use: comparator.py ANABRANCH TRACE...      (markdown on standard output)
  ANABRANCH  the command
  TRACE      a path, or a name below `traces` without `.parquet`; `NAME:OPTION=VALUE` adds an option of `replay`, as
             `h2:fill=90%`, and `NAME:OPTION` one without a value, as `:pack`

The former headline was the WAF of `baseline` over that of the best scheme that does not know the future, in firmware or not. Today's
is the verdict's: an ordinary drive (`baseline+gc`) beside what a drive that is sold can do. WAF is that of the last capacity of writes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from contests import TRACES

SCHEMES = ("baseline", "baseline+gc", "pcstream*", "anabranch", "anabranch+fdp")
# Those that the former headline chose from.
FORMER = ("baseline+gc", "pcstream*", "anabranch")


def row(anabranch: str, words: str) -> str:
    """A row of the table."""
    name, *options = words.split(":")
    more = [f"--{option}" for option in options]
    path = name if name.endswith(".parquet") else str(TRACES / f"{name}.parquet")
    command = [anabranch, "replay", path, "-s", ",".join(SCHEMES), "--json", "-q", *more]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    waf = {scheme["name"]: scheme["waf_window"] for scheme in found["schemes"]}
    former = waf["baseline"] / min(waf[name] for name in FORMER)
    verdict = found["verdict"]
    today = {
        "worth-it": f"{verdict['life'] or 1:.2f} times",
        "not-worth-it": f"not worth it ({verdict['life'] or 1:.2f})",
    }.get(verdict["answer"], "no answer yet")
    cells = [":".join([Path(name).stem, *options]), *(f"{waf[name]:.3f}" for name in SCHEMES), f"{former:.2f} times", f"**{today}**"]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print("| recording | " + " | ".join(f"`{name}`" for name in SCHEMES) + " | former headline | today's |")
    print("|---|" + "---:|" * (len(SCHEMES) + 2))
    for words in sys.argv[2:]:
        print(row(sys.argv[1], words), flush=True)


if __name__ == "__main__":
    main()
