package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

func main() {
	part := flag.Bool("part", false, "do not report unused rights: the logs are those of some tests only")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: kubectl kustomize FOLDER | audit [-part] FOLDER-WITH-LOGS")
		os.Exit(2)
	}
	ok, err := run(flag.Arg(0), *part, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

// run reads the logs of a folder and prints what was not used and what was forbidden; ok is false if anything was.
// Of a part of the tests, what was not used is left out.
func run(folder string, part bool, manifests io.Reader, out io.Writer) (ok bool, err error) {
	all, err := rights(manifests)
	if err != nil {
		return false, err
	}
	logs, err := filepath.Glob(filepath.Join(folder, "*.log"))
	if err != nil {
		return false, err
	}
	permitted, forbidden := map[act]bool{}, map[act]bool{}
	for _, name := range logs {
		if err := readFile(name, permitted, forbidden); err != nil {
			return false, err
		}
	}
	var denied []string
	for a := range forbidden {
		denied = append(denied, a.String())
	}
	slices.Sort(denied)
	fmt.Fprintf(out, "%d rights, %d logs, %d requests that differ\n", len(all), len(logs), len(permitted))
	wrong := 0
	if !part {
		wrong = list(out, "not used", unused(all, permitted))
	}
	wrong += list(out, "forbidden", denied)
	return len(all) > 0 && len(logs) > 0 && wrong == 0, nil
}

// numbered is the name of a namespace that a test made; excuses have the first word of it.
var numbered = regexp.MustCompile(`\be2e-\d+-\d+/`)

// list prints lines under a heading, each with its excuse, and returns how many have none.
func list(out io.Writer, heading string, lines []string) (wrong int) {
	for _, line := range lines {
		if why := excused()[numbered.ReplaceAllString(line, "e2e/")]; why != "" {
			fmt.Fprintf(out, "%s: %s: %s\n", heading, line, why)
			continue
		}
		wrong++
		fmt.Fprintf(out, "%s: %s\n", heading, line)
	}
	return wrong
}

// readFile reads one log.
func readFile(name string, permitted, forbidden map[act]bool) error {
	log, err := os.Open(name)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // it is only read
	return read(log, permitted, forbidden)
}
