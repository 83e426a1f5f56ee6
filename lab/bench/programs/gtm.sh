#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# GT.M, a database of hospitals: a b-tree's blocks in place in one file, a journal with what they were, file after file.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
gtm_dist=$(printf '%s\n' /usr/lib/*/fis-gtm/V* | sort -V | tail -n 1)
export gtm_dist gtmgbldir=$scratch/hospital.gld gtm_tmp=$scratch gtm_log=$scratch gtmroutines="$scratch $gtm_dist/libgtmutil.so $gtm_dist"
mkdir "$1/gtm"
cp "$(dirname "$0")/hospital.m" "$scratch"
printf '%s\n' 'change -segment DEFAULT -allocation=5000 -extension=2000 -block_size=4096 -global_buffer_count=2000' \
    "change -segment DEFAULT -file=$1/gtm/hospital.dat" 'change -region DEFAULT -key_size=255 -record_size=8000' exit |
    "$gtm_dist/mumps" -run GDE >/dev/null 2>&1
"$gtm_dist/mupip" create 2>/dev/null
journal=file=$1/gtm/hospital.mjl,autoswitchlimit=16384,allocation=2048,extension=2048,epoch_interval=5
"$gtm_dist/mupip" set -region DEFAULT "-journal=enable,on,before,$journal" 2>/dev/null
# Of the journal's old files one is kept.
(while sleep 1; do find "$1/gtm" -name 'hospital.mjl_*' | sort | head -n -1 | xargs --no-run-if-empty rm -f; done) &
children+=($!)
unshare --ipc bash -c '"$gtm_dist/mumps" -run ward^hospital 1 & "$gtm_dist/mumps" -run ward^hospital 2; wait' >"$scratch/log"
