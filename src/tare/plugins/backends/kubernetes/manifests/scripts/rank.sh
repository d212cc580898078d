# rank.sh FOLDERS COMMAND…: record where this rank runs, then become its command, which FOLDERS may hold.
find_rank
rank=${rank:-0}
[ -z "$1" ] || PATH=$1:$PATH
shift
read -r TARE_NODE </tare/run/node || : # its one line has no end
export TARE_NODE                       # for placement_probe.sh, through which the command may start
printf '%s %s\n' "$rank" "$TARE_NODE" >"/tare/run/ranks/$rank"
exec "$@"
