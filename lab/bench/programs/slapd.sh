#!/usr/bin/env bash
# drive=256MiB unit=2MiB fill=0.9
# OpenLDAP: people in a directory (MDB) with eight indexes and a log of accesses in a second one, of which the old goes.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
flush_each_second "$1"
mkdir "$1/people" "$1/log"
cat >"$scratch/slapd.conf" <<END
modulepath /usr/lib/ldap
moduleload back_mdb
moduleload accesslog
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/inetorgperson.schema
pidfile $scratch/slapd.pid
threads 4

database mdb
suffix cn=log
rootdn cn=log
directory $1/log
maxsize 268435456
dbnosync
checkpoint 0 1
index default eq
index reqStart,objectClass,entryCSN,reqResult,reqDN

database mdb
suffix dc=example
rootdn cn=root,dc=example
rootpw secret
directory $1/people
maxsize 268435456
dbnosync
checkpoint 0 1
index objectClass,uid,departmentNumber,mail eq
index cn,sn,title,l eq,sub
overlay accesslog
logdb cn=log
logops writes
logpurge 00+00:00:20 00+00:00:05
END
/usr/sbin/slapd -f "$scratch/slapd.conf" -h ldap://127.0.0.1:20389 -d 0 >/dev/null 2>&1 &
children+=($!)
wait_for ldapsearch -x -H ldap://127.0.0.1:20389 -s base
/usr/bin/python3 "$(dirname "$0")/slapd.py" ldap://127.0.0.1:20389
