# Runs one PgBouncer for a test process: executes its commands, and cleans up after it.
#
#   sh -c "$(cat bouncer.sh)" bouncer PROGRAM
#
# The first line of output is the directory that it has created; the configuration is `pgbouncer.ini`
# in it. A command is one line; the answer is its exit status, one line.

# As in keeper.sh: only the end of the input ends this shell, never a signal.
trap '' HUP INT PIPE TERM

program=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/idem-bouncer-XXXXXX") || exit
pid=
echo "$dir"

while read -r verb; do
    case $verb in
        start)
            # Its log goes to standard error too, hence to the file.
            "$program" -q "$dir/pgbouncer.ini" &
            pid=$! ;;
        alive)
            # A child that has ended stays in /proc until it is waited for, but without a command line.
            [ -n "$(tr -d '\0' <"/proc/$pid/cmdline")" ] ;;
        *)
            echo "no such order: $verb" >&2; false ;;
    esac </dev/null >>"$dir/keeper.log" 2>&1
    echo $?
done

if [ -n "$pid" ]; then
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
fi
rm -rf "$dir"
