"""Events of 250 machines in time's order; some come late; the oldest hours go."""
import json
import random
import urllib.parse
import urllib.request

SERVER, HOURS, KEPT, STEPS = "http://127.0.0.1:28086", 90, 13, 12
draw = random.Random(1)
noise = draw.randbytes(1 << 19).hex()


def ask(words):
    body = urllib.parse.urlencode({"q": words}).encode()
    return json.load(urllib.request.urlopen(SERVER + "/query", body))


ask('create database points with duration 0s shard duration 1h name "hour"')
begin = 1_700_000_000 // 3600 * 3600
for hour in range(HOURS):
    for step in range(STEPS):
        lines = []
        for series in range(250):
            for second in range(0, 300, 60):
                late = 3600 if draw.random() < 0.02 else 0
                at = draw.randrange(len(noise) - 400)
                lines.append(f'events,host=h{series} load={draw.random()},trace="{noise[at:at + 120]}",words="{noise[at + 150:at + 270]}"'
                             f" {begin + hour * 3600 + step * 300 + second - late}")
        urllib.request.urlopen(SERVER + "/write?db=points&precision=s", "\n".join(lines).encode())
    shards = [row for one in ask("show shards")["results"][0]["series"] for row in one.get("values", []) if row[1] == "points"]
    for row in sorted(shards, key=lambda row: row[4])[:-KEPT]:
        ask(f"drop shard {row[0]}")
