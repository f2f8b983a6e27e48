#!/usr/bin/env bash
# Installs charts of others on a node, with the programs of their authors: each is upgraded, rolled back and
# uninstalled (docs/reference/charts-tried.md). It needs root; the first run, which compiles the programs,
# takes some minutes more.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac
[ -x bin/kubectl ] || test/cluster/build.sh
[ -x bin/certmanager ] || test/cluster/certmanager/build.sh
test/foreign/programs/build.sh
packages mmdebstrap:mmdebstrap
go test -vet=off -count=1 -v -timeout 30m -run '^TestForeign$' ./test/e2e -foreign
