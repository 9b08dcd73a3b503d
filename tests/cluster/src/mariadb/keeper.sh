# Keeps one MariaDB server for a test process: carries out its orders, and cleans up after it.
#
#   sh -c "$(cat keeper.sh)" keeper MARIADBD MARIADB-INSTALL-DB
#
# Orders and answers are those of PostgreSQL's keeper. The server is a child of this shell and has
# no program of its own to be started and stopped by; that it serves is read from its log.

# The last order reaches the shell as the end of its input, never as a signal; an answer that
# nobody is left to read must not end it either.
trap '' HUP INT PIPE TERM

server=$1
installer=$2
dir=$(mktemp -d "${TMPDIR:-/tmp}/idem-mariadb-XXXXXX") || exit
data=$dir/data
pid=
echo "$dir"

# A node of a cluster serves once it has caught up with the others.
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
    # How it ended is what was asked for.
    wait "$pid" || true
    pid=
}

while IFS=' ' read -r verb argument; do
    case $verb in
        initialise)
            # A server removes whatever it takes for temporary tables of its own.
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
