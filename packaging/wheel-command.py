"""Puts the command into a wheel, so that `pip install` brings it, too: packaging/wheel-command.py WHEEL BINARY DIR."""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path


def row(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def main() -> None:
    wheel, binary, directory = map(Path, sys.argv[1:])
    distribution = "-".join(wheel.name.split("-")[:2])
    command = zipfile.ZipInfo(f"{distribution}.data/scripts/anabranch")
    command.external_attr = 0o100755 << 16
    command.compress_type = zipfile.ZIP_DEFLATED
    data = binary.read_bytes()
    record = f"{distribution}.dist-info/RECORD"
    with (
        zipfile.ZipFile(wheel) as old,
        zipfile.ZipFile(directory / wheel.name, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in old.infolist():
            if entry.filename != record:
                new.writestr(entry, old.read(entry))
        new.writestr(command, data)
        # The list of contents comes last.
        new.writestr(old.getinfo(record), old.read(record).decode() + row(command.filename, data))


main()
