#!/usr/bin/env bash
# drive=192MiB unit=2MiB fill=0.9
# git: a tree of files changed and committed again and again, packed from time to time.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
cd "$1"
export HOME=$1 GIT_CONFIG_NOSYSTEM=1
git init --quiet tree
cd tree
git config user.name nobody
git config user.email nobody@example.com
git config gc.auto 0
for ((commit = 0; commit < ${EVENTS:-400}; commit++)); do
    for n in 1 2 3 4 5 6; do
        file=part-$((RANDOM % 40))/file-$((RANDOM % 40)).txt
        mkdir -p "${file%/*}"
        head -c $((RANDOM + 2000)) /dev/urandom | base64 >"$file"
    done
    git add .
    git commit --quiet --message "change $commit"
    if ((commit % 50 == 49)); then
        # What was said before is forgotten, as where branches are squashed.
        git checkout --quiet --orphan fresh-$commit
        git commit --quiet --message "squashed at $commit"
        git branch -D master >/dev/null 2>&1 || git branch -D main >/dev/null 2>&1 || true
        git branch -m master
        git reflog expire --expire=now --all
        git gc --quiet --prune=now
    fi
done
