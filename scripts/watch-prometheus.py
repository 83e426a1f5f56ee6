#!/usr/bin/env python3
"""A real Prometheus (Debian's package) reads what `anabranch watch` tells, and is asked each query of the dashboard.

Use, as root: scripts/watch-prometheus.py [--command target/release/anabranch] [--prometheus prometheus]
Ends with status 1 where a scrape fails or a query has no answer; what needs a drive that counts for itself may have none.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
DASHBOARD = ROOT / "packaging/anabranch-watch.grafana.json"
WATCHED, ASKED = "127.0.0.1:19471", "127.0.0.1:19491"
SECONDS = 25
CONFIG = f"""
global: {{scrape_interval: 1s, scrape_timeout: 1s}}
scrape_configs:
  - job_name: anabranch
    static_configs: [{{targets: ["{WATCHED}"]}}]
"""


def ask(path, **words):
    """An answer of Prometheus' interface; of a query that is wrong, why."""
    address = f"http://{ASKED}/api/v1/{path}?" + urllib.parse.urlencode(words)
    try:
        return json.load(urllib.request.urlopen(address))
    except urllib.error.HTTPError as error:
        return json.load(error)


def judge():
    """Asks each query; the number of those that were not answered."""
    missed = 0
    targets = ask("targets")["data"]["activeTargets"]
    print("scraped:", ", ".join(f"{target['health']} {target['lastError']}" for target in targets))
    missed += sum(target["health"] != "up" for target in targets)
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    for query in (target["expr"] for panel in panels for target in panel.get("targets", [])):
        answer = ask("query", query=query.replace("$device", ".*"))
        series = len(answer.get("data", {}).get("result", []))
        print(f"{answer['status']}, {series} series: {query} {answer.get('error', '')}")
        missed += series == 0 and "_drive_" not in query
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default=ROOT / "target/release/anabranch")
    parser.add_argument("--prometheus", default="prometheus")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        image = pathlib.Path(place, "image")
        with image.open("wb") as file:
            file.truncate(64 << 20)
        pathlib.Path(place, "prometheus.yml").write_text(CONFIG, encoding="utf-8")
        device = subprocess.check_output(["losetup", "--find", "--show", image], text=True).strip()
        watch = [asked.command, "-q", "watch", device, "--unit", "1MiB", "--sample", "1/2", "--every", "1s",
                 "--metrics", WATCHED]
        began = [subprocess.Popen(watch, stdout=subprocess.DEVNULL)]
        try:
            store = ["--storage.tsdb.path", f"{place}/data", "--web.listen-address", ASKED, "--log.level=error"]
            began.append(subprocess.Popen([asked.prometheus, "--config.file", f"{place}/prometheus.yml", *store]))
            until = time.monotonic() + SECONDS
            while time.monotonic() < until:
                for at in (0, 80, 144):
                    words = ["if=/dev/zero", f"of={device}", "bs=64k", "count=300", f"seek={at}", "oflag=direct"]
                    subprocess.run(["dd", *words, "status=none"], check=True)
                time.sleep(0.3)
            missed = judge()
        finally:
            for process in reversed(began):
                process.terminate()
                process.wait()
            subprocess.run(["losetup", "--detach", device], check=True)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
