#!/usr/bin/env bash
# Runs the webhook on this machine against a test cluster (control plane only, no
# root): no Telepresence, no image. The API server calls https://127.0.0.1:8080.
#
#   scripts/develop.sh             cluster, manifests, certificate, webhook; Ctrl-C ends it
#   scripts/develop.sh --prepare   everything but the webhook, for a debugger (.vscode/launch.json)
#   scripts/develop.sh --down      ends the cluster
#
# Then, in another terminal:
#
#   export KUBECONFIG=dist/develop/kubeconfig
#   bin/kubectl create namespace shop
#   bin/kubectl label namespace shop tengu-injector=enabled
#   bin/kubectl -n shop apply --dry-run=server -o yaml -f POD.yaml
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

name=develop
dir="$root/dist/develop"
kubectl() { bin/kubectl --kubeconfig "$dir/kubeconfig" "$@"; }

case "${1:-}" in
  -h | --help) usage_of "$0"; exit 0 ;;
  --down) exec bin/cluster down --name "$name" ;;
  --prepare | "") ;;
  *) die "unknown argument '$1'" "see scripts/develop.sh --help" ;;
esac

packages openssl:openssl
[ -x bin/kubectl ] || test/cluster/build.sh
mkdir -p "$dir"
if ! bin/cluster status --name "$name" >/dev/null 2>&1; then
  heading "A control plane"
  bin/cluster up --name "$name" --form control-plane
fi
cp "$(bin/cluster kubeconfig --name "$name" --file)" "$dir/kubeconfig"

heading "A certificate for 127.0.0.1, signed by itself"
[ -s "$dir/cert.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 365 \
  -keyout "$dir/key.pem" -out "$dir/cert.pem" -subj /CN=relations-mutating-webhook \
  -addext "subjectAltName=IP:127.0.0.1,DNS:relations-mutating-webhook.orcon-system.svc" 2>/dev/null

heading "The manifests, with the webhook here"
kubectl delete mutatingwebhookconfiguration relations-mutating-webhook --ignore-not-found >/dev/null
kubectl apply -k deployment/selfsigned >/dev/null
kubectl -n orcon-system scale deployment --all --replicas=0 >/dev/null
# A Service that leads here would need the cluster's network; a URL does not.
bundle="$(base64 <"$dir/cert.pem" | tr -d '\n')"
patch=''
i=0
for path in $(kubectl get -f deployment/relations-mutating-webhook/webhook-config-templ.yaml -o 'jsonpath={.webhooks[*].clientConfig.service.path}'); do
  patch+="${patch:+,}{\"op\":\"replace\",\"path\":\"/webhooks/$i/clientConfig\",\"value\":{\"url\":\"https://127.0.0.1:8080$path\",\"caBundle\":\"$bundle\"}}"
  i=$((i + 1))
done
kubectl patch mutatingwebhookconfiguration relations-mutating-webhook --type=json -p "[$patch]" >/dev/null
kubectl -n orcon-system get configmap relations-mutating-webhook -o 'jsonpath={.data.tenguconfig\.yaml}' >"$dir/tenguconfig.yaml"

[ "${1:-}" != --prepare ] || { heading "Ready: KUBECONFIG=$dir/kubeconfig"; exit 0; }
build/builder build relations-mutating-webhook
heading "The webhook on 127.0.0.1:8080 (export KUBECONFIG=$dir/kubeconfig; scripts/develop.sh --down at the end)"
export KUBECONFIG="$dir/kubeconfig" POD_NAMESPACE=orcon-system
exec bin/relations-mutating-webhook -tenguCfgFile="$dir/tenguconfig.yaml" \
  -tlsCertFile="$dir/cert.pem" -tlsKeyFile="$dir/key.pem" -alsologtostderr -v=4
