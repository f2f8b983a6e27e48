package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

func newHealthTest() *cobra.Command {
	return &cobra.Command{
		Use:   "test FOLDER",
		Short: "Compare what probes find of objects with what is wanted",
		Long: `health test judges the cases FOLDER/GROUP/Kind/NAME.yaml and reports those with another verdict than they
want. A case has want (Ready, InProgress, Failing, Suspended or Unknown), object (what kubectl get -o
yaml prints), and if you like says, a part of the words, and source. A probe FOLDER/GROUP/Kind.yaml
with ready, failed, terminal, suspended, says, ignores and statusless (true for an object that its
controller gives no status), in CEL over object, takes the place of orcon's own. To use it, write its
ready and failed into spec.healthChecks of a BundleDeployment.

Exit codes: 0 every case is as wanted, 1 some are not, 2 the command failed.`,
		Example: "  orcon health test probes/",
		Args:    arguments,
		RunE:    func(c *cobra.Command, args []string) error { return testHealth(c, args[0]) },
	}
}

func testHealth(c *cobra.Command, folder string) error {
	own, err := ownProbes(folder)
	if err != nil {
		return err
	}
	shipped, err := policy.Shipped()
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*", "*", "*.yaml"))
	if err != nil {
		return fmt.Errorf("cannot read folder %s: %w", folder, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("there are no cases in %s: write one to %s", folder, filepath.Join(folder, "GROUP", "Kind", "NAME.yaml"))
	}
	wrong := 0
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the user names the folder
		if err != nil {
			return fmt.Errorf("cannot read case: %w", err)
		}
		one, err := library.ParseCase(file, text)
		if err != nil {
			return err
		}
		if differs := compareHealth(one, own, shipped); differs != "" {
			wrong++
			fmt.Fprintf(c.OutOrStdout(), "FAIL  %s: %s\n", file, differs)
		}
	}
	if wrong > 0 {
		return failedError{fmt.Errorf("%d of %d cases are not as wanted", wrong, len(files))}
	}
	fmt.Fprintf(c.OutOrStdout(), "all %d cases are as wanted\n", len(files))
	return nil
}

// ownProbes reads the probes of a folder.
func ownProbes(folder string) (*policy.Library, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("cannot read folder %s: %w", folder, err)
	}
	var probes []library.Probe
	var faults []error
	for _, file := range files {
		text, err := os.ReadFile(file) //nolint:gosec // the user names the folder
		if err != nil {
			return nil, fmt.Errorf("cannot read probe: %w", err)
		}
		p, err := library.Parse(filepath.ToSlash(file), text)
		probes, faults = append(probes, p), append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return policy.CompileLibrary(probes)
}

// compareHealth describes how the verdict about a case differs from what is wanted; empty if it does not.
func compareHealth(one library.Case, own, shipped *policy.Library) string {
	k := health.Knowledge{Library: shipped.Probe}
	if status := one.Definition.Status; status != nil && !*status {
		k.Status = health.Absent
	}
	if _, known := own.Probe(one.Object); known {
		k.Library = own.Probe
	}
	v := health.Judge(one.Object, k, time.Now())
	switch {
	case string(v.State) != one.Want:
		return strings.TrimSuffix(fmt.Sprintf("want %s, got %s by %s: %s", one.Want, v.State, v.Rule, v.Says), ": ")
	case !strings.Contains(v.Says, one.Says):
		return fmt.Sprintf("want the words %q, got %q", one.Says, v.Says)
	}
	return ""
}
