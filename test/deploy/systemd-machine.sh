#!/bin/sh
# What systemd wakes up in: this machine's programs, nothing of its state, and no unit but its own targets. It is started in namespaces of
# its own (mounts, processes, network, names, control groups), by root; what it changes is gone with it.
#
#   systemd-machine.sh WORK PREFIX     WORK: an empty folder; PREFIX: where the package is installed, seen as /opt/drover
set -e
work=$1
prefix=$2
mount -t tmpfs -o mode=755 tmpfs "$work"
mkdir "$work/units" "$work/etc" "$work/etc-work" "$work/opt"

targets='basic exit final local-fs multi-user network-online paths shutdown slices sockets sysinit timers umount'
for each in $targets; do
  [ ! -e "/usr/lib/systemd/system/$each.target" ] || cp -L "/usr/lib/systemd/system/$each.target" "$work/units/"
done
mount --bind "$work/units" /usr/lib/systemd/system
mount -t tmpfs tmpfs /usr/lib/systemd/system-generators
mount -t overlay overlay -o "lowerdir=/etc,upperdir=$work/etc,workdir=$work/etc-work" /etc
rm -rf /etc/systemd/system
mkdir /etc/systemd/system

mkdir "$work/opt/drover"
mount --bind "$prefix" "$work/opt/drover"
mount --rbind "$work/opt" /opt
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=755 tmpfs /var/lib
mount -t proc proc /proc
umount -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec env -i container=drover PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /usr/lib/systemd/systemd --system --unit=multi-user.target --show-status=no
