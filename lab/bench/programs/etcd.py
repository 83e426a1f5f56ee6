"""Keys of an etcd overwritten at random, with values of 1 to 8 KiB, and old revisions compacted now and then."""

import base64
import json
import random
import sys
import urllib.request

KEYS = 8000
PUTS_PER_TRANSACTION = 16
TRANSACTIONS_PER_COMPACTION = 60
VALUE_BYTES = (1024, 2048, 4096, 8192)


def call(url, method, **body):
    request = urllib.request.Request(f"{url}/v3/kv/{method}", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def put(draw, number):
    key = b"/registry/%06d" % number
    value = draw.randbytes(draw.choice(VALUE_BYTES))
    return {"requestPut": {"key": base64.b64encode(key).decode(), "value": base64.b64encode(value).decode()}}


def main(url, transactions):
    draw = random.Random(7)
    for number in range(1, transactions + 1):
        # A transaction may name a key once.
        puts = [put(draw, key) for key in draw.sample(range(KEYS), PUTS_PER_TRANSACTION)]
        answer = call(url, "txn", success=puts)
        if number % TRANSACTIONS_PER_COMPACTION == 0:
            call(url, "compaction", revision=answer["header"]["revision"])


main(sys.argv[1], int(sys.argv[2]))
