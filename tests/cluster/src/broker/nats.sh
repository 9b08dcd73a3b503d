# Runs one nats-server for a test process: executes its commands, and cleans up after it.
#
#   sh -c "$(cat nats.sh)" nats PROGRAM
#
# The first line of output is the directory that it has created. A command is one line; the answer is its exit status, one
# line.

# As in keeper.sh: only the end of the input ends this shell, never a signal.
trap '' HUP INT PIPE TERM

program=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/idem-nats-XXXXXX") || exit
pid=
echo "$dir"

end() {
    if [ -n "$pid" ]; then
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        pid=
    fi
}

while read -r verb port; do
    case $verb in
        start)
            "$program" -js -a 127.0.0.1 -p "$port" -sd "$dir/data" -l "$dir/server.log" &
            pid=$! ;;
        kill)
            end ;;
        alive)
            # A child that has ended stays in /proc until it is waited for, but without a command line.
            [ -n "$(tr -d '\0' <"/proc/$pid/cmdline")" ] ;;
        *)
            echo "no such order: $verb" >&2; false ;;
    esac </dev/null >>"$dir/keeper.log" 2>&1
    echo $?
done

end
rm -rf "$dir"
