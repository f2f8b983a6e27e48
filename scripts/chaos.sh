#!/usr/bin/env bash
# Runs the chaos suite, in one of five stories.
#
# relations  agents, controllers, webhooks, the API server and its store are killed, connections cut and certificates
#            replaced, while many units write and read, and tenants use databases that the handlers of the shipped
#            example make and drop in a PostgreSQL.
# tenants    tenants of the shipped PostgreSQL example on two nodes (root): pods are deleted, containers, agents, kubelets,
#            container engines and Orcon's servers killed, a node is cut off, the API server and etcd go away, and tenants
#            come and leave.
# jobs       stateful runs by processes, each with a fault: keepers, containers, programs and the controller are killed,
#            messages lost, repeated and late, the store and the API server fail or are slow.
# pods       stateful runs as Jobs of a cluster with a real kubelet (root): keepers, containers and programs are killed, pods
#            deleted, and the controller, the store and the API server go away.
# nodes      stateful runs as containers of a Docker engine in a network of its own, as a machine elsewhere has it (root):
#            containers, the agent, the engine and the controller are killed, the machine reboots, its network and that of
#            the controller are cut, and the store goes away.
#
# It prints how many faults of each kind it has seen. A seed gives the same steps each time. What they meet depends on
# the machine.
#
#   scripts/chaos.sh                  seed 1, ten minutes of faults
#   scripts/chaos.sh 7 3              seed 7, three minutes
#   scripts/chaos.sh "1 2 3" 2        each of these seeds for two minutes
#   STORY=tenants scripts/chaos.sh 7  ten minutes on nodes
#   STORY=jobs scripts/chaos.sh 7     1,000 runs with seed 7; RUNS=100 for fewer, LANES=4 for fewer at once
#   STORY=pods scripts/chaos.sh 7     50 runs with seed 7; STORY=nodes likewise
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac
[ -x bin/kubectl ] || test/cluster/build.sh
export MINUTES="${2:-10}" ORCON_CLUSTER_GOMAXPROCS=1
case "${STORY:=relations}" in
  relations)
    packages pg_lsclusters:postgresql
    ORCON_POSTGRES=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -n 1)
    export ORCON_POSTGRES
    what="$MINUTES minutes" minutes=$((MINUTES + 30)) tests='^TestChaosMinute$' package=./test/integration
    ;;
  tenants)
    packages busybox:busybox-static mmdebstrap:mmdebstrap
    what="$MINUTES minutes" minutes=$((MINUTES + 40)) tests='^TestTenantsLoseNothing$' package=./test/e2e tags=chaos
    ;;
  jobs)
    export RUNS="${RUNS:-1000}" LANES="${LANES:-10}"
    what="$RUNS runs" minutes=180 tests='^TestChaosRuns$' package=./test/integration/jobs
    ;;
  pods)
    export RUNS="${RUNS:-50}" LANES="${LANES:-5}"
    what="$RUNS runs" minutes=60 tests='^TestRunsLoseNothing$/^Chaos$' package=./test/e2e
    ;;
  nodes)
    packages busybox:busybox-static
    export RUNS="${RUNS:-50}" LANES="${LANES:-5}"
    what="$RUNS runs" minutes=60 tests='^TestChaos$' package=./test/e2e/docker
    ;;
  *) die "no story '$STORY'" "stories: relations tenants jobs pods nodes" ;;
esac
read -ra seeds <<<"${1:-1}"
for seed in "${seeds[@]}"; do
  heading "Chaos of $STORY with seed $seed: $what"
  SEED="$seed" nice go test -tags="${tags:-}" -count=1 -v -timeout "${minutes}m" -run "$tests" "$package"
done
