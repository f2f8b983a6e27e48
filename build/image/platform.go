package main

import (
	"fmt"
	"strings"
)

// platforms are those of a release unless others are named. Images are for those of Linux.
const platforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// platform is an operating system and an architecture, in Go's words.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func parsePlatforms(list string) ([]platform, error) {
	var all []platform
	for text := range strings.SplitSeq(list, ",") {
		system, arch, found := strings.Cut(text, "/")
		if !found {
			return nil, fmt.Errorf("cannot read platform %q: write OS/ARCHITECTURE, such as linux/arm64: %w", text, errUsage)
		}
		all = append(all, platform{os: system, arch: arch})
	}
	return all, nil
}
