package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"strings"
)

// homepage is where the source is, and where releases are downloaded from unless an order
// says otherwise.
const homepage = "https://gitlab.ilabt.imec.be/tengu/orcon"

// archived is the archive of a command line for one platform.
type archived struct {
	platform

	file, program string
	sum           [sha256.Size]byte
}

// plugin returns the manifest by which krew installs orcon as kubectl orcon.
func plugin(version, url string, archives []archived) string {
	var b strings.Builder
	fmt.Fprintf(&b, `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: orcon
spec:
  version: %s
  homepage: %s
  shortDescription: Relate workloads, and install bundles of them
  description: |
    Orcon gives plain Kubernetes workloads relations, as in Juju. The plugin
    shows and explains relations, checks an installation of Orcon, and installs
    bundles (manifests, kustomizations, Helm charts) in order, with a way back.
  platforms:
`, version, homepage)
	url = strings.TrimSuffix(cmp.Or(url, homepage+"/-/releases/"+version+"/downloads"), "/")
	for _, a := range archives {
		fmt.Fprintf(&b, `    - selector:
        matchLabels:
          os: %s
          arch: %s
      uri: %s/%s
      sha256: %x
      bin: %s
      files:
        - {from: %s, to: .}
        - {from: LICENSE, to: .}
`, a.os, a.arch, url, a.file, a.sum, a.program, a.program)
	}
	return b.String()
}
