#!/usr/bin/env bash
# Makes every image that demo and e2e load into a node, in dist/: Orcon's three, and
# busybox:stable of this machine's static busybox.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$root"

case "${1:-}" in
  '') ;;
  -h | --help) usage_of "$0"; exit 0 ;;
  *) die "unknown argument '$1'" "see scripts/images.sh --help" ;;
esac

packages busybox:busybox-static
build/builder publish --all
build/builder busybox
