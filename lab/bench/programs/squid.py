"""A server of pages and pictures, and four clients that ask for them by way of a proxy at port 23128, some again and again: squid.py [MIB]."""
import http.client
import random
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGES, FETCHED = 200_000, int(*sys.argv[1:] or [1400]) << 20
noise = random.Random(1).randbytes(8 << 20)


class Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        draw = random.Random(self.path)
        size = int(min(max(draw.lognormvariate(10.5, 1.4), 300), 4 << 20))
        start = draw.randrange(len(noise) - size)
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.send_header("Cache-Control", "max-age=86400")
        self.end_headers()
        self.wfile.write(noise[start:start + size])

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 28080), Pages)
threading.Thread(target=server.serve_forever, daemon=True).start()
fetched = 0


def client(number):
    global fetched
    draw = random.Random(number)
    proxy = http.client.HTTPConnection("127.0.0.1", 23128)
    while fetched < FETCHED:
        page = int(PAGES * draw.random() ** 2.5)
        proxy.request("GET", f"http://127.0.0.1:28080/{page}", headers={"Host": "127.0.0.1:28080"})
        try:
            fetched += len(proxy.getresponse().read())
        except http.client.HTTPException:
            # nginx ends connections now and then; the next request begins another one.
            proxy.close()


clients = [threading.Thread(target=client, args=(number,)) for number in range(4)]
for each in clients:
    each.start()
for each in clients:
    each.join()
