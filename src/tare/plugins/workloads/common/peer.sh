# Start a server on rank 0 and, once it listens, a client on rank 1; end the server when the client has ended.
# Usage: sh peer.sh PROTOCOL:PORT SERVER ... -- CLIENT ...
find_rank
work=${0%/*}
protocol=${1%%:*}
port=$(printf %04X "${1##*:}")
shift

n_server=0
for word; do
    [ "$word" = -- ] && break
    n_server=$((n_server + 1))
done

listens() { # proc(5): 0A is a TCP socket that listens, 07 an open UDP socket
    cat "/proc/net/$protocol" "/proc/net/${protocol}6" 2>/dev/null | grep -q ":$port [0-9A-F]*:0000 0[7A]"
}

serve() {
    "$@" >"$work/server.out" 2>&1 &
    server=$!
    trap 'kill "$server" 2>/dev/null; wait "$server"' EXIT
    until listens; do
        sleep 0.05
        if ! kill -0 "$server" 2>/dev/null; then
            trap - EXIT
            : >"$work/failed"
            echo "the server ended before it listened:" >&2
            cat "$work/server.out" >&2
            exit 1
        fi
    done
    : >"$work/ready"
    until ls "$work" | grep -qx done; do sleep 0.1; done
}

case $rank in
0)
    n_client=$(($# - n_server))
    while [ "$n_server" -gt 0 ]; do # move the server's words behind the client's
        set -- "$@" "$1"
        shift
        n_server=$((n_server - 1))
    done
    shift "$n_client"
    serve "$@"
    ;;
1)
    shift $((n_server + 1))
    until ls "$work" | grep -qx ready; do
        ls "$work" | grep -qx failed && exit 1
        sleep 0.1
    done
    for word; do
        case $word in
        numeric:*) word=$(getent ahostsv4 "${word#*:}" | sed -n '1s/ .*//p') ;;
        esac
        set -- "$@" "$word"
        shift
    done
    "$@"
    status=$?
    : >"$work/done"
    [ "$status" -ne 255 ] || status=1 # by 255, ssh means that it could not reach the host
    exit "$status"
    ;;
*)
    echo "peer.sh needs a launcher that gives it rank 0 or 1, not rank '$rank'" >&2
    exit 1
    ;;
esac
