# Runs one MariaDB server for a test process: executes its commands, and cleans up after it.
#
#   sh -c "$(cat keeper.sh)" keeper MARIADBD MARIADB-INSTALL-DB
#
# Commands and answers are those of PostgreSQL's keeper. The server is a child of this shell, because
# MariaDB has no program that starts and stops it. Its log shows when it accepts connections.

# Only the end of the input ends this shell, never a signal. Writing an answer that nobody reads
# must not end it either.
trap '' HUP INT PIPE TERM

server=$1
installer=$2
dir=$(mktemp -d "${TMPDIR:-/tmp}/idem-mariadb-XXXXXX") || exit
data=$dir/data
pid=
echo "$dir"

# A node of a cluster accepts connections once it has caught up with the others.
serves() {
    grep -q ': ready for connections' "$dir/server.log" || return
    grep -q 'Synchronized with group, ready for connections' "$dir/server.log" ||
        ! grep -q '^wsrep_on = ON' "$dir/my.cnf"
}

start() {
    [ -z "$pid" ] || return
    : >"$dir/server.log"
    (
        trap - HUP INT PIPE TERM
        exec "$server" --defaults-file="$dir/my.cnf" $1 >>"$dir/server.log" 2>&1
    ) &
    pid=$!
    until serves; do
        if ! kill -0 "$pid" 2>/dev/null; then
            wait "$pid"
            pid=
            return 1
        fi
        sleep 0.02
    done
}

stop() {
    [ -n "$pid" ] || return
    kill "-$1" "$pid"
    # The shell requested this end, so the exit status is not an error.
    wait "$pid" || true
    pid=
}

while IFS=' ' read -r verb argument; do
    case $verb in
        initialise)
            # A server removes files that it takes for its own temporary tables.
            TMPDIR=$dir "$installer" --no-defaults --datadir="$data" --skip-test-db --skip-name-resolve \
                --auth-root-authentication-method=normal --innodb-log-file-size=8M ;;
        copy)
            cp -R -p "$argument" "$data" ;;
        start)
            start "$argument" ;;
        stop)
            stop "$argument" ;;
        signal)
            [ -n "$pid" ] && kill "-$argument" "$pid" ;;
        *)
            echo "no such order: $verb" >&2; false ;;
    esac </dev/null >>"$dir/keeper.log" 2>&1
    echo $?
done

stop KILL 2>/dev/null
rm -rf "$dir"
