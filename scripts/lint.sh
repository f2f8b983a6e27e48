#!/usr/bin/env bash
# Checks style: Go with golangci-lint (.golangci.yml), modules outside the main one with
# gofmt, scripts with shellcheck, what binaries are built of (scripts/vulnerabilities.sh), the
# house with its measures (scripts/house.sh).
#
#   scripts/lint.sh           check
#   scripts/lint.sh --fix     repair what can be repaired, then check
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

fix=()
case "${1:-}" in
  -h | --help) usage_of "$0"; exit 0 ;;
  --fix) fix=(--fix) ;;
  "") ;;
  *) die "unknown argument '$1'" "see scripts/lint.sh --help" ;;
esac

packages shellcheck:shellcheck
"$root/scripts/tools.sh" golangci-lint-kube-api-linter

heading "golangci-lint"
nice bin/golangci-lint-kube-api-linter run --allow-parallel-runners "${fix[@]}" ./...

heading "gofmt, every module"
# Deleted files are listed until their deletion is committed.
unformatted="$(git ls-files -co --exclude-standard '*.go' | while read -r f; do [ ! -e "$f" ] || printf '%s\n' "$f"; done | xargs -r gofmt -l)"
[ -z "$unformatted" ] || die "not formatted: $unformatted" "run gofmt -w on them, or 'make lint FIX=1' for the main module"

heading "shellcheck"
# A script is known by its name or its first line.
{
  git ls-files -co --exclude-standard '*.sh'
  git ls-files -co --exclude-standard | grep -v '\.sh$' | while read -r f; do
    [ ! -f "$f" ] || ! head -n 1 "$f" | grep -aqE '^#!/(usr/bin/env |bin/)(ba)?sh' || printf '%s\n' "$f"
  done
} | sort -u | while read -r f; do [ ! -e "$f" ] || printf '%s\n' "$f"; done |
  xargs -r shellcheck --external-sources

heading "known vulnerabilities"
scripts/vulnerabilities.sh

heading "house"
scripts/house.sh
