#!/usr/bin/env bash
# Runs the chaos suite: agents, controllers, webhooks, the API server and its store are killed, connections cut and
# certificates replaced, while many units write and read, and tenants use databases that the handlers of the shipped
# example make and drop in a PostgreSQL. It prints how many faults of each kind it has seen.
#
#   scripts/chaos.sh                  seed 1, ten minutes of faults
#   scripts/chaos.sh 7 3              seed 7, three minutes
#   scripts/chaos.sh "1 2 3" 2        each of these seeds for two minutes
#
# A seed gives the same steps each time. What they meet depends on the machine.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac
[ -x bin/kubectl ] || test/cluster/build.sh
packages pg_lsclusters:postgresql
ORCON_POSTGRES=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -n 1)
export ORCON_POSTGRES
read -ra seeds <<<"${1:-1}"
export MINUTES="${2:-10}" ORCON_CLUSTER_GOMAXPROCS=1
for seed in "${seeds[@]}"; do
  heading "Chaos with seed $seed for $MINUTES minutes"
  SEED="$seed" nice go test -count=1 -v -timeout "$((MINUTES + 30))m" -run '^TestChaosMinute$' ./test/integration
done
