// Command docs writes the generated pages of docs/reference: what code, CRDs
// and the command line already say is said there alone.
//
//	docs ROOT OUT ORCON     ROOT is the checkout, with up-to-date CRDs in OUT or ROOT;
//	                        OUT receives docs/reference/…; ORCON is the built program
//
// What must not come in: prose that only a page says. Such a page is written by
// hand.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: docs ROOT OUT ORCON")
		os.Exit(2)
	}
	g := generator{root: checkout(os.Args[1]), out: os.Args[2], orcon: os.Args[3]}
	if err := g.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// generator reads a checkout and writes pages.
type generator struct {
	root       checkout
	out, orcon string
}

// run writes every page.
func (g generator) run(ctx context.Context) error {
	for name, write := range map[string]func() error{
		"pages":      g.templates,
		"metrics":    g.metrics,
		"interfaces": g.interfaces,
		"kinds":      g.kinds,
		"fleet data": g.fleetData,
		"cli":        func() error { return g.cli(ctx) },
	} {
		if err := write(); err != nil {
			return fmt.Errorf("cannot write %s: %w", name, err)
		}
	}
	return nil
}

// write stores the page below docs/reference.
func (g generator) write(name string, p *page) error {
	file := filepath.Join(g.out, "docs", "reference", name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("cannot make a folder: %w", err)
	}
	text := strings.TrimRight(p.String(), "\n") + "\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("cannot write a page: %w", err)
	}
	return nil
}
