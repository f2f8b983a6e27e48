# shellcheck shell=bash disable=SC2154
# The story of stateful runs, which scripts/demo.sh tells with STORY=jobs: runs leave a state for the next one, a run is
# cancelled, one is cut off and a person decides, and all that was made is destroyed. It is sourced, never run; demo.sh
# sets name, work and ns.

story_jobs() {
  install_jobs
  story_state
  story_cancel
  story_cut
  story_destroy
  heading 'Done: no state was lost, and no two programs ran at once'
}

# containers calls the container runtime of the node.
containers() { ctr -a "$(dirname "$(cluster kubeconfig --name "$name" --file)")/containerd.sock" -n k8s.io "$@"; }

# install_jobs installs the controller of runs, with a volume for states, and a template whose image is that of the node.
install_jobs() {
  heading 'The controller of runs, beside Orcon'
  mkdir -m 777 "$work/states"
  kubectl apply -f - >&2 <<YAML
apiVersion: v1
kind: PersistentVolume
metadata: {name: states}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  hostPath: {path: $work/states}
YAML
  run orcon install builtin:job-controller --name orcon-jobs -n orcon-system --yes --timeout "${TIMEOUT:-5m}"
  local image=docker.io/library/busybox digest
  digest=$(containers images ls "name==$image:stable" | awk 'NR == 2 {print $3}')
  containers images tag "$image:stable" "$image@$digest" >/dev/null
  run kubectl create namespace "$ns"
  sed "s|IMAGE|$image@$digest|" deployment/demo/jobs/counter.yaml | kubectl apply -n "$ns" -f -
}

# state prints the number that the current generation has.
state() {
  rm -rf "$work/pulled"
  orcon job state pull counter "$work/pulled" -n "$ns" >/dev/null
  cat "$work/pulled/count"
}

# expect compares what the story says with what is so.
expect() { [ "$1" = "$2" ] || die "$3 is $1 and not $2"; }

story_state() {
  heading 'A program that counts in its state runs twice: the second run begins with what the first one left'
  run orcon job run counter --action count --follow -n "$ns"
  run orcon job run counter --action count --set step=10 --follow -n "$ns"
  expect "$(state)" 11 'the count'
  run orcon job state show counter -n "$ns"
  say 'The store has no plain state:'
  ! grep -rqx 11 "$work/states" || die 'the store has a state in plain'
  run head -c 21 "$(find "$work/states" -name 'state-*' -print -quit)"
  echo
}

# begin starts action wait, and waits until its program runs; it prints the name of the run.
begin() {
  local created
  created=$(orcon job run counter --action wait -n "$ns")
  created=${created#JobRun "$ns"/}
  printf '%s' "${created%% *}"
  until_ok 60 'the program of the run' logged "${created%% *}"
}

logged() { [[ "$(orcon job logs "$1" -n "$ns")" == *working* ]]; }

story_cancel() {
  heading 'A run is cancelled: its program is stopped, and what it did is kept'
  local first
  first=$(begin)
  run orcon job logs "$first" -n "$ns"
  run orcon job cancel "$first" -n "$ns"
  run kubectl wait -n "$ns" --for=jsonpath='{.status.phase}'=Cancelled "jobrun/$first" --timeout=60s
  expect "$(state)" 12 'the count'
}

story_cut() {
  heading 'A run is cut off: nothing starts beside it until a person decides'
  local cut keeper
  cut=$(begin)
  keeper=$(kubectl get pods -n "$ns" -l "job.orcon.tengu.io/run=$cut" \
    -o jsonpath='{.items[0].status.initContainerStatuses[?(@.name=="keeper")].containerID}')
  say "Its keeper, $cut's line to Orcon, is frozen, as if the machine could not be reached."
  containers tasks pause "${keeper#containerd://}"
  run kubectl wait -n "$ns" --for=jsonpath='{.status.phase}'=NeedsRecovery jobworkspace/counter --timeout=90s
  run orcon job runs counter -n "$ns"
  run orcon job unlock counter -n "$ns" --because 'the machine is switched off' --accept generation --yes
  containers tasks resume "${keeper#containerd://}" || true
  expect "$(state)" 12 'the count'
  run orcon job run counter --action count --follow -n "$ns"
  expect "$(state)" 22 'the count'
}

story_destroy() {
  heading 'The JobWorkspace is deleted: what it made is destroyed first'
  run kubectl delete jobworkspace counter -n "$ns" --timeout=120s
  run orcon job runs -n "$ns"
}
