# account.sh [FILE]: give the user of this pod an account that ssh and sshd take: home $HOME, and a shell that runs. It is
# written into FILE, which is mounted as /etc/passwd later, or into /etc/passwd itself where that may be written to.
# OpenShift's users have none: CRI-O adds a line whose shell is /sbin/nologin (GeneratePasswd), containerd adds none.
passwd=/etc/passwd
id=$(id -u)
[ "$id" = 0 ] || [ -z "${HOME:-}" ] && [ -z "${1:-}" ] && exit 0
own= others= fits=
while IFS=: read -r name word uid gid about home shell; do
  [ -n "$name" ] || continue
  line=$name:$word:$uid:$gid:$about:$home:$shell
  if [ "$uid" != "$id" ]; then
    others="$others$line
"
  elif [ -z "$own" ]; then # getpwuid(3) takes the first
    own=$line
    [ "$home" = "$HOME" ] && [ -n "$shell" ] && "$shell" -c : >/dev/null 2>&1 && fits=yes
  fi
done <"$passwd"
if [ -z "$fits" ]; then
  name=${own%%:*}
  own="${name:-tare}:x:$id:$(id -g):Tare:$HOME:$(command -v bash || command -v sh)"
fi
# Its line comes first, since a name of it may be there of another user.
if [ -n "${1:-}" ]; then
  printf '%s\n%s' "$own" "$others" >"$1"
elif [ -z "$fits" ] && [ -w "$passwd" ]; then
  printf '%s\n%s' "$own" "$others" >"$passwd"
fi
