"""Commands for Groonga: messages of common and rare words loaded, loaded anew, deleted; their words have an index."""
import json
import random
import time

MESSAGES, CHANGES, BATCH = 20_000, 90_000, 100
draw = random.Random(1)
words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randrange(3, 11))) for _ in range(30_000)]
print("table_create Messages TABLE_HASH_KEY ShortText")
for column, kind in (("sender", "ShortText"), ("title", "ShortText"), ("body", "Text"), ("sent", "Time"), ("read", "UInt32")):
    print(f"column_create Messages {column} COLUMN_SCALAR {kind}")
print("table_create Words TABLE_PAT_KEY ShortText --default_tokenizer TokenBigram --normalizer NormalizerAuto")
print("column_create Words title COLUMN_INDEX|WITH_POSITION Messages title")
print("column_create Words body COLUMN_INDEX|WITH_POSITION Messages body")


def text(middle):
    return " ".join(words[int(len(words) * draw.random() ** 3)] for _ in range(int(min(max(draw.lognormvariate(middle, 0.8), 2), 600))))


for step in range(0, MESSAGES + CHANGES, BATCH):
    rows = []
    for at in range(step, step + BATCH):
        message = at if at < MESSAGES else int(MESSAGES * draw.random() ** 1.6)
        if at >= MESSAGES and draw.random() < 0.15:
            print(f"delete Messages --key m{message}")
        elif at >= MESSAGES and draw.random() < 0.3:
            rows.append({"_key": f"m{message}", "read": at})
        else:
            rows.append({"_key": f"m{message}", "sender": text(1), "title": text(2), "body": text(4.2), "sent": at, "read": 0})
    print("load --table Messages --values", "'" + json.dumps(rows) + "'", flush=True)
    time.sleep(0.05)
