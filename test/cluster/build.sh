#!/bin/sh
# Builds bin/cluster (the supervisor), bin/kube (all servers of Kubernetes in one
# binary), bin/kubectl and bin/pause (the sandbox image's only program) at the top of
# the repository. The first build compiles Kubernetes and takes minutes; with nothing
# changed it takes seconds.
#
#   test/cluster/build.sh            into bin/
#   test/cluster/build.sh FOLDER     into FOLDER
set -eu

case "${1:-}" in -h | --help) sed -n '2,/^[^#]/{/^#/!d;s/^# \{0,1\}//;p}' "$0"; exit 0 ;; esac

here=$(cd "$(dirname "$0")" && pwd)
exec 9<"$here"
flock 9 # a second build finds everything up to date
bin=${1:-$here/../../bin}
mkdir -p "$bin"
bin=$(cd "$bin" && pwd)
export GOGC="${GOGC:-400}" # the compiler spends a fifth less of the processor, and a quarter more memory
version=$(cd "$here/components" && go list -m -f '{{.Version}}' k8s.io/kubernetes)
minor=${version#v1.}
minor=${minor%%.*}

# Without these, version detection in the cluster would see v0.0.0.
stamp="-s -w"
for package in k8s.io/component-base/version k8s.io/client-go/pkg/version; do
	stamp="$stamp -X $package.gitVersion=$version -X $package.gitMajor=1 -X $package.gitMinor=$minor"
done

# build OUTPUT FOLDER PACKAGE LDFLAGS builds beside the old file and then takes
# its place, so that a cluster that runs it is not disturbed. The go command
# links again only if what it finds there is out of date.
build() {
	cp -pf "$bin/$1" "$bin/$1.next" 2>/dev/null || true
	(cd "$here/$2" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -gcflags=all=-dwarf=false -ldflags "$4" -o "$bin/$1.next" "$3")
	if cmp -s "$bin/$1.next" "$bin/$1"; then
		rm -f "$bin/$1.next"
	else
		mv -f "$bin/$1.next" "$bin/$1"
	fi
}

# progress PID reports every 15 s that the build is still running.
progress() {
	waited=0
	while sleep 1 && kill -0 "$1" 2>/dev/null; do
		waited=$((waited + 1))
		if [ $((waited % 15)) -eq 0 ]; then
			echo "building Kubernetes $version: ${waited}s so far (the first build takes 4 to 8 minutes on 2 cores)"
		fi
	done
}

started=$(date +%s)
build cluster . ./cmd/cluster "-s -w"
build pause components ./cmd/pause "-s -w"
{ build kube components ./cmd/kube "$stamp"; build kubectl components ./cmd/kubectl "$stamp"; } &
building=$!
trap 'kill "$building" 2>/dev/null || true; rm -f "$bin"/*.next' EXIT INT TERM
progress "$building"
if ! wait "$building"; then
	echo "cannot build Kubernetes: see the messages above" >&2
	exit 1
fi
trap - EXIT
echo "$bin: cluster, kube, kubectl and pause are up to date after $(($(date +%s) - started))s"
