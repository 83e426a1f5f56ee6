#!/usr/bin/env bash
# Fetches and builds what the programs need and the distribution has not, into target/programs, with pinned versions.
# `scripts/setup.sh programs` runs this.
set -euo pipefail
cd "$(dirname "$0")"
tools=$PWD/../../../target/programs
mkdir -p "$tools/go"
if ! cmp -s python.txt "$tools/venv/python.txt"; then
    python3 -m venv "$tools/venv"
    "$tools/venv/bin/pip" install --quiet --requirement python.txt
    cp python.txt "$tools/venv/"
fi
(cd go && go build -mod=readonly -trimpath -buildvcs=false -o "$tools/go/stores" .)
(cd prometheus && go build -mod=readonly -trimpath -buildvcs=false -o "$tools/go/prometheus" .)
cargo build --quiet --release --locked --manifest-path rust/Cargo.toml --target-dir "$tools/rust"
if ! cmp -s java/pom.xml "$tools/java/pom.xml"; then
    mkdir -p "$tools/java"
    mvn -q -B -C -f java/pom.xml dependency:copy-dependencies -DoutputDirectory="$tools/java/jars"
    cp java/pom.xml "$tools/java/"
fi
