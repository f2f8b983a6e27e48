// Command vulnerable reads what govulncheck found, as JSON, and fails if a package that is imported has a vulnerability
// that no exception excuses (TRUST.md R9).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: govulncheck -format json ./... | vulnerable EXCEPTIONS")
		os.Exit(2)
	}
	ok, err := run(os.Args[1], os.Stdin, os.Stdout, time.Now())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run prints what was found; ok is false if anything of it is not excused.
func run(exceptions string, found io.Reader, out io.Writer, now time.Time) (ok bool, err error) {
	file, err := os.Open(exceptions)
	if err != nil {
		return false, fmt.Errorf("cannot read the exceptions: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	excused, err := readExceptions(file)
	if err != nil {
		return false, fmt.Errorf("cannot read %s: %w", exceptions, err)
	}
	all, err := readFindings(found)
	if err != nil {
		return false, fmt.Errorf("cannot read what govulncheck found: %w", err)
	}
	ok = true
	for _, id := range slices.Sorted(maps.Keys(all)) {
		e, listed := excused[id]
		switch {
		case !listed:
			ok = false
			fmt.Fprintf(out, "%s: %s; if that cannot be done, add it to %s with a last day and the reason\n", id, all[id], exceptions)
		case now.After(e.until.AddDate(0, 0, 1)):
			ok = false
			fmt.Fprintf(out, "%s: %s; its exception ended on %s\n", id, all[id], e.until.Format(time.DateOnly))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(excused)) {
		if _, there := all[id]; !there {
			ok = false
			fmt.Fprintf(out, "%s is excused and was not found: remove it from %s\n", id, exceptions)
		}
	}
	fmt.Fprintf(out, "%d known vulnerabilities in imported packages, %d excused\n", len(all), len(excused))
	return ok, nil
}

// exception is why a vulnerability does not fail the check, and until when.
type exception struct {
	until time.Time
	why   string
}

// readExceptions reads lines of an ID, a day and a reason.
func readExceptions(in io.Reader) (map[string]exception, error) {
	all := map[string]exception{}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, " ", 3)
		if len(fields) < 3 {
			return nil, fmt.Errorf("%q: write an ID, the last day and the reason: GO-2026-1 2026-12-31 corrected in Go 1.26.9", line)
		}
		until, err := time.Parse(time.DateOnly, fields[1])
		if err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		all[fields[0]] = exception{until, fields[2]}
	}
	return all, nil
}

// readFindings returns, for each vulnerability of a package that is imported, the package and the cure. It fails if the
// scan did not begin.
func readFindings(in io.Reader) (map[string]string, error) {
	all, scanned := map[string]string{}, false
	for messages := json.NewDecoder(in); ; {
		var m struct {
			Config  *struct{} `json:"config"`
			Finding *struct {
				OSV   string `json:"osv"`
				Fixed string `json:"fixed_version"`
				Trace []struct {
					Module  string `json:"module"`
					Version string `json:"version"`
					Package string `json:"package"`
				} `json:"trace"`
			} `json:"finding"`
		}
		err := messages.Decode(&m)
		if errors.Is(err, io.EOF) && scanned {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		scanned = scanned || m.Config != nil
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Package != "" {
			at := f.Trace[0]
			cure := "no version corrects it: do without the package"
			if f.Fixed != "" {
				cure = fmt.Sprintf("upgrade %s to %s", at.Module, f.Fixed)
			}
			all[f.OSV] = fmt.Sprintf("package %s of %s %s: %s", at.Package, at.Module, at.Version, cure)
		}
	}
}
