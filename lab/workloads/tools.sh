#!/usr/bin/env bash
# Fetches and builds what the scenarios need and the distribution has not, into target/workloads:
# go-tpc by its Go module, Cassandra and its stress tool by their Maven artifacts. Versions are
# pinned, contents are held against go.sum and files.sha256. `scripts/setup.sh workloads` runs this.
set -euo pipefail
cd "$(dirname "$0")"
tools=$PWD/../../target/workloads
mkdir -p "$tools"

go_tpc() {
    [ -x "$tools/go-tpc" ] && return
    echo "setup: building go-tpc" >&2
    (cd mariadb-tpcc/go-tpc && go build -mod=readonly -trimpath -buildvcs=false -o "$tools/go-tpc" github.com/pingcap/go-tpc/cmd/go-tpc)
}

cassandra() {
    [ -e "$tools/cassandra/stress/tools/lib/stress.jar" ] && return
    echo "setup: fetching Cassandra" >&2
    local here=$PWD new=$tools/cassandra.new
    local stress=org.apache.cassandra:apache-cassandra:4.0-alpha2:tar.gz:bin
    rm -rf "$new" && mkdir "$new"
    (
        cd "$new"
        cp "$here/cassandra/pom.xml" .
        mvn -q -B -C dependency:copy-dependencies -DoutputDirectory=lib
        mvn -q -B -C dependency:get -Dartifact=$stress -Dtransitive=false
        mvn -q -B -C dependency:copy -Dartifact=$stress -DoutputDirectory=.
        sha256sum --quiet -c "$here/cassandra/files.sha256"
        mkdir stress
        tar -xzf apache-cassandra-4.0-alpha2-bin.tar.gz --strip-components=1 -C stress
        rm apache-cassandra-4.0-alpha2-bin.tar.gz
    )
    rm -rf "$tools/cassandra" && mv "$new" "$tools/cassandra"
}

go_tpc
cassandra
