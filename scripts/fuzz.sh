#!/usr/bin/env bash
# Runs every fuzz target for a while, one after the other.
#
#   scripts/fuzz.sh            60 s each
#   scripts/fuzz.sh 10s        10 s each
#   scripts/fuzz.sh 10s Parse  only targets whose name has "Parse" in it
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac
time="${1:-60s}" only="${2:-}"

mapfile -t targets < <(grep -rnoE '^func Fuzz[A-Za-z0-9_]+' --include='*_test.go' . |
  sed -E 's|^(.*)/[^/]+:[0-9]+:func (Fuzz.*)|\1 \2|' | grep -F "$only" | sort)
[ "${#targets[@]}" -gt 0 ] || die "no fuzz target${only:+ named $only}"
for target in "${targets[@]}"; do
  heading "${target#* } in ${target% *} for $time"
  nice go test -run '^$' -fuzz "^${target#* }\$" -fuzztime "$time" -fuzzminimizetime 1s -parallel 2 "${target% *}"
done
heading "${#targets[@]} fuzz targets ran clean"
