"""Publishes to three queues and a stream, and works the queues off: one at once, one after a while, one in waves."""
import random

import pika

ROUNDS, QUEUES = 1100, ("orders", "mails", "ledger")
draw = random.Random(1)
noise = draw.randbytes(1 << 20)
connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", 25673, heartbeat=0))
channel = connection.channel()
for name in QUEUES:
    channel.queue_declare(name, durable=True, arguments={"x-queue-type": "quorum" if name == "ledger" else "classic"})
channel.queue_declare("events", durable=True, arguments={"x-queue-type": "stream", "x-max-length-bytes": 40 << 20, "x-stream-max-segment-size-bytes": 4 << 20})
waiting = dict.fromkeys(QUEUES, 0)
for number in range(ROUNDS):
    for name, count, middle in (("orders", 30, 8.3), ("mails", 15, 9.5), ("ledger", 15, 8.5), ("events", 20, 8.6)):
        for _ in range(count):
            size = int(min(max(draw.lognormvariate(middle, 0.8), 200), 200_000))
            at = draw.randrange(len(noise) - size)
            channel.basic_publish("", name, noise[at:at + size], pika.BasicProperties(delivery_mode=2))
        if name in waiting:
            waiting[name] += count
    for name, kept in (("orders", 200), ("mails", 2000 if number // 100 % 2 else 200), ("ledger", 1500)):
        last = None
        while waiting[name] > kept:
            last, _, _ = channel.basic_get(name)
            if last is None:
                break
            waiting[name] -= 1
        if last:
            channel.basic_ack(last.delivery_tag, multiple=True)
connection.close()
