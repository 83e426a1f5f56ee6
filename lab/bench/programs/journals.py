"""Entries of a host's services in the journal's export format, on standard output: journals.py HOST; of a higher number, fewer and longer ones. 4 MiB a second."""
import random
import sys
import time

host = int(sys.argv[1])
draw = random.Random(host)
services = [f"service-{draw.randrange(1000)}.service" for _ in range(20)]
clock, written = 1_700_000_000_000_000, 0
while written < (250 << 20) // host:
    clock += draw.randrange(1, 20_000)
    unit = draw.choice(services)
    # Some are the same again and again, few are long: a trace, a request as it came.
    length = 2000 * host if draw.random() < 0.05 else 100 * host
    said = f"request {draw.randrange(1 << 20)} " + draw.randbytes(length // 2).hex() if draw.random() < 0.8 else f"{unit}: done"
    entry = (f"__REALTIME_TIMESTAMP={clock}\n__MONOTONIC_TIMESTAMP={clock - 1_699_999_999_000_000}\n_BOOT_ID={host:032x}\n_HOSTNAME=host{host}\n"
             f"_SYSTEMD_UNIT={unit}\n_PID={draw.randrange(300, 900)}\nPRIORITY={draw.randrange(3, 7)}\nMESSAGE={said}\n\n")
    sys.stdout.write(entry)
    written += len(entry)
    time.sleep(len(entry) / (4 << 20))
