#!/usr/bin/env bash
# Runs the benchmarks of test/bench; what they print is what README quotes.
#
#   scripts/bench.sh              all of them
#   scripts/bench.sh Webhook      those whose name matches
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac
[ -d test/bench ] || die "no test/bench" "the benchmarks live there"
[ -x bin/cluster ] || test/cluster/build.sh
heading "Benchmarks (one at a time, so that they do not measure each other)"
go test -p 1 -run '^$' -bench "${1:-.}" -benchtime "${BENCHTIME:-1s}" -count 1 -timeout 60m ./test/bench/...
