#!/usr/bin/env bash
# Writes what is generated: deepcopy functions and CRDs from controller/api/v1alpha1,
# Go from the relations API's .proto.
#
#   scripts/generate.sh             write
#   scripts/generate.sh --check     write nothing; fail if the repository is stale
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

check=false
case "${1:-}" in
  -h | --help) usage_of "$0"; exit 0 ;;
  --check) check=true ;;
  "") ;;
  *) die "unknown argument '$1'" "see scripts/generate.sh --help" ;;
esac

packages protoc:protobuf-compiler
"$root/scripts/tools.sh" controller-gen protoc-gen-go protoc-gen-connect-go

api=controller/api/v1alpha1
wire=controller/api/relations/v1alpha1
out="$(mktemp -d)"
trap 'rm -rf "$out"' EXIT

heading "CRDs and deepcopy functions from $api"
nice bin/controller-gen \
  object paths="./$api/..." "output:object:dir=$out/$api" \
  crd:crdVersions=v1 "output:crd:dir=$out/deployment/crd"

heading "Go from $wire"
nice protoc --go_out="$out" --go_opt=paths=source_relative \
  --connect-go_out="$out" --connect-go_opt=paths=source_relative "$wire"/*.proto

cd "$out"
stale=()
while read -r f; do
  cmp -s "$f" "$root/$f" || stale+=("${f#./}")
done < <(find . -type f)
[ "${#stale[@]}" -gt 0 ] || { heading "Everything generated is up to date"; exit 0; }
$check && die "stale: ${stale[*]}" "run 'make generate' and commit the result"
for f in "${stale[@]}"; do
  mkdir -p "$root/$(dirname "$f")"
  cp "$f" "$root/$f"
  echo "wrote $f"
done
