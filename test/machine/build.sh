#!/usr/bin/env bash
# Makes the root of a Debian machine that is reached by SSH as user admin, who has sudo, and has the packages of Docker at hand,
# but not installed. It knows its own names: no server for names is reached, for which sudo and Docker would wait 10 s each time.
#
#   test/machine/build.sh FILE.tar
set -euo pipefail

case "${1:--h}" in -*) sed -n '2,5s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
part="$1.part-$$" # an interrupted run leaves no half machine
trap 'rm -f "$part"' EXIT
# shellcheck disable=SC2016
mmdebstrap --quiet --format=tar --variant=apt --skip=cleanup/apt --skip=cleanup/reproducible \
  --include=systemd,openssh-server,python3-apt,iproute2,sudo \
  --customize-hook='chroot "$1" apt-get install -y -qq --no-install-recommends --download-only docker.io' \
  --customize-hook='rm -f "$1"/etc/ssh/ssh_host_* && mkdir -p "$1"/var/lib/apt/periodic && touch "$1"/var/lib/apt/periodic/update-success-stamp' \
  --customize-hook='echo machine >"$1/etc/hostname" && printf "127.0.0.1\tlocalhost\n127.0.1.1\tmachine\n" >"$1/etc/hosts"' \
  --customize-hook='chroot "$1" useradd --create-home admin && echo "admin ALL=(ALL) NOPASSWD: ALL" >"$1/etc/sudoers.d/admin"' \
  bookworm "$part"
mv -f "$part" "$1"
