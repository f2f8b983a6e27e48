#!/usr/bin/env bash
# Builds the development tools pinned in build/lint/go.mod into bin/.
#
#   scripts/tools.sh                   all of them
#   scripts/tools.sh controller-gen    one of them
#
# A tool is built again only when build/lint/go.mod changed. The first
# golangci-lint, with the Kube API Linter in it, takes about two minutes on two cores.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac

# package_of NAME prints the import path of a pinned tool.
package_of() {
  go -C "$root/build/lint" list -f '{{.ImportPath}}' tool | grep "/$1\$" ||
    die "no tool '$1' in build/lint/go.mod" "the tools are: $(tool_names | tr '\n' ' ')"
}

tool_names() {
  go -C "$root/build/lint" list -f '{{.ImportPath}}' tool | sed 's|.*/||'
}

# build NAME links the tool unless bin/ has it from this very go.mod.
build() {
  local name=$1 stamp
  stamp="$root/bin/.$name-$(cksum "$root/build/lint/go.mod" | cut -d' ' -f1)"
  [ -x "$root/bin/$name" ] && [ -e "$stamp" ] && return 0
  heading "Building $name"
  mkdir -p "$root/bin"
  rm -f "$root/bin/.$name"-*
  GOGC=${GOGC:-400} nice go -C "$root/build/lint" build -o "$root/bin/$name" "$(package_of "$name")"
  touch "$stamp"
}

if [ $# -eq 0 ]; then
  mapfile -t names < <(tool_names)
  set -- "${names[@]}"
fi
for name in "$@"; do build "$name"; done
