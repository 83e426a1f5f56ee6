"""Adds people to a directory, then changes, moves, deletes and adds them again: slapd.py URL."""
import random
import sys
import time

import ldap
import ldap.modlist

PEOPLE, CHANGES, AT_ONCE = 7000, 5000, 20
draw = random.Random(1)
words = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randrange(4, 12))) for _ in range(5000)]


def some(count):
    return " ".join(draw.choices(words, k=count)).encode()


def person(number):
    return {
        "objectClass": [b"inetOrgPerson"], "uid": [b"u%d" % number], "cn": [some(2)], "sn": [some(1)], "title": [some(2)], "l": [some(1)],
        "departmentNumber": [b"%d" % draw.randrange(200)], "mail": [b"%d@%s.example" % (number, some(1))], "description": [some(60)],
        "jpegPhoto": [draw.randbytes(int(min(draw.lognormvariate(7.5, 0.8), 20_000)))],
    }


directory = ldap.initialize(sys.argv[1])
directory.simple_bind_s("cn=root,dc=example", "secret")
directory.add_s("dc=example", [("objectClass", [b"dcObject", b"organization"]), ("dc", [b"example"]), ("o", [b"example"])])
there, asked = set(), []
for step in range(PEOPLE + CHANGES):
    number = step if step < PEOPLE else int(PEOPLE * draw.random() ** 1.5)
    name = f"uid=u{number},dc=example"
    if number not in there:
        asked.append(directory.add(name, ldap.modlist.addModlist(person(number))))
        there.add(number)
    elif draw.random() < 0.15:
        asked.append(directory.delete(name))
        there.remove(number)
    else:
        new = person(number)
        asked.append(directory.modify(name, [(ldap.MOD_REPLACE, field, new[field]) for field in draw.sample(("cn", "title", "l", "mail", "description", "jpegPhoto"), 2)]))
    if len(asked) == AT_ONCE or step == PEOPLE + CHANGES - 1:
        for one in asked:
            try:
                directory.result(one)
            except (ldap.NO_SUCH_OBJECT, ldap.ALREADY_EXISTS):
                # Two changes of one person overtook one another.
                pass
        asked.clear()
        time.sleep(0.12)
