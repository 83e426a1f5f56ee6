"""Mails come into boxes of many, and most of a box is expunged once it is full: mdbox.py CONFIGURATION"""
import imaplib
import os
import random
import subprocess
import sys

USERS, BOXES, WRITTEN, ROOM = 6, 5, 800 << 20, 68 << 20
draw = random.Random(1)
noise = bytes(draw.choices(b"abcdefghijklmnopqrstuvwxyz0123456789+/\n", k=4 << 20))
servers = []
for user in range(USERS):
    os.environ["USER"] = f"u{user}"
    server = imaplib.IMAP4_stream(f"/usr/lib/dovecot/imap -c {sys.argv[1]} -o mail_plugins=")
    for box in range(BOXES):
        server.create(f"box{box}")
    servers.append(server)
written = held = turn = 0
sizes = {}
while written < WRITTEN:
    user, box = draw.randrange(USERS), draw.randrange(BOXES)
    size = int(min(max(draw.lognormvariate(9.2, 1.3), 600), 1 << 20))
    start = draw.randrange(len(noise) - size)
    mail = b"From: a@example.org\r\nSubject: %d\r\n\r\n" % turn + noise[start:start + size].replace(b"\n", b"\r\n")
    answer, text = servers[user].append(f"box{box}", None, None, mail)
    assert answer == "OK", text
    turn += 1
    written += len(mail)
    held += len(mail)
    sizes.setdefault((user, box), []).append(len(mail))
    if held > ROOM:
        # A user clears up: of the three fullest boxes most mails go, whatever their age, and the files are purged.
        cleared = draw.randrange(USERS)
        for box in range(BOXES):
            mails = sizes.get((cleared, box), [])
            gone = sorted(draw.sample(range(len(mails)), int(len(mails) * 0.7)))
            if gone:
                servers[cleared].select(f"box{box}")
                servers[cleared].store(",".join(str(number + 1) for number in gone), "+FLAGS.SILENT", "(\\Deleted)")
                servers[cleared].expunge()
                servers[cleared].unselect()
                held -= sum(mails[number] for number in gone)
                sizes[cleared, box] = [mail for number, mail in enumerate(mails) if number not in set(gone)]
        subprocess.run(["doveadm", "-c", sys.argv[1], "purge"], check=True, env={**os.environ, "USER": f"u{cleared}"})
for server in servers:
    server.logout()
