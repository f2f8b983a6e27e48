#!/usr/bin/env bash
# Everything that must hold before a change is accepted, cheapest first.
#
#   scripts/test.sh                  all stages
#   scripts/test.sh unit lint        these stages only
#   scripts/test.sh --race unit      with the race detector (needs gcc)
#
# Stages:
#   unit         values and decisions: tables, properties, the fuzz targets' seeds
#   lint         style of Go and of scripts
#   generated    CRDs and generated Go are what their sources say
#   cluster      builds the test cluster and runs its own tests
#   arch         the house: imports, images, examples, manifests
#   integration  a real API server
#   images       every binary, its image, twice the same bytes
#   e2e          real pods on a real kubelet (root)
#
# They run in two lanes, side by side. When a stage has failed no other begins; what failed
# is repeated at the very end.
# The logs are in dist/test/. On two cores eight to nine and a half minutes; the first run also
# compiles a Kubernetes, a linter and cert-manager, and takes 22.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

module=gitlab.ilabt.imec.be/tengu/orcon
logs="$root/dist/test"

# go_test ARG... runs go test as every stage does. A stage in which the outside
# world takes part adds -count=1, so that it is never answered from the cache.
go_test() { nice ${ORCON_TEST_RACE:+env CGO_ENABLED=1} go test -p 2 -timeout 25m ${ORCON_TEST_RACE:+-race} "$@"; }

# has FOLDER says whether the folder has Go files. A stage without its folder
# is a fault of the repository, not something to pass over.
has() { find "$1" -name '*.go' 2>/dev/null | grep -q . || die "nothing to test in $1" "the stage '$stage' needs it"; }

stage_unit() {
  local pkgs
  mapfile -t pkgs < <(go list ./... | grep -vE "^$module/test/(arch|integration|e2e|bench|conformance)(/|\$)")
  go_test "${pkgs[@]}"
}

stage_lint() { scripts/lint.sh; }

stage_generated() { scripts/generate.sh --check; }

stage_arch() {
  [ -x bin/kubectl ] || test/cluster/build.sh
  packages proot:proot
  go_test -count=1 ./test/arch/...
}

# built makes the programs that tests start: Kubernetes, and cert-manager.
built() {
  [ -x bin/kubectl ] || test/cluster/build.sh
  [ -x bin/certmanager ] || test/cluster/certmanager/build.sh
}

stage_cluster() {
  test/cluster/build.sh
  test/cluster/certmanager/build.sh
  cd test/cluster
  local left_out=()
  if [ "$(id -u)" -ne 0 ]; then
    printf 'NOT SHOWN without root: the node form (pods, Services, DNS, its tear-down)\n'
    left_out=(-skip '^TestNode$')
  fi
  go_test -count=1 -parallel 3 "${left_out[@]}" ./...
}

stage_integration() {
  has test/integration
  built
  packages openssl:openssl
  # Each package has a cluster of its own, and much of the time it waits for a lease.
  go_test -count=1 -v -p 3 -parallel 4 ./test/integration/...
}

stage_images() {
  scripts/images.sh
}

# What begins on a bare cluster takes longest, has one of its own, and waits a lot: it
# goes on beside all else.
stage_e2e() {
  ready_for_pods
  local bare failed=0
  go_test -count=1 -v -run '^TestBareCluster$' ./test/e2e/... &
  bare=$!
  go_test -count=1 -v -parallel 4 -skip '^TestBareCluster$' ./test/e2e/... || failed=1
  wait "$bare" || failed=1
  return "$failed"
}

# ready_for_pods sees to what tests with real pods need.
ready_for_pods() {
  has test/e2e
  [ "$(id -u)" -eq 0 ] || die "real pods need root" "run 'sudo make test', or only the other stages: scripts/test.sh unit lint generated arch cluster images integration"
  built
  packages busybox:busybox-static openssl:openssl mmdebstrap:mmdebstrap
}

# extract LOG prints the part of a log that a person needs first.
extract() {
  grep -nE '^\s*--- FAIL|^FAIL|^panic:|Error Trace:|Error:|^#|: error:|^[^ ]+\.(go|sh|yaml|yml):[0-9]+' "$1" | head -n 40 || true
  printf '…\n'
  tail -n 15 "$1"
}

stages=(unit lint generated cluster arch integration images e2e)
wanted=()
for arg in "$@"; do
  case "$arg" in
    -h | --help) usage_of "$0"; exit 0 ;;
    --race) export ORCON_TEST_RACE=1 ;;
    --inner) "stage_${stage:=$2}"; exit 0 ;;
    *) [[ " ${stages[*]} " == *" $arg "* ]] || die "no stage '$arg'" "stages: ${stages[*]}"; wanted+=("$arg") ;;
  esac
done
[ "${#wanted[@]}" -gt 0 ] || wanted=("${stages[@]}")

# clusters_allowed raises, until the script ends, how many inotify instances a user may
# have: a cluster holds about 20, often 128 is the most, and seven may run at a time.
clusters_allowed() {
  local limit=/proc/sys/fs/inotify/max_user_instances before
  before=$(cat "$limit")
  if [ "$before" -lt 512 ] && printf 512 2>/dev/null >"$limit"; then
    # shellcheck disable=SC2064
    trap "printf %s $before >$limit" EXIT
  fi
}

# lane STAGE... runs those of the stages that are wanted one after the other, with
# their names before their lines, as long as none has failed.
lane() {
  local stage begin
  for stage in "$@"; do
    [[ " ${wanted[*]} " == *" $stage "* ]] || continue
    [ ! -s "$logs/failed" ] || return 1
    heading "$stage"
    begin=$SECONDS
    # A process of its own: within a condition set -e does not hold.
    if ! "$0" --inner "$stage" 2>&1 | tee "$logs/$stage.log" | sed -u "s/^/$stage: /"; then
      printf '%s\n' "$stage" >>"$logs/failed"
      return 1
    fi
    printf '%s %ds\n' "$stage" "$((SECONDS - begin))" >>"$logs/times"
  done
}

# finish repeats what failed, or says that all is well.
finish() {
  local stage
  [ -s "$logs/failed" ] || [ "$(wc -l <"$logs/times")" -eq "${#wanted[@]}" ] || die "a lane ended without a word" "see its last lines above"
  [ -s "$logs/failed" ] || { heading "All passed after ${SECONDS}s: $(paste -sd ';' "$logs/times" | sed 's/;/, /g')"; return; }
  while read -r stage; do
    heading "FAILED: $stage (log: dist/test/$stage.log)"
    extract "$logs/$stage.log" >&2
  done <"$logs/failed"
  exit 1
}

mkdir -p "$logs"
rm -f "$logs/failed" "$logs/times"
touch "$logs/began"
export ORCON_TESTS_BEGAN="$logs/began"
# Up to seven clusters share the machine: with one processor for each of their programs, and
# less often looking for garbage, they need a sixth to a third less of it (DECISIONS 69).
export ORCON_CLUSTER_GOMAXPROCS=1 GOGC=400
clusters_allowed
# An interrupt reaches no process in the background by itself.
trap 'trap "" TERM; kill -TERM 0; wait; exit 130' INT TERM
lane unit lint generated images e2e &
lane cluster arch integration &
wait
trap - INT TERM
finish
