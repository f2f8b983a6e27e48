#!/usr/bin/env bash
# Compares what makes the code hard to live in with the parent commit: large types,
# twins, large and bare packages, odd comments, long lines. No measure may become worse.
#
#   scripts/house.sh                  measure | counts | parent | now | goal
#   scripts/house.sh --list MEASURE   what a measure counts, with file and line
#
# Uncommitted work is compared with HEAD, a clean tree with HEAD's first parent.
# Without a parent (a first commit, a shallow clone) nothing is compared. What is
# counted is defined in test/arch/measure.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

measure() { nice go run ./test/arch/measure "$@"; }

case "${1:-}" in
  -h | --help) usage_of "$0"; exit 0 ;;
  --list) [ $# -eq 2 ] || die "--list needs a measure" "scripts/house.sh names them"; measure --list "$2" .; exit ;;
  "") ;;
  *) die "unknown argument '$1'" "see scripts/house.sh --help" ;;
esac

parent=HEAD^
[ -z "$(git status --porcelain)" ] || parent=HEAD
if ! git rev-parse --quiet --verify "$parent^{commit}" >/dev/null; then
  printf 'no parent commit in this clone: nothing is compared\n' >&2
  measure .
  exit
fi

before="$(mktemp -d)"
trap 'rm -rf "$before"' EXIT
git archive "$parent" | tar -x -C "$before"
measure . "$before" || die "a measure is worse than in $(git rev-parse --short "$parent")" \
  "mend what is listed above; scripts/house.sh --list MEASURE shows all that a measure counts"
