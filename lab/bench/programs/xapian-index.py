#!/usr/bin/python3
# drive=192MiB unit=2MiB fill=0.9
"""Xapian, a search engine's b-trees written aside: documents of common and rare words, replaced again and again, a commit every few hundred."""
import random
import sys

import xapian

DOCUMENTS, CHANGES, WORDS = 18_000, 26_000, 60
draw = random.Random(1)
database = xapian.WritableDatabase(sys.argv[1] + "/index", xapian.DB_CREATE)
for step in range(DOCUMENTS + CHANGES):
    number = step if step < DOCUMENTS else draw.randrange(DOCUMENTS)
    document = xapian.Document()
    for position in range(WORDS):
        document.add_posting(f"w{int(draw.paretovariate(0.6)) % 200_000}", position)
    document.set_data(draw.randbytes(2500))
    document.add_boolean_term(f"Q{number}")
    database.replace_document(f"Q{number}", document)
    if step % 400 == 399:
        database.commit()
database.close()
