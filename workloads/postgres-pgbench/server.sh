# Where PostgreSQL's programs lie (the newest that is installed), and who runs them: it refuses root.
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
