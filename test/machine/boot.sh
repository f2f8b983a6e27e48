#!/usr/bin/env bash
# Boots the root of a Debian machine. It is the first process of namespaces: PID, network, mounts, names, IPC. Its end is that
# of the machine. The control groups of the machine have NAME, and are left when it ends.
#
#   test/machine/boot.sh ROOT NAME
set -euo pipefail

root=$1 name=$2
if [ -z "${inside:-}" ]; then
  for one in /sys/fs/cgroup /sys/fs/cgroup/*; do
    case "$one" in */unified) continue ;; esac
    [ -e "$one/cgroup.procs" ] || continue
    mkdir -p "$one/$name"
    for limit in cpus mems; do
      [ ! -e "$one/cpuset.$limit" ] || cat "$one/cpuset.$limit" >"$one/$name/cpuset.$limit"
    done
    echo 0 >"$one/$name/cgroup.procs"
  done
  inside=1 exec unshare --cgroup "$0" "$@"
fi

mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs dev
mkdir dev/pts dev/shm
for one in null zero full random urandom tty; do
  : >"dev/$one"
  mount --bind "/dev/$one" "dev/$one"
done
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs run
mount -t tmpfs tmpfs tmp
controllers=$(cd /sys/fs/cgroup && echo *)
mount -t sysfs sysfs sys
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
  mount -t cgroup2 cgroup sys/fs/cgroup
else
  mount -t tmpfs tmpfs sys/fs/cgroup
  for one in $controllers; do
    [ "$one" != unified ] || continue
    mkdir "sys/fs/cgroup/$one"
    mount -t cgroup -o "$([ "$one" != systemd ] || echo none,name=)$one" cgroup "sys/fs/cgroup/$one"
  done
fi
pivot_root . mnt
umount -l /mnt
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd
