"""Sets of a skewed choice of keys over one connection; some items live a minute at most."""
import random
import socket

KEYS, OPERATIONS = 90_000, 420_000
draw = random.Random(1)
noise = draw.randbytes(1 << 20)
server = socket.create_connection(("127.0.0.1", 21211))
answers = server.makefile("rb")
for begin in range(0, OPERATIONS, 100):
    lines = []
    for _ in range(100):
        size, at = draw.choice((500, 2000, 4000, 12000)), draw.randrange(1 << 19)
        key = int(draw.random() ** 2 * KEYS)
        ttl = 30 if key % 4 == 0 else 0
        lines.append(b"set key-%d 0 %d %d\r\n%s\r\n" % (key, ttl, size, noise[at:at + size]))
    server.sendall(b"".join(lines))
    for _ in lines:
        answers.readline()
server.sendall(b"stats\r\n")
for line in answers:
    if b"extstore" in line:
        print(line.decode().strip())
    if line == b"END\r\n":
        break
