#!/usr/bin/env bash
# Runs the tests and checks that a change must pass, cheapest first.
#
#   scripts/test.sh                  all stages, without the slow tests (test/*/slow.txt)
#   scripts/test.sh --slow           with them, as CI does
#   scripts/test.sh unit lint        these stages only
#   scripts/test.sh --race unit      with the race detector (needs gcc)
#
# Stages:
#   unit         values and decisions: tables, properties, the fuzz targets' seeds
#   lint         style of Go and of scripts
#   generated    CRDs and generated Go are up to date
#   cluster      builds the test cluster and runs its own tests
#   charts       charts of others, object by object as Helm would install them; health checks as Argo CD runs them
#   arch         rules of the repository: imports, images, examples, manifests; links and commands of docs
#   integration  a real API server
#   images       every binary, its image, and a part of a release, twice the same bytes
#   e2e          real pods on a real kubelet (root)
#
# They run in two lanes, side by side; integration and e2e come last, each alone, since what
# they wait for has deadlines that a loaded machine does not meet. After a failure no other
# stage begins; failures are repeated at the very end.
# The logs are in dist/test/. On two cores it takes less than ten minutes, with the slow tests about 30; the first
# run also compiles a Kubernetes, a linter and cert-manager, and takes ten more.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

module=gitlab.ilabt.imec.be/tengu/orcon
logs="$root/dist/test"

# go_test ARG... runs go test with the flags of every stage; lint has vetted the packages. A stage
# that uses clusters adds -count=1, so that its results never come from the cache.
go_test() { nice ${ORCON_TEST_RACE:+env CGO_ENABLED=1} go test -vet=off -p 2 -timeout 60m ${ORCON_TEST_RACE:+-race} "$@"; }

# left_out FOLDER prints a pattern of the tests that this run leaves out: the slow ones, or none.
left_out() {
  if [ -n "${ORCON_TEST_SLOW:-}" ]; then printf '^$'; else grep '^Test' "$1/slow.txt" | paste -sd '|' | sed 's/.*/^(&)$/'; fi
}

# has FOLDER ends the script if the folder has no Go files: a stage without tests is a fault
# of the repository.
has() { [ -n "$(find "$1" -name '*.go' -print -quit 2>/dev/null)" ] || die "nothing to test in $1" "the stage '$stage' needs it"; }

stage_unit() {
  local pkgs
  mapfile -t pkgs < <(go list ./... | grep -vE "^$module/test/(arch|docs|integration|e2e|bench|conformance)(/|\$)")
  go_test "${pkgs[@]}"
}

stage_lint() { scripts/lint.sh; }

stage_generated() { scripts/generate.sh --check; }

stage_arch() {
  [ -x bin/kubectl ] || test/cluster/build.sh
  packages proot:proot
  go_test -count=1 ./test/arch/... ./test/docs/...
}

# built builds the programs that tests start: Kubernetes and cert-manager.
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

# The charts are in archives of Go modules, which the first run downloads.
stage_charts() { cd test/charts && go_test ./...; }

stage_integration() {
  has test/integration
  built
  packages openssl:openssl
  # Each process has a cluster of its own, and waits much. One runs the tests that start further clusters
  # or stop parts of one, another those about ends, a third those that wait for a leader to be replaced and half of
  # the others, so that all take about as long.
  local clusters='Chaos|Restore|Upgrade|Releases|Leave$'
  local leaders='Leader|Lease|FindsTheAPIServer|StreamsSpread|TestController[A-M]'
  local ends='KilledBetween|End|Suspends|Depart' slow one failed=0
  slow=$(left_out test/integration)
  go_test -c -o "$logs/integration.test" ./test/integration
  beside clusters tests -test.parallel 4 -test.run "$clusters" -test.skip "$slow"
  beside ends tests -test.run "$ends" -test.skip "$clusters|$slow"
  beside leaders tests -test.run "$leaders" -test.skip "$clusters|$ends|$slow"
  beside others tests -test.skip "$clusters|$leaders|$ends|$slow"
  beside packages go_test -count=1 -v -parallel 4 -skip "$slow" ./test/integration/*/
  for one in "${!running[@]}"; do
    wait "${running[$one]}" || failed=1
    cat "$logs/integration-$one.log"
  done
  return "$failed"
}

# tests ARG... runs those of the longest package, which is compiled once.
tests() { cd test/integration && nice "$logs/integration.test" -test.v -test.timeout 60m "$@"; }

# beside NAME COMMAND... runs a command beside others, with a log of its own.
declare -A running=()
beside() {
  "${@:2}" >"$logs/integration-$1.log" 2>&1 &
  running[$1]=$!
}

# The smallest image, its bill of materials, the chart and the checksums are released twice: the bytes
# must be the same. The rest of a release is tested with a small repository (build/image).
stage_images() {
  local n
  scripts/images.sh
  for n in 1 2; do
    build/builder release relation-agent --version v0.0.0-rc.0 --platforms "linux/$(go env GOARCH)" --folder "$logs/release-$n"
  done
  diff -r "$logs/release-1" "$logs/release-2"
}

# The longest tests have clusters of their own, and wait a lot: they run beside all others. Rights without a use are
# a fault only where the slow tests run too.
stage_e2e() {
  ready_for_pods
  local longest='^(TestBareCluster|TestRunsAreJobs)$' beside=() part=-part at_once=5 failed=0
  export ORCON_AUDIT="$logs/audit"
  rm -rf "$ORCON_AUDIT" && mkdir -p "$ORCON_AUDIT"
  if [ -n "${ORCON_TEST_SLOW:-}" ]; then
    go_test -count=1 -v -run "$longest" ./test/e2e/ &
    beside=("$!") part='' at_once=3
  fi
  go_test -count=1 -v -parallel "$at_once" -skip "$longest|$(left_out test/e2e)" ./test/e2e/... || failed=1
  [ "${#beside[@]}" -eq 0 ] || wait "${beside[@]}" || failed=1
  { for folder in selfsigned bundle-controller job-controller; do bin/kubectl kustomize "deployment/$folder"; printf -- '---\n'; done; } |
    go run ./test/audit $part "$ORCON_AUDIT" || failed=1
  return "$failed"
}

# ready_for_pods builds and installs everything that tests with real pods need.
ready_for_pods() {
  has test/e2e
  [ "$(id -u)" -eq 0 ] || die "real pods need root" "run 'sudo make test', or only the other stages: scripts/test.sh unit lint generated arch cluster images integration"
  built
  [ -x bin/gatekeeper ] || test/foreign/programs/build.sh gatekeeper
  packages busybox:busybox-static openssl:openssl mmdebstrap:mmdebstrap
}

# extract LOG prints how a log ends, and then its failures, their names first, and the last message before each: a
# reader may see only the last lines of a run. The lines of Kubernetes' own logger, such as E1129 …, are not failures.
extract() {
  tail -n 15 "$1"
  printf '…\n'
  failures "$1" '^\s*--- FAIL|^panic:' 15
  awk '/^ +[a-z_]+\.go:[0-9]+: ./ { at = NR; said = $0 } /--- FAIL/ && said { print at ":" said; said = "" }' "$1" |
    cut -c -160 | head -n 15
  failures "$1" '_test\.go:[0-9]+$|Error:|expected *:|actual *:|Messages:|^#|: error:|^[^ ]+\.(go|sh|yaml|yml):[0-9]+' 30
}

# failures LOG PATTERN COUNT prints the first COUNT lines of a log that match, with their numbers.
failures() {
  grep -nE "$2" "$1" | grep -vE '^[0-9]+:\s*[IWEF][0-9]{4} ' | sed -E "s#$root/##; s/[[:space:]]+/ /g" | cut -c -160 | head -n "$3" || true
}

stages=(unit lint generated cluster charts arch integration images e2e)
wanted=()
for arg in "$@"; do
  case "$arg" in
    -h | --help) usage_of "$0"; exit 0 ;;
    --slow) export ORCON_TEST_SLOW=1 ;;
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

# lane STAGE... runs the wanted ones of these stages one after the other, with their names
# before their lines, until one fails in any lane.
lane() {
  local stage begin
  for stage in "$@"; do
    [[ " ${wanted[*]} " == *" $stage "* ]] || continue
    [ ! -s "$logs/failed" ] || return 1
    heading "$stage"
    begin=$SECONDS
    # A process of its own: set -e has no effect within a condition.
    if ! "$0" --inner "$stage" 2>&1 | tee "$logs/$stage.log" | sed -u "s/^/$stage: /"; then
      printf '%s\n' "$stage" >>"$logs/failed"
      return 1
    fi
    printf '%s %ds\n' "$stage" "$((SECONDS - begin))" >>"$logs/times"
  done
}

# without says how many tests this run has left out.
without() {
  [ -n "${ORCON_TEST_SLOW:-}" ] || printf '; %d slow tests left out (make test SLOW=1)' "$(cat test/*/slow.txt | grep -c '^Test')"
}

# finish repeats the failures, or reports how long each stage took.
finish() {
  local stage
  [ -s "$logs/failed" ] || [ "$(wc -l <"$logs/times")" -eq "${#wanted[@]}" ] ||
    die "a lane ended without a result" "see its last lines above"
  [ -s "$logs/failed" ] || { heading "All passed after ${SECONDS}s: $(paste -sd ';' "$logs/times" | sed 's/;/, /g')$(without)"; return; }
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
# fewer garbage collections, they use a sixth to a third less of it (DECISIONS 69).
export ORCON_CLUSTER_GOMAXPROCS=1 GOGC=400
clusters_allowed
# Processes in the background do not get an interrupt by themselves.
trap 'trap "" TERM; kill -TERM 0; wait; exit 130' INT TERM
lane unit lint generated images charts &
lane cluster arch &
wait
lane integration e2e &
wait
trap - INT TERM
finish
