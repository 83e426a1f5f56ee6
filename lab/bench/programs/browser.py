"""Lets Chromium wander through a site: browser.py PROFILE SCRATCH. Each page has pictures and a script that keeps things (IndexedDB, localStorage, cookies, a cache of its own)
and goes on to the next; the browser is closed and started again at times."""
import os
import random
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SESSIONS, SECONDS, PICTURES = 5, 28, 30_000
noise = random.Random(1).randbytes(4 << 20)
PAGE = """<!doctype html><title>Page %(page)d</title><body>%(pictures)s<script>
localStorage["seen" + %(page)d %% 200] = "x".repeat(2000) + Math.random();
document.cookie = "c" + %(page)d %% 100 + "=" + Math.random() + "; max-age=100000";
const open = indexedDB.open("articles", 1);
open.onupgradeneeded = () => open.result.createObjectStore("bodies");
open.onsuccess = () => {
  const change = open.result.transaction("bodies", "readwrite"), bodies = change.objectStore("bodies");
  for (let i = 0; i < 10; i++) bodies.put(crypto.getRandomValues(new Uint8Array(20000)), Math.floor(Math.random() * 300));
};
caches.open("offline").then(async cache => {
  for (let i = 0; i < 3; i++) await cache.put("/offline/" + Math.floor(Math.random() * 200), new Response(crypto.getRandomValues(new Uint8Array(30000))));
});
setTimeout(() => location.href = "/page/" + Math.floor(Math.random() * 5000), 150);
</script>"""


class Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        draw = random.Random(self.path)
        if self.path.startswith("/page/"):
            page = int(self.path.rpartition("/")[2])
            shown = {"page": page, "pictures": "".join(f'<img src="/picture/{int(PICTURES * draw.random() ** 2)}">' for _ in range(15))}
            kind, body = "text/html", (PAGE % shown).encode()
        else:
            size = int(min(max(draw.lognormvariate(9.8, 1.0), 500), 2 << 20))
            start = draw.randrange(len(noise) - size)
            kind, body = "image/png", noise[start:start + size]
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store" if kind == "text/html" else "max-age=86400")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 28080), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
for session in range(SESSIONS):
    browser = subprocess.Popen(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
         "--no-first-run", f"--disk-cache-size={56 << 20}", f"--user-data-dir={sys.argv[1]}", f"http://127.0.0.1:28080/page/{session}"],
        env=os.environ | {"HOME": sys.argv[2], "TMPDIR": sys.argv[2]}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(SECONDS)
    browser.terminate()
    browser.wait()
