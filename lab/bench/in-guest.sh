# The common part of benches in a Linux guest. Sourced at the repository's root: `program` is $ANABRANCH, or built, released;
# `work` is a directory that goes with the bench; the guest is there.
program=${ANABRANCH:-}
if [ -z "$program" ]; then
    cargo build --quiet --release --package anabranch
    program=${CARGO_TARGET_DIR:-target}/release/anabranch
fi
scripts/guest.sh build
work=$(mktemp -d)
serve='' port=''
# The server writes what it counted as it ends.
trap '[ -z "$serve" ] || { kill "$serve" && wait "$serve"; } 2>/dev/null || true; rm -rf "$work"' EXIT

# Serves a drive with these options until the bench ends, at `port` of loopback.
served() {
    setpriv --pdeathsig TERM "$program" serve --listen 127.0.0.1:0 --output "$work/counters" "$@" >/dev/null 2>"$work/served" &
    serve=$!
    for _ in $(seq 100); do
        port=$(sed -n 's/.* at 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/served" | head -n 1)
        [ -z "$port" ] || return 0
        sleep 0.1
    done
    cat "$work/served" >&2
    return 1
}

# Runs the script `work`/script in the guest, with the program, its libraries and more files.
in_guest() {
    strip -o "$work/anabranch" "$program"
    # shellcheck disable=SC2046 # words
    scripts/guest.sh run -t 3600 "$work/script" "$@" "$work/anabranch" $(ldd "$program" | tr ' \t' '\n\n' | grep '^/') </dev/null
}
