# Start a service on each rank and, once all of them listen, a master on rank 0; end the services after it.
# Usage: sh services.sh COUNT PORT HOST SERVICE ... -- MASTER ... -- EACH ...
# The words EACH follow those of the master once for each rank. In them and in the service's, %r is the number
# of the rank, and %a its address on the network on which HOST is. The file hosts holds the addresses.
find_rank
work=${0%/*}
count=$1
port=$(printf %04X "$2")
host=$3
shift 3

case $rank in
'' | *[!0-9]*)
    echo "services.sh needs a launcher that gives it a rank, not '$rank'" >&2
    exit 1
    ;;
esac

n_service=0
for word; do
    [ "$word" = -- ] && break
    n_service=$((n_service + 1))
done

listens() { # proc(5): 0A is a TCP socket that listens
    cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ":$port [0-9A-F]*:0000 0A"
}

has() {
    ls "$work" | grep -qx "$1"
}

own_address() { # what this node would send to HOST from
    number=$(getent ahostsv4 "$host" | sed -n '1s/ .*//p')
    found=$(ip -4 route get "${number:-$host}" 2>/dev/null | sed -n 's/.* src \([0-9.]*\).*/\1/p')
    echo "${found:-$(hostname)}"
}

fill() { # WORD ADDRESS RANK
    printf %s "$1" | sed "s/%a/$2/g; s/%r/$3/g"
}

serve() { # SERVICE ... -- ...
    index=0
    for word; do
        shift
        [ "$index" -ge "$n_service" ] || set -- "$@" "$(fill "$word" "$address" "$rank")"
        index=$((index + 1))
    done
    "$@" >"$work/service.$rank.out" 2>&1 &
    service=$!
    trap 'kill "$service" 2>/dev/null; wait "$service"' EXIT
    until listens; do
        sleep 0.05
        if ! kill -0 "$service" 2>/dev/null; then
            trap - EXIT
            : >"$work/failed"
            echo "the service of rank $rank ended before it listened:" >&2
            cat "$work/service.$rank.out" >&2
            exit 1
        fi
    done
    echo "$address" >"$work/.address.$rank"
    mv "$work/.address.$rank" "$work/address.$rank"
}

command_all() { # MASTER ... -- EACH ...
    n_words=$#
    n_master=0
    for word; do
        [ "$word" = -- ] && break
        n_master=$((n_master + 1))
    done
    index=0
    for word; do
        [ "$index" -ge "$n_master" ] || set -- "$@" "$word"
        index=$((index + 1))
    done
    member=0
    while [ "$member" -lt "$count" ]; do
        address=$(cat "$work/address.$member")
        echo "$address" >>"$work/hosts"
        index=0
        for word; do
            if [ "$index" -gt "$n_master" ] && [ "$index" -lt "$n_words" ]; then
                set -- "$@" "$(fill "$word" "$address" "$member")"
            fi
            index=$((index + 1))
        done
        member=$((member + 1))
    done
    shift "$n_words"
    "$@"
}

address=$(own_address)
serve "$@"
if [ "$rank" -ne 0 ]; then
    until has done; do
        has failed && exit 1
        sleep 0.1
    done
    exit 0
fi
until [ "$(ls "$work" | grep -c '^address')" -eq "$count" ]; do
    has failed && exit 1
    sleep 0.1
done
shift $((n_service + 1))
command_all "$@"
status=$?
: >"$work/done"
[ "$status" -ne 255 ] || status=1 # by 255, ssh means that it could not reach the host
exit "$status"
