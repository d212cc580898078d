# Make a pod ready, then become the given command: its node is written for the ranks, which ssh starts without the
# container's environment, and input files are put into the working folder. sshd gets a configuration that needs
# nothing of the image: keys are those that the MPI Operator mounts, whose folder anybody may write to (StrictModes).
mkdir -p /tare/run/ranks
printf '%s' "${TARE_NODE:-}" >/tare/run/node
for input in /tare/inputs/* /tare/inputs/.[!.]*; do # but not ..data, by which a kubelet replaces them all at once
  [ ! -e "$input" ] || cp -rL "$input" /tare/work/
done
sh /tare/scripts/account.sh
cat >/tare/run/sshd_config <<END
HostKey "${HOME:-}/.ssh/id_rsa"
AuthorizedKeysFile "${HOME:-}/.ssh/authorized_keys"
AuthenticationMethods publickey
PidFile none
StrictModes no
UsePAM no
MaxStartups 100
END
case $1 in */sshd) [ "$(id -u)" != 0 ] || mkdir -p /run/sshd ;; esac # Debian's, which its service makes, wants it
exec "$@"
