#!/usr/bin/env bash
# Orcon's main job as a story, on a real Kubernetes that runs on this machine.
#
#   scripts/demo.sh            starts a cluster, installs Orcon, tells the story, removes all
#   KEEP=1 scripts/demo.sh     leaves the cluster up and says how to look around
#
# As root on Debian it is a real node with real pods. Without root it is a control
# plane only: relations are shown, injected pods are not run.
# The first build of Kubernetes takes minutes; later ones take seconds.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

name=demo
keep=${KEEP:-}
[ "$keep" != 0 ] || keep=''
started=''
controller=''
ns=k8s-tengu-test
form=node
[ "$(id -u)" -eq 0 ] || form=control-plane
delay=''

case "${1:-}" in
  '') ;;
  -h | --help) usage_of "$0"; exit 0 ;;
  *) die "unknown argument '$1'" "see scripts/demo.sh --help" ;;
esac

# finish removes what this run has started on every way out, unless it is to be
# kept; never what another run has started.
finish() {
  local code=$?
  trap - EXIT
  trap '' INT TERM HUP
  if [ "$code" -ne 0 ] && [ "$code" -lt 129 ] && [ -n "$started" ]; then
    explain >&2
  fi
  if [ "$code" -eq 0 ] && [ -n "$keep" ]; then
    kept
    exit 0
  fi
  [ -z "$controller" ] || kill "$controller" 2>/dev/null || true
  if [ -n "$started" ]; then
    cluster down --name "$name" >&2 || code=1
    if [ "$code" -ge 129 ]; then
      heading 'Interrupted; the cluster is removed' || true
    else
      heading 'The cluster is removed; make demo KEEP=1 leaves it up to look around' || true
    fi
  fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP # the terminal is closed

# explain shows what a person would look at after a failure.
explain() {
  heading 'The demo failed; what the cluster says:'
  run kubectl get pods --all-namespaces -o wide || true
  run kubectl -n "$ns" get events --sort-by=.lastTimestamp || true
  if [ "$form" = node ]; then
    kubectl -n orcon-system logs -l app.kubernetes.io/part-of=orcon --prefix --tail=20 || true
  else
    tail -n 20 dist/demo-controller.log || true
  fi
}

# kept says how to look around, by commands that work here.
kept() {
  heading 'Left up, as asked. To look around:'
  printf '  export PATH=%s:%s KUBECONFIG=%s\n' "$root/bin" "\$PATH" "$(cluster kubeconfig --name "$name" --file)"
  printf '  kubectl -n %s get relations,relatedapplications,pods\n' "$ns"
  if [ "$form" = node ]; then
    printf '  kubectl -n %s exec -it deploy/sleep -- sh\n' "$ns"
  else
    printf '  tail -f %s    # the controller, process %s\n' "$root/dist/demo-controller.log" "$controller"
  fi
  printf 'To remove it:\n  %s%s down --name %s\n' "${controller:+kill $controller; }" "$root/bin/cluster" "$name"
}

kubectl() { cluster exec --name "$name" -- kubectl "$@"; }

orcon() { cluster exec --name "$name" -- orcon "$@"; }

# run shows a command as a person would type it, and runs it.
run() {
  local word line=''
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./:=,-]+$ ]] || word="'$word'"
    line+=" $word"
  done
  printf '\n$%s\n' "$line"
  "$@"
}

# say tells the story.
say() { printf '\n# %s\n' "$*"; }

# until_ok SECONDS WHAT COMMAND... repeats a quiet command until it succeeds.
until_ok() {
  local limit=$((SECONDS + $1)) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$limit" ] || die "gave up waiting for $what"
    if [ -n "$controller" ] && ! kill -0 "$controller" 2>/dev/null; then
      die 'the controller has ended' 'its log: dist/demo-controller.log'
    fi
    sleep 0.2
  done
}

milliseconds() { date +%s%3N; }

# alone refuses to touch a cluster that is up already.
alone() {
  if [ -x bin/cluster ] && cluster kubeconfig --name "$name" >/dev/null 2>&1; then
    die 'a demo is up already, from before or in another terminal' \
      "look around: bin/cluster exec --name $name -- kubectl -n $ns get relations" \
      "or remove it: bin/cluster down --name $name"
  fi
}

build() {
  heading 'Building the test cluster (the first time takes minutes)'
  test/cluster/build.sh
  heading 'Building Orcon'
  if [ "$form" = node ]; then scripts/images.sh; else build/builder build relations-controller; fi
}

start() {
  alone
  heading 'Starting a real Kubernetes'
  cluster up --name "$name" --form "$form"
  started=yes
  mkdir -p dist
  if [ "$form" = node ]; then
    cluster load --name "$name" dist/*.tar
    return
  fi
  say 'You are not root: there is no kubelet, so no pod runs, and the controller runs as a process'
  say 'beside the cluster. Waiting pods, their environment and files are not shown; root sees those.'
}

install_orcon() {
  if [ "$form" = control-plane ]; then
    heading "Orcon's kinds, and its controller beside the cluster"
    run kubectl apply -k deployment/crd
    run kubectl wait --for=condition=Established --timeout=30s crd --all
    run kubectl create namespace orcon-system
    KUBECONFIG=$(cluster kubeconfig --name "$name" --file) nohup bin/relations-controller \
      -namespace orcon-system -port 28443 -healthPort 28081 >dist/demo-controller.log 2>&1 &
    controller=$!
    return
  fi
  heading 'Orcon installs itself, as on any cluster'
  run orcon install builtin:selfsigned --name orcon -n default --yes --timeout 5m
}

# story_waiting: a consumer whose second provider does not exist yet.
story_waiting() {
  heading 'A workload that consumes sse and db; db is not there yet'
  run kubectl apply -f deployment/demo/namespace.yaml
  run kubectl -n "$ns" apply -f deployment/demo/external-service.yaml -l tengu.io/provides=sse
  run kubectl -n "$ns" apply -f deployment/demo/sleep-deployment.yaml
  until_ok 30 'the injected pod' pod_waits
  say 'The pod waits, has its IP, and says why:'
  run kubectl -n "$ns" get pods -o wide
  run kubectl -n "$ns" get relatedapplications
  run kubectl -n "$ns" logs deploy/sleep -c relation-agent
}

pod_waits() { kubectl -n "$ns" logs deploy/sleep -c relation-agent | grep -q db; }

story_starting() {
  heading 'db-endpoint is created: the pod starts by itself'
  local begin
  begin=$(milliseconds)
  run kubectl -n "$ns" apply -f deployment/demo/external-service.yaml
  until_ok 30 'the pod to start' kubectl -n "$ns" wait --for=condition=Ready pod -l app.kubernetes.io/name=sleep --timeout=10s
  say "ready $(($(milliseconds) - begin)) ms after the command that created it"
  run kubectl -n "$ns" get pods
  say 'What the application sees, read inside its container:'
  run kubectl -n "$ns" exec deploy/sleep -c sleep -- sh -c 'env | grep -E "^(SSE|DB)" | sort'
  run kubectl -n "$ns" exec deploy/sleep -c sleep -- sh -c 'cd /bindings && head -n 1 */*'
  run kubectl -n "$ns" get relations
}

# story_change: the delay is from before the write to the new content inside the
# running container, read there by a loop that started earlier.
story_change() {
  heading 'db-endpoint moves: the running container sees it'
  local begin end reader value
  coproc WATCH { kubectl -n "$ns" exec deploy/sleep -c sleep -- sh -c 'echo reading; until grep -q db2 /bindings/db/host; do sleep 0.01; done; cat /bindings/db/host; echo'; }
  reader=$WATCH_PID
  exec {answers}<&"${WATCH[0]}"
  read -r _ <&"$answers"
  begin=$(milliseconds)
  run kubectl -n "$ns" patch service db-endpoint --type merge -p '{"spec":{"externalName":"db2.tengu.io"}}'
  read -r value <&"$answers"
  end=$(milliseconds)
  exec {answers}<&-
  wait "$reader" || true
  delay=$((end - begin))
  say "/bindings/db/host in the running container is now $value, $delay ms after the kubectl command began"
  run kubectl -n "$ns" get pods
}

story_objects() {
  heading 'Relations without pods'
  run kubectl apply -k deployment/demo
  until_ok 30 'the relations' related
  run kubectl -n "$ns" get relations
  run kubectl -n "$ns" get relatedapplications
}

related() { [ "$(kubectl -n "$ns" get relations -o name | wc -l)" -eq 2 ]; }

alone
build
start
install_orcon
if [ "$form" = node ]; then
  story_waiting
  story_starting
  story_change
  heading "Done: found, started and changed without a restart; the change took $delay ms"
else
  story_objects
  heading 'Done, as far as it goes without root'
fi
