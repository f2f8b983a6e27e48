#!/usr/bin/env bash
# Builds the images that the demo and the e2e tests load into a node, in dist/: Orcon's, and
# busybox:stable from this machine's static busybox.
#
#   scripts/images.sh                        all images
#   scripts/images.sh relation-agent         this one, and busybox
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
