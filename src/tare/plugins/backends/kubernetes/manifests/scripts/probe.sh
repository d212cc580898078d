# Print small files, each behind its path: the CPUs of this pod's control group, how many processes it lost for
# memory, and how many it was refused (cgroups(7), version 2, then 1); before them the pod's node, after them where ranks ran.
printf '\036node\036'
cat /tare/run/node
for path in /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cpuset.cpus.effective \
  /sys/fs/cgroup/cpu/cpu.stat /sys/fs/cgroup/cpu/cpu.cfs_quota_us /sys/fs/cgroup/cpu/cpu.cfs_period_us \
  /sys/fs/cgroup/cpuset/cpuset.cpus /sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control \
  /sys/fs/cgroup/pids.events /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.events /sys/fs/cgroup/pids/pids.max; do
  [ -r "$path" ] && printf '\036%s\036' "$path" && cat "$path"
done 2>/dev/null
printf '\036ranks\036'
cat /tare/run/ranks/* 2>/dev/null || :
