# rank.sh FOLDERS COMMAND…: tell where this rank runs, then become its command, which FOLDERS may hold.
rank=${PMI_RANK:-${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-${JOB_COMPLETION_INDEX:-0}}}}
[ -z "$1" ] || PATH=$1:$PATH
shift
printf '%s %s\n' "$rank" "$(cat /tare/run/node)" >"/tare/run/ranks/$rank"
exec "$@"
