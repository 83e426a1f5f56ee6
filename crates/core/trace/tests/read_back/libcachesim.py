"""Prints the requests that libCacheSim reads of a trace: time, object, bytes, operation.

Use: libcachesim.py FORM FILE. The last line of standard output is JSON.
"""

import json
import sys

# The script's own name must not hide the package.
sys.path.pop(0)

try:
    import libcachesim
except ImportError as error:
    sys.exit(f"{sys.executable}: {error}; `scripts/setup.sh test` installs it into target/venv")

# Columns, counted from 1: time, object, size, operation.
COLUMNS = {
    "alibaba": (5, 3, 4, 2),
    "msr": (1, 5, 6, 4),
    "spc": (5, 2, 3, 4),
    "csv": (1, 3, 4, 2),
}


def reader(form, path):
    parameters = libcachesim.ReaderInitParam(
        has_header=form == "csv",
        has_header_set=True,
        ignore_size_zero_req=False,
    )
    if form not in COLUMNS:
        kind = libcachesim.TraceType.ORACLE_GENERAL_TRACE
    else:
        kind = libcachesim.TraceType.CSV_TRACE
        (
            parameters.time_field,
            parameters.obj_id_field,
            parameters.obj_size_field,
            parameters.op_field,
        ) = COLUMNS[form]
    return libcachesim.TraceReader(path, kind, parameters)


form, path = sys.argv[1:]
requests = [
    (one.clock_time, one.obj_id, one.obj_size, one.op.name.removeprefix("OP_"))
    for one in reader(form, path)
]
print()
print(json.dumps(requests))
