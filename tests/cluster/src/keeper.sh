# Runs one PostgreSQL server for a test process: executes its commands, and cleans up after it.
#
#   sh -c "$(cat keeper.sh)" keeper DIRECTORY-OF-INITDB
#
# The first line of output is the directory that it has created. A command is one line, a verb and at
# most one argument; the answer is its exit status, one line. This shell executes commands one after
# another, so that no start can be in progress when the pipe closes: every server that was started is
# removed.

# Only the end of the input ends this shell, never a signal. Writing an answer that nobody reads
# must not end it either.
trap '' HUP INT PIPE TERM

bin=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/idem-pg-XXXXXX") || exit
data=$dir/data
echo "$dir"

control() {
    "$bin/pg_ctl" -D "$data" -s -w "$@"
}

while IFS=' ' read -r verb argument; do
    case $verb in
        initialise)
            "$bin/initdb" -D "$data" -U postgres -A trust -E UTF8 --no-locale --no-sync ;;
        copy)
            cp -R -p "$argument" "$data" ;;
        follow)
            "$bin/pg_basebackup" -D "$data" -d "$argument" -R -X stream -c fast --no-sync ;;
        start)
            control -l "$dir/server.log" start ;;
        stop)
            control -m "$argument" stop ;;
        promote)
            control promote ;;
        *)
            echo "no such order: $verb" >&2; false ;;
    esac </dev/null >>"$dir/keeper.log" 2>&1
    echo $?
done

if [ -f "$data/postmaster.pid" ]; then
    control -m immediate stop
fi
rm -rf "$dir"
