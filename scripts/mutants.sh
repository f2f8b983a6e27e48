#!/usr/bin/env bash
# Measures the unit tests of rooms: changes the room's code in small ways, one at a time, and
# counts the changes that the room's own tests notice (a mutant is killed). It prints those
# that they do not, one a line, and the ratio; nothing fails by it. The files stay as they are.
#
#   scripts/mutants.sh controller/bundledeployment          200 mutants, 5 minutes at most
#   scripts/mutants.sh -n 60 controller/bundle domain/tool  60 of each room
#   scripts/mutants.sh -seed 2 -time 20m domain/negotiation others, 20 minutes at most
#
# A mutant has a condition negated, an error dropped or a call left out. The goal is 75 %
# killed in rooms that a change touches. The same seed makes the same mutants of the same code.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in
  -h | --help) usage_of "$0"; exit 0 ;;
  "") die "no room is named" "see scripts/mutants.sh --help" ;;
esac

ulimit -v $((6 * 1024 * 1024)) # a loop that does not end must not take all memory
nice go run ./test/arch/mutants "$@"
