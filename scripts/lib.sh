# shellcheck shell=bash
# Functions that all scripts use: headings with elapsed time, errors that name cause and
# cure, the repository's root. It is sourced, never run; it sets root.

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export PATH="$root/bin:$PATH"

# Every build, test and check compiles with the same flags, so that all share one cache: on
# a new machine each dependency is compiled once. Information for debuggers, which every
# binary is stripped of, would make that an eighth longer.
export GOFLAGS="-trimpath -buildvcs=false -gcflags=all=-dwarf=false" CGO_ENABLED=0

# The Go that go.mod names compiles everything, whichever is installed: its standard library has no known vulnerability,
# and equal sources give equal images. Go gets it as it gets modules.
GOTOOLCHAIN="$(sed -n 's/^toolchain //p' "$root/go.mod")"
export GOTOOLCHAIN

# heading TEXT prints a section heading with the time since the script began.
heading() {
  local bold='' plain=''
  [ ! -t 2 ] || { bold=$'\033[1m' plain=$'\033[0m'; }
  printf '\n%s[%02d:%02d] %s%s\n' "$bold" "$((SECONDS / 60))" "$((SECONDS % 60))" "$*" "$plain" >&2
}

# die CAUSE [CURE...] ends the script with a message that a person can act on.
die() {
  printf '%s: %s\n' "$(basename "$0")" "$1" >&2
  [ $# -lt 2 ] || printf '  %s\n' "${@:2}" >&2
  exit 1
}

# usage_of FILE prints the comment at the head of a script, which is its help.
usage_of() {
  sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$1"
}

# packages COMMAND:PACKAGE... installs the Debian packages whose command is
# missing. It needs root and apt-get; without them it prints what to install.
packages() {
  local pair missing=()
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  [ "${#missing[@]}" -gt 0 ] || return 0
  if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
    die "missing packages: ${missing[*]}" "install them, for example: sudo apt-get install --no-install-recommends ${missing[*]}"
  fi
  heading "Installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  exec 9<"$root"
  flock 9 # two scripts may install at the same time
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; } ||
    die "cannot install ${missing[*]}" "run 'apt-get update' and try again, or install them by hand"
  exec 9<&-
}
