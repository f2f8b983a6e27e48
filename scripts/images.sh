#!/usr/bin/env bash
# Builds the images that the demo and the e2e tests load into a node, in dist/: Orcon's,
# busybox:stable from this machine's static busybox, and the one that proves the contract of runs.
#
#   scripts/images.sh                        all images
#   scripts/images.sh relation-agent         this one, busybox and conformance
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in
  -h | --help) usage_of "$0"; exit 0 ;;
  -*) die "unknown argument '$1'" "see scripts/images.sh --help" ;;
esac
[ $# -gt 0 ] || set -- --all

packages busybox:busybox-static
build/builder publish "$@"
build/builder busybox
build/builder conformance
