# Print what has crossed the network so far, each record behind its path: /proc/net/dev, then what lies in /sys/class of
# interfaces and adapters, a path a line, with its value where it has one. In builtins of the shell as far as they go.
# Argument: where the root of the file system is, for tests.
root=${1-}
printf '\036/proc/net/dev\036'
cat "$root/proc/net/dev"
printf '\036/sys/class\036'
(
  cd "$root/sys/class" || exit
  [ -d cxi ] && sleep 2 # its driver looks at the counters of Slingshot adapters every so often, and tells what it saw
  for path in net/*/lower_* net/*/bonding net/*/bridge net/*/device/infiniband/* infiniband/*/ports/* \
    cxi/cxi* cxi/*/device/net/*; do
    [ -e "$path" ] && printf '%s\n' "$path"
  done
  for path in net/*/dev_port infiniband/*/parent infiniband/*/device/uevent infiniband/*/ports/*/link_layer \
    infiniband/*/ports/*/gid_attrs/ndevs/[0-9] infiniband/*/ports/*/gid_attrs/ndevs/[1-3][0-9] \
    infiniband/*/ports/*/counters/port_xmit_data infiniband/*/ports/*/counters/port_rcv_data \
    infiniband/*/ports/*/counters/port_xmit_packets infiniband/*/ports/*/counters/port_rcv_packets \
    infiniband/*/ports/*/counters_ext/port_*_64 infiniband/*/ports/*/hw_counters/*_bytes \
    infiniband/*/ports/*/hw_counters/*_pkts infiniband/*/ports/*/hw_counters/*Octets \
    infiniband/*/ports/*/hw_counters/*_bytes_cnt cxi/*/device/telemetry/hni_sts_[rt]x_ok_octets; do
    value=
    read -r value <"$path"
    [ -n "$value" ] && printf '%s %s\n' "$path" "$value"
  done
  for path in net/*/device/infiniband/*; do # adapters that count RDMA for ethtool(8) alone
    device=${path##*/} rest=${path#net/}
    name=${rest%%/*}
    for port in infiniband/"$device"/ports/*; do
      [ -e "$port" ] && ! [ -e "$port/counters/port_xmit_data" ] && ! [ -e "$port/hw_counters/tx_bytes" ] &&
        [ -z "$root" ] && ethtool -S "$name" | while read -r key value; do
        case $key in [rt]x_vport_rdma_unicast_*:) printf 'net/%s/ethtool/%s %s\n' "$name" "${key%:}" "$value" ;; esac
      done
    done
  done
) 2>/dev/null || : # where there is no such thing
