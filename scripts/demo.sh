#!/usr/bin/env bash
# Orcon's main job as a story, on a real Kubernetes.
#
#   make demo                  starts a cluster on this machine, installs Orcon, tells the
#                              story, removes everything
#   make demo STORY=jobs       tells that of stateful runs instead, as root: what they leave,
#                              and what happens to one that is cut off
#   make demo KEEP=1           leaves the cluster up and says how to look around
#   make demo NAME=mine        names the cluster, so that several demos can be up at a time
#   make demo CONTEXT=staging  uses the cluster of a context of your kubeconfig, and leaves
#                              it as it was, also after a failure or Ctrl-C
#
# With CONTEXT the cluster must be able to pull the images: REGISTRY=HOST/PATH and TAG=TAG
# say where they are ('build/builder publish --all' pushes them). Without REGISTRY they must
# be imported on every node as localhost/orcon/NAME:dev. TIMEOUT=5m limits the installation.
# Where Orcon or one of its objects is installed already, the demo refuses to run.
#
# Without CONTEXT: as root on Debian the cluster is a real node with real pods. Without root
# it is a control plane only: relations are shown, injected pods are not run. The first
# build of Kubernetes takes minutes; later ones take seconds.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in
  '') ;;
  -h | --help) usage_of "$0"; exit 0 ;;
  *) die "unknown argument '$1'" "see scripts/demo.sh --help" ;;
esac

name=${NAME:-demo}
[[ $name =~ ^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$ ]] || die "NAME=$name is not a valid name" "use lower-case letters, digits and hyphens"
context=${CONTEXT:-}
keep=${KEEP:-}
[ "$keep" != 0 ] || keep=''
started=''
controller=''
building=''
ns=k8s-tengu-test
# The name of the deployment that holds Orcon, where the cluster is not the demo's.
release=orcon-demo
images=(relation-agent relations-mutating-webhook relations-controller)
story=${STORY:-relations}
settings=(${REGISTRY:+--set "registry=$REGISTRY"} ${TAG:+--set "tag=$TAG"})
work=$(mktemp -d)
form=node
[ "$(id -u)" -eq 0 ] || form=control-plane
[ -z "$context" ] || form=context
delay=''
case $story in
  relations) ;;
  jobs)
    [ "$form" = node ] || die 'STORY=jobs needs a node of its own' 'run it as root, without CONTEXT'
    images+=(job-controller job-runner)
    ns=demo
    # shellcheck source=scripts/story-jobs.sh
    . scripts/story-jobs.sh
    ;;
  *) die "unknown STORY=$story" 'use relations or jobs' ;;
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
  if [ "$code" -eq 0 ] && [ -n "$keep" ] && [ "$form" != context ]; then
    kept
    [ "$story" = jobs ] || rm -rf "$work" # the cluster that is left up stores its states there
    exit 0
  fi
  local process
  for process in $building $controller; do kill "$process" 2>/dev/null || true; done
  if [ -n "$started" ]; then
    if [ "$form" = context ]; then restore || code=1; else remove "$code" || code=1; fi
  fi
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP # the terminal is closed

# remove removes the demo's own cluster.
remove() {
  cluster down --name "$name" >&2 || return 1
  if [ "$1" -ge 129 ]; then
    heading 'Interrupted; the cluster is removed' || true
  else
    heading 'The cluster is removed; make demo KEEP=1 leaves it up to look around' || true
  fi
}

# restore deletes from a cluster of others what the demo created, and reports what is left.
# The namespace goes first, while the controller can still end its relations.
restore() {
  local left
  heading "Leaving context $context as it was"
  for _ in 1 2 3; do # a second Ctrl-C may end one of them
    kubectl delete namespace "$ns" --ignore-not-found --timeout=180s >&2 || true
    uninstall >&2 || true
    # Definitions outlive an uninstallation, which no policy protects any more.
    kubectl delete -f "$work/orcon.yaml" --ignore-not-found --timeout=60s >&2 || true
    if ! left=$(present) || [ -n "$left" ]; then continue; fi
    heading "Everything that the demo created in context $context is deleted"
    return 0
  done
  printf 'cannot delete everything from context %s; these objects are left:\n%s\n' "$context" "$left" >&2
  return 1
}

# uninstall deletes Orcon, and confirms what has to be confirmed: all of it is the demo's own.
uninstall() {
  local refusal confirmed
  refusal=$(orcon uninstall "$release" -n default --yes 2>&1) && return 0
  mapfile -t confirmed < <(grep -oE -- '--confirm [^ ]+' <<<"$refusal" | tr ' ' '\n')
  [ "${#confirmed[@]}" -gt 0 ] || { printf '%s\n' "$refusal"; return 1; }
  orcon uninstall "$release" -n default --yes --timeout 5m "${confirmed[@]}"
}

# present lists the objects of Orcon and of the demo that the cluster has.
present() {
  local stored
  kubectl get namespace "$ns" --ignore-not-found -o name &&
    kubectl get -f "$work/orcon.yaml" --ignore-not-found -o name &&
    stored=$(kubectl -n default get secrets -o name) &&
    { grep "^secret/orcon-bundle-$release" <<<"$stored" || true; }
}

# explain shows what a person would look at after a failure.
explain() {
  heading 'The demo failed. The state of the cluster:'
  run kubectl get pods --all-namespaces -o wide || true
  run kubectl -n "$ns" get events --sort-by=.lastTimestamp || true
  if [ "$form" = control-plane ]; then
    tail -n 20 "dist/$name-controller.log" || true
  else
    kubectl -n orcon-system logs -l app.kubernetes.io/part-of=orcon --prefix --tail=20 || true
  fi
}

# kept says how to look around, by commands that work here.
kept() {
  heading 'Left up, as asked. To look around:'
  printf '  export PATH=%s:%s KUBECONFIG=%s\n' "$root/bin" "\$PATH" "$(cluster kubeconfig --name "$name" --file)"
  if [ "$story" = jobs ]; then
    printf '  kubectl -n %s get jobworkspaces,jobruns,pods\n' "$ns"
    printf 'To remove it:\n  %s down --name %s; rm -rf %s\n' "$root/bin/cluster" "$name" "$work"
    return
  fi
  printf '  kubectl -n %s get relations,relatedapplications,pods\n' "$ns"
  if [ "$form" = node ]; then
    printf '  kubectl -n %s exec -it deploy/sleep -- sh\n' "$ns"
  else
    printf '  tail -f %s    # the controller, process %s\n' "$root/dist/$name-controller.log" "$controller"
  fi
  printf 'To remove it:\n  %s%s down --name %s\n' "${controller:+kill $controller; }" "$root/bin/cluster" "$name"
}

kubectl() {
  if [ "$form" = context ]; then
    command kubectl --kubeconfig "$work/kubeconfig" "$@"
  else
    cluster exec --name "$name" -- kubectl "$@"
  fi
}

orcon() {
  if [ "$form" = context ]; then
    KUBECONFIG="$work/kubeconfig" command orcon "$@"
  else
    cluster exec --name "$name" -- orcon "$@"
  fi
}

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
      die 'the controller has ended' "its log: dist/$name-controller.log"
    fi
    sleep 0.2
  done
}

milliseconds() { date +%s%3N; }

# alone refuses to touch a cluster that is up already.
alone() {
  if [ "$form" != context ] && [ -x bin/cluster ] && cluster kubeconfig --name "$name" >/dev/null 2>&1; then
    die "a demo named $name is up already, from an earlier run or in another terminal" \
      "start another one:   make demo NAME=another" \
      "or look around:      bin/cluster exec --name $name -- kubectl -n $ns get relations" \
      "or remove it:        bin/cluster down --name $name"
  fi
}

build() {
  if [ "$form" = context ]; then
    heading 'Building orcon'
    build/builder build orcon
    return
  fi
  heading 'Building the test cluster and Orcon (the first time takes minutes)'
  # Side by side: where one of them links, the other compiles.
  test/cluster/build.sh &
  building=$!
  if [ "$form" = node ]; then
    scripts/images.sh "${images[@]}"
    build/builder build orcon
  else
    build/builder build relations-controller
  fi
  wait "$building" || die 'cannot build the test cluster' 'see the messages above'
  building=''
}

start() {
  alone
  if [ "$form" = context ]; then
    look
    return
  fi
  heading 'Starting a real Kubernetes'
  cluster up --name "$name" --form "$form"
  started=yes
  mkdir -p dist
  if [ "$form" = node ]; then
    local image
    for image in "${images[@]}" busybox; do cluster load --name "$name" "dist/$image.tar"; done
    return
  fi
  say 'You are not root: there is no kubelet, so no pod runs, and the controller runs as a process'
  say 'beside the cluster. Waiting pods, their environment and files are not shown; as root they are.'
}

# look checks that the demo can use the cluster of the context, and take back all it does there.
look() {
  local found elsewhere='the demo leaves them alone: use another cluster, or make demo without CONTEXT'
  heading "Checking context $context"
  command -v kubectl >/dev/null || die 'kubectl is not installed' 'install it, or build it: test/cluster/build.sh'
  (umask 077 && command kubectl config view --raw --flatten --minify --context "$context" >"$work/kubeconfig") ||
    die "cannot use context $context" "choose one of: $(command kubectl config get-contexts -o name | tr '\n' ' ')"
  kubectl get namespaces -o name >/dev/null || die "cannot reach the cluster of context $context"
  kubectl auth can-i '*' '*' --all-namespaces -q ||
    die "you are not an administrator of the cluster of context $context" 'the demo installs kinds, roles and a webhook there'
  orcon render builtin:selfsigned >"$work/orcon.yaml"
  found=$(present)
  [ -z "$found" ] || die "Orcon, or a part of it, is installed already in context $context:" "$found" "$elsewhere"
  found=$(kubectl get namespaces -l tengu-injector=enabled -o name)
  [ -z "$found" ] || die "namespaces of context $context are labelled tengu-injector=enabled:" "$found" "$elsewhere"
}

install_orcon() {
  if [ "$form" = control-plane ]; then
    heading "Orcon's kinds, and its controller beside the cluster"
    run kubectl apply -k deployment/crd
    run kubectl wait --for=condition=Established --timeout=30s crd --all
    run kubectl create namespace orcon-system
    # Each demo has ports of its own.
    local port=$((20000 + $(printf %s "$name" | cksum | cut -d ' ' -f 1) % 10000))
    KUBECONFIG=$(cluster kubeconfig --name "$name" --file) nohup bin/relations-controller \
      -namespace orcon-system -port "$port" -healthPort "$((port + 10000))" >"dist/$name-controller.log" 2>&1 &
    controller=$!
    return
  fi
  heading 'Orcon installs itself, as on any cluster'
  started=yes
  [ "$form" = context ] || release=orcon
  run orcon install builtin:selfsigned --name "$release" -n default --yes --timeout "${TIMEOUT:-5m}" "${settings[@]}"
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

pod_waits() { [[ "$(kubectl -n "$ns" logs deploy/sleep -c relation-agent)" == *db* ]]; }

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
if [ "$story" = jobs ]; then
  story_jobs
elif [ "$form" = control-plane ]; then
  story_objects
  heading 'Done, as far as it goes without root'
else
  story_waiting
  story_starting
  story_change
  heading "Done: found, started and changed without a restart; the change took $delay ms"
fi
