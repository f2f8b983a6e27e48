#!/bin/sh
# Builds programs of others for the tests with their charts, from the Go modules of go.mod, into bin/ at the top of the
# repository. The first build takes some minutes on two cores.
#
#   test/foreign/programs/build.sh                      all
#   test/foreign/programs/build.sh gatekeeper           this one
set -eu

case "${1:-}" in -h | --help) sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac

here=$(cd "$(dirname "$0")" && pwd)
exec 9<"$here"
flock 9 # a second build finds everything up to date
export GOGC="${GOGC:-400}" # as test/cluster/build.sh
bin=$(cd "$here/../../.." && pwd)/bin
mkdir -p "$bin"
cd "$here"
[ $# -gt 0 ] || set -- gatekeeper metrics-server sealed-secrets trust-manager
for name in "$@"; do
	module=.
	case "$name" in
	gatekeeper) package=github.com/open-policy-agent/gatekeeper/v3 ;;
	metrics-server) package=sigs.k8s.io/metrics-server/cmd/metrics-server ;;
	sealed-secrets) package=github.com/bitnami-labs/sealed-secrets/cmd/controller ;;
	trust-manager) module=trust-manager package=github.com/cert-manager/trust-manager/cmd/trust-manager ;;
	*) echo "no program '$name': gatekeeper metrics-server sealed-secrets trust-manager" >&2; exit 1 ;;
	esac
	CGO_ENABLED=0 go build -C "$module" -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w" -o "$bin/$name.next" "$package"
	mv -f "$bin/$name.next" "$bin/$name"
done
