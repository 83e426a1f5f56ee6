# Instructions of requests in the guest. Each takes a nanosecond here, and the one processor is never idle: what is not the
# spinner's turns is work. Who uses this says what `load COUNT DEVICE` is.
look() { /job/spin read /tmp/turns; }
# Starts the spinner and tells how long one of its turns takes.
calibrate() {
    /job/spin count /tmp/turns &
    sleep 1
    # shellcheck disable=SC2046 # words
    set -- $(look); from_ns=$1; from=$2
    sleep 2
    # shellcheck disable=SC2046 # words
    set -- $(look)
    turn=$(awk "BEGIN { print ($1 - $from_ns) / ($2 - $from) }")
    echo "@turn $turn"
}
# Instructions of each of COUNT requests: name, COUNT, device. It is the difference of two lengths of the same load, so what
# begins and ends it is not counted.
count() {
    load "$(($2 / 4))" "$3"
    # shellcheck disable=SC2046 # words
    set -- "$1" "$2" "$3" $(look)
    load "$2" "$3"
    # shellcheck disable=SC2046 # words
    set -- "$@" $(look)
    load "$(($2 / 4))" "$3"
    # shellcheck disable=SC2046 # words
    set -- "$@" $(look)
    awk "BEGIN { turn = $turn; long = $6 - $4 - ($7 - $5) * turn; short = $8 - $6 - ($9 - $7) * turn
        printf \"@cost $1 %.0f\n\", (long - short) / ($2 - int($2 / 4)) }"
}
