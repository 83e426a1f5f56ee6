# Runs in the guest, behind the prelude of its tests (PORT and NQN are set): records the telephone, and prints the trace.
export LD_LIBRARY_PATH=/job ROWS ROUNDS PICTURES SMALL
# Nobody asks for hints here, and a look at every system call is where events are lost on a slow machine: --no-hints. What
# the requests carry is seen all the same.
connect
section recorded ./anabranch record --no-hints --device /dev/nvme0n1 -o /tmp/t.parquet -- sh ./phone.sh /dev/nvme0n1
section trace base64 /tmp/t.parquet
disconnect
