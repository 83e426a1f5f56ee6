"""Publishes in batches to streams of different limits, works off a queue, sets keys."""
import asyncio
import random

import nats
from nats.js.api import RetentionPolicy, StorageType, StreamConfig

ROUNDS = 900


async def main():
    draw = random.Random(1)
    noise = draw.randbytes(1 << 20)
    connection = await nats.connect("nats://127.0.0.1:24222")
    stream = connection.jetstream(timeout=30)

    async def add(name, **limits):
        await stream.add_stream(StreamConfig(name=name, subjects=[name + ".*"], storage=StorageType.FILE, **limits))

    await add("audit", max_bytes=36 << 20)
    await add("telemetry", max_bytes=24 << 20)
    await add("orders", retention=RetentionPolicy.WORK_QUEUE)
    await add("state", max_msgs_per_subject=1)
    worker = await stream.pull_subscribe("orders.*", "worker")
    size = {"audit": 9000, "telemetry": 16000, "orders": 10000, "state": 12000}
    for number in range(ROUNDS):
        batch = []
        for name, count in (("audit", 100), ("telemetry", 100), ("orders", 50), ("state", 40)):
            for _ in range(count):
                at = draw.randrange(len(noise) - 32_000)
                key = int(draw.random() ** 2 * 1500)
                batch.append(stream.publish(f"{name}.{key}", noise[at:at + draw.randrange(size[name] * 2)]))
        await asyncio.gather(*batch)
        # The queue grows for a while, then it is worked off.
        if number // 40 % 2:
            for _ in range(2):
                try:
                    for message in await worker.fetch(50, timeout=1):
                        await message.ack()
                except asyncio.TimeoutError:
                    break
    await connection.close()


asyncio.run(main())
