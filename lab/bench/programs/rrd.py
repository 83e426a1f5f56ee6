"""Commands for rrdtool: files made, then visited in turn, a few minutes of values each time."""
import random
import sys

FILES, VISITS, BEGIN = 330, 110, 1_700_000_000
draw = random.Random(1)
fields = " ".join(f"DS:f{field}:GAUGE:120:U:U" for field in range(8))
archives = " ".join(f"RRA:AVERAGE:0.5:{each}:{rows}" for each, rows in ((1, 2880), (5, 1440), (30, 700)))
for file in range(FILES):
    print(f"create {sys.argv[1]}/{file}.rrd --start {BEGIN} --step 10 {fields} {archives}")
for visit in range(VISITS):
    for file in draw.sample(range(FILES), FILES * 2 // 3):
        times = (BEGIN + visit * 600 + step * 10 for step in range(1, 61))
        print(f"update {sys.argv[1]}/{file}.rrd", *(f"{at}:" + ":".join(f"{draw.random():.6f}" for _ in range(8)) for at in times))
