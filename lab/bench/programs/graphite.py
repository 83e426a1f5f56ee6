"""Sends Carbon four hours of values of machines, of which some go and others come: graphite.py HOST PORT FOLDER."""
import random
import shutil
import socket
import sys
import time

MACHINES, METRICS, STEPS, AT_ONCE = 90, 16, 1440, 15
draw = random.Random(1)
# Whisper wants the time of the clock: what is sent here ends now.
begin = int(time.time()) // 10 * 10 - STEPS * 10
machines = list(range(MACHINES))
made = MACHINES
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as carbon:
    for step in range(0, STEPS, AT_ONCE):
        for machine in machines:
            lines = []
            for metric in range(METRICS):
                # Some are asked oftener than others.
                for at in range(step, step + AT_ONCE, 1 + metric % 4):
                    lines.append(f"machine{machine}.metric{metric} {draw.random():.6f} {begin + at * 10}\n")
            carbon.sendall("".join(lines).encode())
        time.sleep(0.8)
        if step % (4 * AT_ONCE) == 0 and step > 0:
            gone = draw.randrange(MACHINES)
            shutil.rmtree(f"{sys.argv[3]}/machine{machines[gone]}", ignore_errors=True)
            machines[gone] = made
            made += 1
