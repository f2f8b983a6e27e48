package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
)

// document is a software bill of materials in CycloneDX 1.6, with what Go's build
// information says and nothing else: it knows no licences and no edges between modules.
type document struct {
	Schema       string        `json:"$schema"`
	Format       string        `json:"bomFormat"`
	Spec         string        `json:"specVersion"`
	SerialNumber string        `json:"serialNumber"`
	Version      int           `json:"version"`
	Metadata     metadata      `json:"metadata"`
	Components   []component   `json:"components"`
	Compositions []composition `json:"compositions"`
}

type metadata struct {
	Component component `json:"component"`
}

// component is the binary, a module or the standard library.
type component struct {
	Ref        string     `json:"bom-ref"`
	Type       string     `json:"type"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	Purl       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// composition says how complete the document is about what it names.
type composition struct {
	Aggregate  string   `json:"aggregate"`
	Assemblies []string `json:"assemblies"`
}

// bom returns the bill of materials of a binary: the modules that Go linked into it, with
// the sums of go.sum. Equal binaries have equal ones.
func bom(file, name, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the build information of %s: %w", name, err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", name, err)
	}
	sum := sha256.Sum256(content)
	d := document{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		SerialNumber: serialNumber(sum),
		Metadata: metadata{Component: component{
			Ref: info.Main.Path, Type: "application", Name: name, Version: version,
			Purl:   purl(info.Main.Path, version) + "#" + strings.TrimPrefix(info.Path, info.Main.Path+"/"),
			Hashes: []hash{{Algorithm: "SHA-256", Content: fmt.Sprintf("%x", sum)}},
		}},
		Compositions: []composition{{Aggregate: "complete", Assemblies: []string{info.Main.Path}}},
	}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" {
			d.Metadata.Component.Properties = append(d.Metadata.Component.Properties, property{Name: "go:" + s.Key, Value: s.Value})
		}
	}
	std := strings.TrimPrefix(info.GoVersion, "go")
	d.Components = append(d.Components, component{Ref: "std", Type: "library", Name: "std", Version: std, Purl: purl("std", std)})
	for _, dep := range info.Deps {
		d.Components = append(d.Components, module(dep))
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot write the bill of materials of %s: %w", name, err)
	}
	return append(text, '\n'), nil
}

// module describes a module as it was linked: what replaces it counts.
func module(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	c := component{Ref: m.Path + "@" + m.Version, Type: "library", Name: m.Path, Version: m.Version, Purl: purl(m.Path, m.Version)}
	if m.Sum != "" {
		c.Properties = []property{{Name: "go:sum", Value: m.Sum}}
	}
	return c
}

func purl(path, version string) string {
	return "pkg:golang/" + path + "@" + url.QueryEscape(version)
}

// serialNumber is a UUID (version 8) made of a binary's hash.
func serialNumber(sum [sha256.Size]byte) string {
	id := sum[:16]
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}
