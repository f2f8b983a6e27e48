#!/usr/bin/env bash
# Fails if a package that Orcon's binaries may be built of has a known vulnerability
# (docs/rules/TRUST.md R9), unless build/vulnerabilities/exceptions.txt excuses it.
#
# The database is a Go module, golang.org/x/vulndb, so that a commit is always judged by the
# same one. For a later one: go -C build/vulnerabilities get -tool golang.org/x/vulndb/cmd/indexdb@latest
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in -h | --help) usage_of "$0"; exit 0 ;; esac

tools="$root/build/vulnerabilities"
version="$(go -C "$tools" list -m -f '{{.Version}}' golang.org/x/vulndb)"
database="$root/dist/vulnerabilities/$version"
if [ ! -d "$database" ]; then
  heading "Indexing the vulnerability database"
  mkdir -p "$root/dist/vulnerabilities"
  writing="$(mktemp -d "$root/dist/vulnerabilities/.writing-XXXXXX")"
  trap 'rm -rf "$writing"' EXIT
  go -C "$tools" mod download golang.org/x/vulndb
  nice go -C "$tools" tool indexdb -vulns "$(go -C "$tools" list -m -f '{{.Dir}}' golang.org/x/vulndb)/data/osv" -out "$writing"
  mv -T "$writing" "$database" 2>/dev/null || [ -d "$database" ] # another run was faster
fi
found="$(mktemp)"
trap 'rm -rf "$found" "${writing:-}"' EXIT
nice go -C "$tools" tool govulncheck -C "$root" -db "file://$database" -scan package -format json ./... >"$found"
printf 'database %s: ' "$version"
go run ./test/vulnerable build/vulnerabilities/exceptions.txt <"$found"
