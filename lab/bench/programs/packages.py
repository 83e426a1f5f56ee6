#!/usr/bin/env python3
# drive=280MiB unit=4MiB
"""Upgrades of a distribution by dpkg: each round some packages in a newer version are unpacked beside the old files, synced, renamed over
them, and the old files deleted; the archives come into a cache first and go after it; now and then a package is removed, another installed."""
import os
import random
import subprocess
import sys
import tempfile

PACKAGES, FILES, WRITTEN = 60, 70, 1_400 << 20
draw = random.Random(1)
noise = draw.randbytes(8 << 20)
root = sys.argv[1]
cache = root + "/var/cache/apt/archives"
for folder in ("var/lib/dpkg/updates", "var/lib/dpkg/info", "var/log", cache[len(root) + 1:]):
    os.makedirs(f"{root}/{folder}")
for name in ("status", "available"):
    open(f"{root}/var/lib/dpkg/{name}", "w").close()
sizes = [[int(min(max(draw.lognormvariate(9.3, 1.6), 200), 6 << 20)) for _ in range(draw.randrange(5, 2 * FILES))] for _ in range(PACKAGES)]
scratch = tempfile.TemporaryDirectory()


def build(package, version):
    """An archive without compression, made off the drive and fetched into the cache."""
    tree = f"{scratch.name}/{package}-{version}"
    os.makedirs(tree + "/DEBIAN")
    os.makedirs(f"{tree}/usr/lib/p{package}")
    os.makedirs(f"{tree}/usr/share/p{package}")
    with open(tree + "/DEBIAN/control", "w") as control:
        control.write(f"Package: p{package}\nVersion: {version}\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: a\n")
    for number, size in enumerate(sizes[package]):
        with open(f"{tree}/usr/{'lib' if number % 3 else 'share'}/p{package}/{number}", "wb") as file:
            start = draw.randrange(len(noise) - size)
            file.write(noise[start:start + size])
    archive = f"{scratch.name}/p{package}_{version}.deb"
    subprocess.run(["dpkg-deb", "-Znone", "--build", tree, archive], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["rm", "-r", tree], check=True)
    subprocess.run(["cp", archive, cache], check=True)
    os.unlink(archive)
    return f"{cache}/p{package}_{version}.deb"


def dpkg(*arguments):
    subprocess.run(["dpkg", f"--root={root}", f"--log={root}/var/log/dpkg.log", "--force-not-root", *arguments], check=True, stdout=subprocess.DEVNULL)


installed = set()
version = written = 0
while written < WRITTEN:
    version += 1
    wanted = range(PACKAGES) if version == 1 else draw.sample(range(PACKAGES), draw.randrange(1, 9))
    for chunk in (wanted[at:at + 10] for at in range(0, len(wanted), 10)):
        archives = [build(package, version) for package in chunk]
        dpkg("--install", *archives)
        for archive in archives:
            written += 2 * os.path.getsize(archive)
            os.unlink(archive)
    installed.update(wanted)
    if version % 4 == 0:
        gone = draw.choice(sorted(installed))
        dpkg("--purge", f"p{gone}")
        installed.remove(gone)
    os.sync()
