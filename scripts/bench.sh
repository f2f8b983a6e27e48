#!/usr/bin/env bash
# Runs the benchmarks of test/bench, test/integration/jobs, domain/conversation and the caches, whose
# results README quotes. It takes about ten minutes, on a machine that runs nothing else.
#
#   scripts/bench.sh              all of them
#   scripts/bench.sh Change       those with a matching name: Exchange, Connections,
#                                 Create, Change, Commit, Crowd, Tool, Next, FirstJoin,
#                                 Bundle, Deployments, Fleet, Waiting, Workspaces,
#                                 QueueToStart, Heap
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac
[ -x bin/kubectl ] || test/cluster/build.sh
heading "Benchmarks (one at a time, so that they do not measure each other)"
packages=(./test/bench/... ./test/integration/jobs ./domain/conversation ./controller/adapter/kube/scope)
go test -p 1 -run '^$' -bench "${1:-.}" -benchtime "${BENCHTIME:-1s}" -count 1 -timeout 60m "${packages[@]}"
