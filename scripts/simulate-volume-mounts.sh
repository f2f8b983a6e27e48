#!/usr/bin/env bash
# Gives a process on this machine a pod's volumes at the paths they have in the
# pod. Telepresence mounts them all below TELEPRESENCE_ROOT and lists them in
# TELEPRESENCE_MOUNTS (separated by colons); proot, which needs no root, binds each to
# its own path. Then a shell, or the given command, runs.
#
#   telepresence --swap-deployment relations-mutating-webhook --expose 8080
#   scripts/simulate-volume-mounts.sh                 # a shell
#   scripts/simulate-volume-mounts.sh ls /etc/webhook/config
#   scripts/simulate-volume-mounts.sh ./bin/relations-mutating-webhook \
#     -tenguCfgFile=/etc/webhook/config/tenguconfig.yaml \
#     -tlsCertFile=/etc/webhook/certs/cert.pem -tlsKeyFile=/etc/webhook/certs/key.pem \
#     -alsologtostderr -v=4
#
# Without Telepresence the two variables can be set by hand, to any folder that
# holds such files.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac

[ -n "${TELEPRESENCE_ROOT:+${TELEPRESENCE_MOUNTS:-}}" ] ||
  die "TELEPRESENCE_ROOT and TELEPRESENCE_MOUNTS are not set" \
    "start this in the shell that Telepresence gives you, or set them:" \
    "TELEPRESENCE_ROOT=FOLDER TELEPRESENCE_MOUNTS=/etc/webhook/config:/etc/webhook/certs $0"
[ -d "$TELEPRESENCE_ROOT" ] || die "TELEPRESENCE_ROOT is not a folder: $TELEPRESENCE_ROOT" "is Telepresence still connected?"
packages proot:proot

binds=()
IFS=: read -r -a mounts <<<"$TELEPRESENCE_MOUNTS"
for mount in "${mounts[@]}"; do
  [ -n "$mount" ] || continue
  mount="/${mount#/}"
  [ -e "$TELEPRESENCE_ROOT$mount" ] ||
    die "$mount is in TELEPRESENCE_MOUNTS and not in $TELEPRESENCE_ROOT" "the pod's volume was not mounted: restart Telepresence"
  binds+=(-b "$TELEPRESENCE_ROOT$mount:$mount")
done

[ $# -gt 0 ] || set -- "${SHELL:-/bin/bash}"
exec proot "${binds[@]}" "$@"
