#!/bin/sh
# Builds bin/certmanager, cert-manager's own controllers for tests, at the top of the
# repository. The first build takes about a minute and a half on two cores. The CRDs are
# those of cert-manager's module.
#
#   test/cluster/certmanager/build.sh            into bin/
#   test/cluster/certmanager/build.sh FOLDER     into FOLDER
set -eu

case "${1:-}" in -h | --help) sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac

here=$(cd "$(dirname "$0")" && pwd)
exec 9<"$here"
flock 9 # a second build finds everything up to date
export GOGC="${GOGC:-400}" # as test/cluster/build.sh
bin=${1:-$here/../../../bin}
mkdir -p "$bin" "$here/crds"
bin=$(cd "$bin" && pwd)
cd "$here"
go mod download github.com/cert-manager/cert-manager
crds=$(go list -m -f '{{.Dir}}' github.com/cert-manager/cert-manager)/deploy/crds
for crd in "$crds"/cert-manager.io_*.yaml; do
	cmp -s "$crd" "crds/${crd##*/}" || install -m 644 "$crd" crds/
done
cp -pf "$bin/certmanager" "$bin/certmanager.next" 2>/dev/null || true
CGO_ENABLED=0 go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "-s -w" -o "$bin/certmanager.next" .
mv -f "$bin/certmanager.next" "$bin/certmanager"
