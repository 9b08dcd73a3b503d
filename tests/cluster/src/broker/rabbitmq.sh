# Runs one rabbitmq-server for a test process: executes its commands, and cleans up after it.
#
#   sh -c "$(cat rabbitmq.sh)" rabbitmq DIRECTORY-OF-THE-SCRIPTS
#
# The first line of output is the directory that it has created. A command is one line; the answer is its exit status, one
# line. Server and port mapper (epmd) are this directory's own: node name, ports, cookie.

# As in keeper.sh: only the end of the input ends this shell, never a signal.
trap '' HUP INT PIPE TERM

bin=$1
dir=$(mktemp -d "${TMPDIR:-/tmp}/idem-rabbit-XXXXXX") || exit
pid=
echo "$dir"

# The port mapper is a daemon that the server starts. It refuses to end before it has seen that the server is gone.
end() {
    if [ -n "$pid" ]; then
        kill -KILL "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
        pid=
    fi
    tries=0
    while [ -n "$ERL_EPMD_PORT" ] && [ $tries -lt 50 ] && epmd -port "$ERL_EPMD_PORT" -names >/dev/null 2>&1; do
        epmd -port "$ERL_EPMD_PORT" -kill
        tries=$((tries + 1))
        sleep 0.1
    done
}

while read -r verb port mapper distribution; do
    case $verb in
        start)
            printf 'listeners.tcp.1 = 127.0.0.1:%s\nlog.file.level = warning\n' "$port" >"$dir/rabbitmq.conf"
            echo '[].' >"$dir/plugins"
            export HOME="$dir" ERL_EPMD_PORT="$mapper" ERL_EPMD_ADDRESS=127.0.0.1
            export RABBITMQ_NODENAME="idem-$port@localhost" RABBITMQ_DIST_PORT="$distribution"
            export RABBITMQ_MNESIA_BASE="$dir/data" RABBITMQ_LOG_BASE="$dir" RABBITMQ_LOGS="$dir/server.log"
            export RABBITMQ_CONFIG_FILE="$dir/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$dir/plugins"
            export RABBITMQ_ADVANCED_CONFIG_FILE="$dir/none.config" RABBITMQ_CONF_ENV_FILE="$dir/none.conf"
            # Without it, the server would be a child of its script, and outlive it.
            export RUNNING_UNDER_SYSTEMD=yes
            # One scheduler that does not spin: a server of the tests shares the machine with many.
            export RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="+S 1:1 +sbwt none +sbwtdcpu none +sbwtdio none"
            "$bin/rabbitmq-server" &
            pid=$! ;;
        kill)
            end ;;
        alive)
            [ -n "$(tr -d '\0' <"/proc/$pid/cmdline")" ] ;;
        *)
            echo "no such order: $verb" >&2; false ;;
    esac </dev/null >>"$dir/keeper.log" 2>&1
    echo $?
done

end >/dev/null 2>&1
# The child that the server forks its programs with ends a moment after the server, and may write until then.
tries=0
until rm -rf "$dir" 2>/dev/null || [ $tries -eq 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
