// Measure counts what makes a house of code hard to live in: large types, twins,
// large packages, bare packages, odd phrases, long lines. scripts/house.sh compares
// a tree with its parent.
//
//	measure TREE                 the measures of a tree
//	measure TREE PARENT          the same beside those of its parent; fails if one is worse
//	measure --list NAME TREE     what a measure counts, with file and line
//
// What must not come in: judgements that a reader cannot check with --list.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// errWorse reports that a measure is worse than in the parent.
var errWorse = errors.New("a measure is worse than in the parent commit")

// run carries out one command line.
func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("measure", flag.ContinueOnError)
	name := flags.String("list", "", "list what the `measure` counts")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 1 || flags.NArg() > 2 {
		return errors.New("usage: measure [--list NAME] TREE [PARENT]")
	}
	var trees []*tree
	for _, folder := range flags.Args() {
		t, err := read(os.DirFS(folder))
		if err != nil {
			return err
		}
		trees = append(trees, t)
	}
	if *name != "" {
		return list(out, *name, trees[0])
	}
	if len(trees) == 1 {
		trees = append(trees, nil)
	}
	return compare(out, trees[0], trees[1])
}

// list prints what one measure counts.
func list(out io.Writer, name string, t *tree) error {
	var names []string
	for _, m := range measures() {
		if m.name == name {
			write(out, m.list(t))
			return nil
		}
		names = append(names, m.name)
	}
	return fmt.Errorf("unknown measure %q: take one of %s", name, strings.Join(names, ", "))
}

// write prints offenders, one a line.
func write(out io.Writer, offenders []offender) {
	for _, o := range offenders {
		fmt.Fprintf(out, "%s: %s\n", o.place, o.what)
	}
}

// compare prints the table of measures, then what is new in those that are worse.
// Without a parent nothing is worse.
func compare(out io.Writer, now, parent *tree) error {
	var worse []measure
	fmt.Fprintf(out, "| %-18s | %-50s | parent | now | goal |\n|---|---|---|---|---|\n", "measure", "counts")
	for _, m := range measures() {
		value, before, mark := m.value(now), "-", ""
		if parent != nil {
			previous := m.value(parent)
			before = fmt.Sprint(previous)
			if m.worse(previous, value) {
				worse, mark = append(worse, m), " WORSE"
			}
		}
		fmt.Fprintf(out, "| %-18s | %-50s | %6s | %3d | %4d |%s\n", m.name, m.title, before, value, m.goal, mark)
	}
	for _, m := range worse {
		fmt.Fprintf(out, "\nWORSE: %s. Cure: %s.\n", m.title, m.cure)
		write(out, added(m.list(parent), m.list(now)))
	}
	if len(worse) > 0 {
		return errWorse
	}
	return nil
}
