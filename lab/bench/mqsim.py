"""Writes at random on MQSim's drive and on ours, by queue depth, beside arithmetic; prints docs/device.md's table.

    python3 lab/bench/mqsim.py ANABRANCH MQSIM MENDED

ANABRANCH is the command, built for release. MQSIM is the program of CMU-SAFARI/MQSim (commit 7ec40e3) as published,
MENDED the same with one function changed: `Remove_barrier_for_accessing_lpa` gives writes that waited for a page under
collection to the flash, where it drops them. Eight dies behind eight channels, one plane each, no cache; pages of
4 KiB, 256 a block, 512 blocks a die; 75 us, 750 us and 3.8 ms; greedy victims; MQSim's default of 5 % free blocks.
Rates are those of the last 900,000 of 3,600,000 writes. Some ten minutes.
"""

import array
import heapq
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DIES, PAGES, BLOCKS, PAGE_BYTES = 8, 256, 512, 4096
READ_S, PROGRAM_S, ERASE_S = 75e-6, 750e-6, 3.8e-3
CHANNEL_BYTES_PER_SECOND = 333e6
#: What goes over the channel with each page: MQSim's default adds `Page_Metadat_Capacity`.
MQSIM_BYTES = PAGE_BYTES + 448
DEPTHS = (1, 8, 32, 128, 512)
#: MQSim tells of whole runs; the end of a long one is its difference to a shorter one of the same seed.
SHORTER, LONGER = 2_700_000, 3_600_000
#: Spares of equal WAF: of MQSim 5 % of the blocks are not to be had beside them.
MQSIM_SPARE, OUR_SPARE = 0.2, "23.3%"
PROFILE = f"""
description = "the drive of lab/bench/mqsim.py"
source = "MQSim's default times"
[geometry]
channels = {DIES}
dies_per_channel = 1
blocks_per_die = {BLOCKS}
pages_per_block = {PAGES}
page_bytes = {PAGE_BYTES}
over_provisioning = 0.25
[streams]
host = 1
internal = 1
[timing]
read_ns = {READ_S * 1e9:.0f}
program_ns = {PROGRAM_S * 1e9:.0f}
erase_ns = {ERASE_S * 1e9:.0f}
channel_bytes_per_second = {CHANNEL_BYTES_PER_SECOND:.0f}
planes = 1
flash_page_bytes = {PAGE_BYTES}
write_buffer_bytes = 65536
buffer_ns = 0
power_loss_protection = true
"""


def work_s(waf: float, read_bytes: int, programmed_bytes: int) -> float:
    """Seconds of a die's work for each page of a host, copies and erases included; bytes are those whose way over the
    channel takes the die's time."""
    read_s, program_s = READ_S + read_bytes / CHANNEL_BYTES_PER_SECOND, PROGRAM_S + programmed_bytes / CHANNEL_BYTES_PER_SECOND
    return waf * program_s + (waf - 1) * read_s + waf / PAGES * ERASE_S


def closed_network(depth: int, waf: float, writes: int = 200_000) -> float:
    """Writes a second of `depth` requests, each for a die at random; a die that has filled a block with a host's pages
    collects until a block is free again, `waf` victims, and serves nobody meanwhile."""
    draw = random.Random(1)
    page_s = PROGRAM_S + MQSIM_BYTES / CHANNEL_BYTES_PER_SECOND
    collection_s = PAGES * (work_s(waf, MQSIM_BYTES, MQSIM_BYTES) - page_s)
    waiting, left = [0] * DIES, [draw.randrange(1, PAGES) for _ in range(DIES)]
    ends: list[tuple[float, int]] = []

    def serve(die: int, now_s: float) -> None:
        left[die] -= 1
        heapq.heappush(ends, (now_s + page_s + (0 if left[die] else collection_s), die))
        left[die] = left[die] or PAGES

    def arrive(now_s: float) -> None:
        die = draw.randrange(DIES)
        waiting[die] += 1
        if waiting[die] == 1:
            serve(die, now_s)

    for _ in range(depth):
        arrive(0.0)
    begun_s = now_s = 0.0
    for done in range(writes):
        begun_s = now_s if done == writes // 10 else begun_s
        now_s, die = heapq.heappop(ends)
        waiting[die] -= 1
        if waiting[die]:
            serve(die, now_s)
        arrive(now_s)
    return (writes - writes // 10) / (now_s - begun_s)


def filled(template: str, values: dict[str, object]) -> str:
    """An XML file of MQSim with these values."""
    for key, value in values.items():
        template, count = re.subn(rf"<{key}>[^<]*<", f"<{key}>{value}<", template)
        assert count, key
    return template


def run_of_mqsim(program: Path, folder: Path, depth: int, requests: int) -> tuple[float, int, int]:
    """Seconds simulated, pages programmed, and requests that were never answered."""
    latencies = {
        f"Page_{kind}_Latency_{bit}": f"{seconds * 1e9:.0f}"
        for kind, seconds in (("Read", READ_S), ("Program", PROGRAM_S))
        for bit in ("LSB", "CSB", "MSB")
    }
    drive = filled(
        (program.parent / "ssdconfig.xml").read_text(),
        latencies
        | {"Block_Erase_Latency": f"{ERASE_S * 1e9:.0f}", "Page_Capacity": PAGE_BYTES, "Page_No_Per_Block": PAGES}
        | {"Flash_Channel_Count": DIES, "Chip_No_Per_Channel": 1, "Die_No_Per_Chip": 1, "Plane_No_Per_Die": 1}
        | {"Block_No_Per_Plane": BLOCKS, "Overprovisioning_Ratio": MQSIM_SPARE, "Enabled_Preconditioning": "true"}
        | {"GC_Block_Selection_Policy": "GREEDY", "Ideal_Mapping_Table": "true"}
        | {"Dynamic_Wearleveling_Enabled": "false", "Static_Wearleveling_Enabled": "false"},
    )
    flow = re.search(
        r"<IO_Flow_Parameter_Set_Synthetic>.*?</IO_Flow_Parameter_Set_Synthetic>",
        (program.parent / "workload.xml").read_text(),
        re.DOTALL,
    )
    assert flow
    load = filled(
        flow[0],
        {"Device_Level_Data_Caching_Mode": "TURNED_OFF", "Channel_IDs": ",".join(map(str, range(DIES)))}
        | {"Chip_IDs": 0, "Die_IDs": 0, "Plane_IDs": 0, "Initial_Occupancy_Percentage": 100}
        | {"Working_Set_Percentage": 100, "Address_Alignment_Unit": 8, "Average_Request_Size": 8}
        | {"Average_No_of_Reqs_in_Queue": depth, "Stop_Time": 0, "Total_Requests_To_Generate": requests},
    )
    (folder / "drive.xml").write_text(drive)
    (folder / "load.xml").write_text(
        f'<?xml version="1.0" encoding="us-ascii"?>\n<MQSim_IO_Scenarios>\n<IO_Scenario>\n{load}\n</IO_Scenario>\n'
        "</MQSim_IO_Scenarios>\n"
    )
    said = subprocess.run(
        [program, "-i", "drive.xml", "-w", "load.xml"],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    answered = int(re.findall(r"total requests serviced:(\d+)", said)[-1])
    result = (folder / "load_scenario_1.xml").read_text()
    rate = float(re.findall(r"<IOPS>([^<]*)<", result)[0])
    programmed = int(re.findall(r'Issued_Flash_Program_CMD="(\d+)"', result)[0])
    return requests / rate, programmed, requests - answered


def end_of_mqsim(program: Path, folder: Path, depth: int) -> tuple[float, float, int]:
    """Writes a second, WAF, and requests that were never answered, at the end of a long run."""
    short_s, short_pages, _ = run_of_mqsim(program, folder, depth, SHORTER)
    long_s, long_pages, lost = run_of_mqsim(program, folder, depth, LONGER)
    return (LONGER - SHORTER) / (long_s - short_s), (long_pages - short_pages) / (LONGER - SHORTER), lost


def ours(command: str, folder: Path, depth: int) -> tuple[float, float]:
    """Writes a second and WAF of Anabranch's drive, over the last capacity."""
    pages = round(DIES * BLOCKS * PAGES * (1 - MQSIM_SPARE) / 2048) * 2048
    trace, profile, draw = folder / "uniform.u32", folder / "drive.toml", random.Random(1)
    if not trace.exists():
        numbers = array.array("I", range(pages))
        numbers.extend(draw.randrange(pages) for _ in range(LONGER))
        trace.write_bytes(numbers.tobytes())
        profile.write_text(PROFILE)
    told = subprocess.run(
        [command, "replay", trace, "--device", profile, "--size", str(pages * PAGE_BYTES)]
        + ["--over-provisioning", OUR_SPARE, "--scheme", "mixed", "--time", "closed", "--queue-depth", str(depth), "--json"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    scheme = json.loads(told)["schemes"][0]
    rates = [interval["write_iops"] for interval in scheme["time"]["intervals"][:-1]]
    last = rates[-len(rates) // 4 :]
    return sum(last) / len(last), scheme["waf_window"]


def main() -> None:
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    command, published, mended = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    print("depth,MQSim: writes/s,never answered,mended: writes/s,WAF,the network's,of the bound,Anabranch: writes/s,WAF,of the bound")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for depth in DEPTHS:
            rate, _, lost = end_of_mqsim(published, folder, depth)
            mended_rate, waf, mended_lost = end_of_mqsim(mended, folder, depth)
            assert mended_lost == 0
            our_rate, our_waf = ours(command, folder, depth)
            share = mended_rate * work_s(waf, MQSIM_BYTES, MQSIM_BYTES) / DIES
            # A die of ours takes in the next page while it programs one.
            our_share = our_rate * work_s(our_waf, PAGE_BYTES, 0) / DIES
            print(
                f'{depth},"{rate:,.0f}",{lost},"{mended_rate:,.0f}",{waf:.2f},"{closed_network(depth, waf):,.0f}",'
                f'{share:.1%},"{our_rate:,.0f}",{our_waf:.2f},{our_share:.1%}',
                flush=True,
            )


if __name__ == "__main__":
    main()
