#!/usr/bin/env bash
# Makes a key, has the cluster sign a certificate for the webhook, and stores both
# (key.pem and cert.pem) in a Secret that the webhook's Deployment mounts.
#
#   deployment/webhook-create-signed-cert.sh \
#     --service relations-mutating-webhook --secret tengu-controllers-certs --namespace default
#
#   --service NAME     the webhook's Service           (default relations-mutating-webhook)
#   --secret NAME      the Secret to write             (default tengu-controllers-certs)
#   --namespace NAME   of both                         (default default)
#   --signer NAME      who signs                       (default kubernetes.io/kubelet-serving)
#   --wait SECONDS     how long to wait for the signer (default 30)
#   --renew            sign anew although the Secret holds a good certificate
#
# Done twice it changes nothing the second time, unless less than 30 days of the
# certificate are left. Needs openssl, and kubectl with the right to approve
# certificates. Not needed at all with deployment/selfsigned or deployment/certmanager.
set -euo pipefail

service=relations-mutating-webhook secret=tengu-controllers-certs namespace=default
signer=kubernetes.io/kubelet-serving wait=30 renew=false

die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  [ $# -lt 2 ] || printf '  %s\n' "${@:2}" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --renew) renew=true; shift; continue ;;
    --service | --secret | --namespace | --signer | --wait) ;;
    *) die "unknown argument '$1'" "see --help" ;;
  esac
  [ -n "${2:-}" ] || die "$1 needs a value" "see --help"
  case "$1" in
    --service) service=$2 ;;
    --secret) secret=$2 ;;
    --namespace) namespace=$2 ;;
    --signer) signer=$2 ;;
    --wait) wait=$2 ;;
  esac
  shift 2
done

for tool in kubectl openssl base64; do
  command -v "$tool" >/dev/null || die "$tool is missing" "install it, for example: apt-get install openssl coreutils; kubectl comes with the cluster"
done
kubectl version >/dev/null 2>&1 || die "cannot reach the cluster" "check 'kubectl version' and KUBECONFIG"

host="$service.$namespace.svc"
names="DNS:$service,DNS:$service.$namespace,DNS:$host,DNS:$host.cluster.local"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
chmod 700 "$work"

# field KEY prints one entry of the Secret, or nothing.
field() {
  kubectl --namespace "$namespace" get secret "$secret" --ignore-not-found -o "jsonpath={.data.$1}" | base64 -d
}

# good says whether the Secret holds this key's certificate, for this host, with 30 days left.
good() {
  field 'cert\.pem' >"$work/old.crt" && field 'key\.pem' >"$work/old.key" || return 1
  [ -s "$work/old.crt" ] && [ -s "$work/old.key" ] || return 1
  openssl x509 -in "$work/old.crt" -noout -checkend $((30 * 24 * 3600)) >/dev/null 2>&1 || return 1
  # -checkhost says its answer in words only.
  openssl x509 -in "$work/old.crt" -noout -checkhost "$host" 2>/dev/null | grep -q 'does match' || return 1
  [ "$(openssl x509 -in "$work/old.crt" -noout -pubkey 2>/dev/null)" = "$(openssl pkey -in "$work/old.key" -pubout 2>/dev/null)" ]
}

if ! $renew && good; then
  echo "Secret $namespace/$secret already holds a certificate for $host; nothing to do (--renew signs anew)"
  exit 0
fi

# The signer of kubelets' certificates requires the names in the subject.
echo "making a key for $host"
openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
  -keyout "$work/key.pem" -out "$work/request.pem" \
  -subj "/O=system:nodes/CN=system:node:$host" -addext "subjectAltName=$names" 2>"$work/openssl.log" ||
  die "openssl cannot make the request: $(cat "$work/openssl.log")"

request="$service.$namespace"
echo "asking $signer to sign it (CertificateSigningRequest $request)"
kubectl delete certificatesigningrequest "$request" --ignore-not-found >/dev/null
kubectl create -f - >/dev/null <<YAML
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata:
  name: $request
  labels:
    app.kubernetes.io/part-of: orcon
spec:
  signerName: $signer
  usages: [digital signature, server auth]
  request: $(base64 <"$work/request.pem" | tr -d '\n')
YAML
kubectl certificate approve "$request" >/dev/null ||
  die "cannot approve CertificateSigningRequest $request" \
    "you need the verb 'approve' on signer '$signer' (clusterrole cluster-admin has it)"

instead="use the variant without this step: kubectl apply -k deployment/selfsigned (or deployment/certmanager)"
for ((i = 0; ; i++)); do
  kubectl get certificatesigningrequest "$request" -o 'jsonpath={.status.certificate}' | base64 -d >"$work/cert.pem"
  [ ! -s "$work/cert.pem" ] || break
  failed="$(kubectl get certificatesigningrequest "$request" -o 'jsonpath={.status.conditions[?(@.type=="Failed")].message}')"
  [ -z "$failed" ] || die "signer $signer refused: $failed" "name another with --signer, or" "$instead"
  [ "$i" -lt "$wait" ] ||
    die "the certificate was not signed within $wait s: this cluster has no signer $signer for it" \
      "on many managed clusters there is none; if yours has another, name it with --signer; else" "$instead" \
      "(CertificateSigningRequest $request was left for you to look at)"
  sleep 1
done

kubectl --namespace "$namespace" create secret generic "$secret" --dry-run=client -o yaml \
  --from-file=key.pem="$work/key.pem" --from-file=cert.pem="$work/cert.pem" |
  kubectl apply --server-side --force-conflicts --field-manager=webhook-create-signed-cert -f - >/dev/null
kubectl delete certificatesigningrequest "$request" >/dev/null
echo "Secret $namespace/$secret holds key.pem and cert.pem for $host, until $(openssl x509 -in "$work/cert.pem" -noout -enddate | cut -d= -f2)"
echo "next: cat deployment/relations-mutating-webhook/webhook-config-templ.yaml | deployment/webhook-patch-ca-bundle.sh > deployment/relations-mutating-webhook/webhook-config-generated.yaml"
