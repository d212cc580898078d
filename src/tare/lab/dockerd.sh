#!/bin/sh
# Start Docker's daemon on this host of a lab, unless it runs, and give it images: dockerd.sh FOLDER [NAME=ROOTFS]…
# What it keeps lies in tmpfs that only this host sees, so that it ends with the lab.
set -u
home=$1
shift
DOCKER_HOST=unix://$home/s
export DOCKER_HOST

fail() {
    printf '%s\n' "$1" >&2
    exit 1
}

start() {
    mkdir -p "$home" && mount -t tmpfs -o mode=700 docker "$home" || fail "cannot mount over $home"
    # Where it and containerd keep sockets and keys, whatever they are told.
    for kept in /run/containerd /run/docker /etc/docker; do
        mkdir -p "$kept" && mount -t tmpfs -o mode=711 docker "$kept" || fail "cannot mount over $kept"
    done
    # No bridge and no rules of iptables: containers have the host's network. The driver of images is its own choice.
    setsid dockerd --data-root "$home/data" --exec-root "$home/x" --host "$DOCKER_HOST" --pidfile "$home/pid" \
        --cgroup-parent /tare --bridge none --iptables=false --ip-forward=false --ip-masq=false \
        >"$home/log" 2>&1 </dev/null &
    daemon=$!
    until docker version >/dev/null 2>&1; do
        kill -0 "$daemon" 2>/dev/null || fail "$(grep -v level=info "$home/log" | tail -n 1)"
        sleep 0.05
    done
}

[ -S "$home/s" ] || start
for image; do
    name=${image%%=*}
    docker image inspect "$name" >/dev/null 2>&1 && continue
    tar -C "${image#*=}" --one-file-system -c . | docker import - "$name" >/dev/null || exit
done
