# Where PostgreSQL's programs lie (the newest that is installed), and who runs them: it refuses root.
bin=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
# As in ../server.sh.
trap 'exit 130' INT
# Its shared memory would outlive a server that is killed; a namespace of its own does not.
as_postgres=(unshare --ipc setpriv --reuid=postgres --regid=postgres --init-groups)
