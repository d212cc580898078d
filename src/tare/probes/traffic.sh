# Print the network counters of this node as records: /proc/net/dev, then the files of interfaces and adapters below
# /sys/class, one path a line, with its value if it has one. Uses builtins of the shell where possible.
# Argument: the root of the file system, for tests.
root=${1-}
printf '\036/proc/net/dev\036'
cat "$root/proc/net/dev"
printf '\036/sys/class\036'
(
  cd "$root/sys/class" || exit
  [ -d cxi ] && sleep 2 # the driver of Slingshot adapters reads their counters only every other second
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
  for path in net/*/device/infiniband/*; do # adapters whose RDMA counters only ethtool(8) shows
    device=${path##*/} rest=${path#net/}
    name=${rest%%/*}
    for port in infiniband/"$device"/ports/*; do
      [ -e "$port" ] && ! [ -e "$port/counters/port_xmit_data" ] && ! [ -e "$port/hw_counters/tx_bytes" ] &&
        [ -z "$root" ] && ethtool -S "$name" | while read -r key value; do
        case $key in [rt]x_vport_rdma_unicast_*:) printf 'net/%s/ethtool/%s %s\n' "$name" "${key%:}" "$value" ;; esac
      done
    done
  done
) 2>/dev/null || : # there may be no such files
