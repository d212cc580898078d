# Make a pod ready, then become the given command: its node is told to the ranks, which ssh starts without the
# container's environment, and input files are put into the working folder.
mkdir -p /tare/run/ranks
printf '%s' "${TARE_NODE:-}" >/tare/run/node
[ -d /tare/inputs ] && cp -rL /tare/inputs/* /tare/work/
exec "$@"
