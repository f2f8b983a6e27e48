#!/usr/bin/env bash
# Reads a webhook configuration, writes it with the authority in it that signed
# the webhook's certificate.
#
#   cat deployment/relations-mutating-webhook/webhook-config-templ.yaml |
#     deployment/webhook-patch-ca-bundle.sh > deployment/relations-mutating-webhook/webhook-config-generated.yaml
#
#   --ca-file FILE     the authority, PEM  (default: the cluster's, ConfigMap kube-root-ca.crt)
#   --secret NAME      the Secret of webhook-create-signed-cert.sh (default tengu-controllers-certs)
#   --namespace NAME   of that Secret                              (default default)
#   --no-check         do not check that the Secret's certificate is signed by the authority
#
# What has a caBundle already gets the new one in its place; ${CA_BUNDLE}, as old
# templates have it, is replaced too. Needs kubectl and openssl.
set -euo pipefail

ca_file='' secret=tengu-controllers-certs namespace=default check=true

die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  [ $# -lt 2 ] || printf '  %s\n' "${@:2}" >&2
  exit 1
}

while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;;
    --no-check) check=false; shift; continue ;;
    --ca-file | --secret | --namespace) ;;
    *) die "unknown argument '$1'" "see --help" ;;
  esac
  [ -n "${2:-}" ] || die "$1 needs a value" "see --help"
  case "$1" in
    --ca-file) ca_file=$2 ;;
    --secret) secret=$2 ;;
    --namespace) namespace=$2 ;;
  esac
  shift 2
done

[ ! -t 0 ] || die "nothing on standard input" "pipe a webhook configuration into it; see --help"
for tool in kubectl openssl base64 awk; do
  command -v "$tool" >/dev/null || die "$tool is missing" "install it, for example: apt-get install openssl coreutils mawk"
done

authority=${ca_file:-"the cluster's root authority (ConfigMap kube-root-ca.crt)"}
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
if [ -n "$ca_file" ]; then
  cp "$ca_file" "$work/ca.crt" || die "cannot read $ca_file"
else
  kubectl --namespace "$namespace" get configmap kube-root-ca.crt -o 'jsonpath={.data.ca\.crt}' >"$work/ca.crt" ||
    die "cannot read the cluster's authority (ConfigMap $namespace/kube-root-ca.crt)" "name a file with --ca-file"
fi
openssl x509 -in "$work/ca.crt" -noout 2>/dev/null || die "the authority is not a PEM certificate: $authority"

if $check; then
  kubectl --namespace "$namespace" get secret "$secret" -o 'jsonpath={.data.cert\.pem}' | base64 -d >"$work/cert.pem" ||
    die "cannot read Secret $namespace/$secret" "make it first: deployment/webhook-create-signed-cert.sh --secret $secret --namespace $namespace" "or leave this check out: --no-check"
  openssl verify -partial_chain -CAfile "$work/ca.crt" "$work/cert.pem" >/dev/null 2>&1 ||
    die "the certificate in Secret $namespace/$secret is not signed by $authority" \
      "its signer has an authority of its own: give that one with --ca-file" \
      "(kubeadm: /etc/kubernetes/pki/ca.crt; else ask the control plane's administrator for --cluster-signing-cert-file)"
fi

# A caBundle is written below each clientConfig; those that are there go.
awk -v bundle="$(base64 <"$work/ca.crt" | tr -d '\n')" '
  /^[[:space:]-]*caBundle:/ { next }
  { gsub(/\$\{CA_BUNDLE\}/, bundle); print }
  /^[[:space:]-]*clientConfig:[[:space:]]*$/ {
    indent = $0
    sub(/clientConfig:.*/, "", indent)
    gsub(/-/, " ", indent)
    printf "%s  caBundle: %s\n", indent, bundle
    patched++
  }
  END { if (!patched) { print "no clientConfig found on standard input" > "/dev/stderr"; exit 1 } }
' || die "standard input is not a webhook configuration" "pipe deployment/relations-mutating-webhook/webhook-config-templ.yaml into it"
