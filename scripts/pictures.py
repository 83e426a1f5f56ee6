#!/usr/bin/env python3
"""Makes the pictures of the documents anew: scripts/pictures.py [--command target/release/anabranch]

They show the pages of the demo's recording, of the fleet of the tutorial, and of a grid of drives. Chromium draws them.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs/images"
VOLUMES = {"postgres": "postgres-pgbench", "sqlite": "sqlite-wal", "redis": "redis"}
# As docs/tutorials/fleet.md has it.
FLEET = """
traces = ["volumes/*.csv.gz"]
format = "alibaba"
schemes = ["baseline+gc", "sepbit", "anabranch"]
fill = "80%"

[drive]
unit = ["2MiB", "8MiB"]
"""
GRID = f"""
traces = ["{ROOT}/traces/sqlite-wal.parquet"]
schemes = ["baseline+gc", "pcstream+fdp", "anabranch+fdp", "anabranch"]
fill = "90%"

[drive]
unit = "1MiB"
streams = [2, 4, 8]
over_provisioning = ["7%", "14%", "28%"]
"""


def draw(page: Path, name: str, width: int, height: int, section: str | None = None) -> None:
    """The top of a page, or of it one section alone."""
    text = page.read_text()
    if section:
        text += f"<style>section:not(#{section}), header, nav {{ display: none }}</style>"
    shown = page.with_name(f"shown-{name}.html")
    shown.write_text(text)
    command = ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}"]
    picture = f"--screenshot={IMAGES / name}.png"
    subprocess.run([*command, picture, shown.as_uri()], check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--command", type=Path, default=ROOT / "target/release/anabranch")
    command = options.parse_args().command.resolve()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)

        def anabranch(*words: str, begun_in: Path = place) -> None:
            subprocess.run([command, *words], check=True, cwd=begun_in, stdout=subprocess.DEVNULL)

        # By its path in the tree, which the page shows.
        anabranch("replay", "traces/rocksdb-demo.parquet", "--html", str(place / "demo.html"), begun_in=ROOT)
        (place / "volumes").mkdir()
        for volume, trace in VOLUMES.items():
            anabranch("export", str(ROOT / f"traces/{trace}.parquet"), "--to", "alibaba", "-o", f"volumes/{volume}.csv.gz")
        for name, text in (("fleet", FLEET), ("grid", GRID)):
            (place / f"{name}.toml").write_text(text)
            anabranch("sweep", f"{name}.toml", "-o", name)
            anabranch("report", name, "-o", f"{name}.html")
        draw(place / "demo.html", "report-verdict", 1440, 1100)
        draw(place / "demo.html", "report-map", 1280, 1460, "map")
        draw(place / "fleet.html", "report-fleet", 1280, 1620)
        draw(place / "grid.html", "report-grid", 1280, 1150)


if __name__ == "__main__":
    main()
