package library

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

//go:embed */*.yaml
var files embed.FS

// Probe judges the objects of one kind by expressions in CEL over "object". A failure comes before a
// suspension, that before Ready; what none of them is true for is in progress.
type Probe struct {
	Group string `yaml:"-"`
	Kind  string `yaml:"-"`
	// Source is the file of a repository, at a commit or a version, that describes the states.
	Source string `yaml:"source"`
	// Versions are those of the API that it is for; empty for all.
	Versions []string `yaml:"versions"`
	// Failed is true for a failure that may pass, Terminal for one that does not.
	Ready     string `yaml:"ready"`
	Failed    string `yaml:"failed"`
	Terminal  string `yaml:"terminal"`
	Suspended string `yaml:"suspended"`
	// Says returns a text about an object that is not ready.
	Says string `yaml:"says"`
	// Ignores are types of conditions, and paths, that do not overrule Ready.
	Ignores []string `yaml:"ignores"`
	// Statusless is true for an object that its controller gives no status; any other one without is in progress.
	Statusless string `yaml:"statusless"`
}

// Parse reads the probe of a file, which is named GROUP/Kind.yaml. The error names the file, and the line of
// a field that is unknown.
func Parse(file string, text []byte) (Probe, error) {
	group, kind := path.Base(path.Dir(file)), strings.TrimSuffix(path.Base(file), ".yaml")
	p := Probe{Group: group, Kind: kind}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil {
		return p, fmt.Errorf("cannot read probe %s: %w", file, err)
	}
	switch {
	case group == "." || group == "/" || kind == "" || kind == path.Base(file):
		return p, fmt.Errorf("cannot read probe %s: name the file GROUP/Kind.yaml, after the kind that it judges", file)
	case slices.Contains(p.Ignores, "status"):
		return p, fmt.Errorf("cannot read probe %s: ignores names no condition of status: "+
			"write statusless, an expression that is true for an object that its controller gives no status", file)
	case p.Ready == "":
		return p, fmt.Errorf("cannot read probe %s: it never calls an object ready: add ready, an expression over object", file)
	}
	return p, nil
}

// Probes returns the probes that are shipped, by group and kind.
func Probes() ([]Probe, error) {
	var all []Probe
	var faults []error
	err := fs.WalkDir(files, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := files.ReadFile(file)
		if err != nil {
			return err
		}
		p, err := Parse(file, text)
		all, faults = append(all, p), append(faults, err)
		return nil
	})
	return all, errors.Join(append(faults, err)...)
}

// Version returns the digest of the shipped probes. No plan depends on it: a new version of them would void
// every approval.
func Version() string {
	sum := sha256.New()
	_ = fs.WalkDir(files, ".", func(file string, _ fs.DirEntry, err error) error { // the files are embedded
		text, _ := files.ReadFile(file)
		_, _ = fmt.Fprintf(sum, "%s\n%d\n%s", file, len(text), text)
		return err
	})
	return hex.EncodeToString(sum.Sum(nil)[:6])
}
