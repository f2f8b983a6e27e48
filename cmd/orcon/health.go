package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/health/library"
)

func newHealth() *cobra.Command {
	c := &cobra.Command{
		Use:   "health",
		Short: "Explain how objects of a bundle are judged, and test probes",
		Long: `health shows by which rules bundles wait for objects: rules of built-in kinds, probes that come with
orcon, and for other kinds one rule that weighs what their status says. No cluster is used.`,
		Example: `  orcon health list
  kubectl get certificate web -o yaml | orcon health explain -f -`,
		Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newHealthList(), newHealthExplain(), newHealthTest())
	return c
}

// judgedKind is one line of health list.
type judgedKind struct {
	Kind string `json:"kind"`
	// By is rule or probe.
	By     string `json:"by"`
	Ready  string `json:"ready,omitempty"`
	Source string `json:"source,omitempty"`
}

func newHealthList() *cobra.Command {
	var out output
	c := &cobra.Command{
		Use:   "list",
		Short: "List the kinds that are judged by a rule or a probe of their own",
		Long: `health list shows the built-in kinds that have a rule, and the kinds that a probe of orcon judges, with
the file that the probe was written from. All other kinds are judged by what their status says.`,
		Example: "  orcon health list\n  orcon health list -o json | jq -r '.[].kind'",
		Args:    arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			probes, err := library.Probes()
			if err != nil {
				return err
			}
			var all []judgedKind
			for _, kind := range health.Kinds() {
				all = append(all, judgedKind{Kind: kind, By: "rule"})
			}
			for _, p := range probes {
				all = append(all, judgedKind{p.Kind + "." + p.Group, "probe", p.Ready, p.Source})
			}
			return out.print(screenOf(c), all, func() error {
				t := screenOf(c).table("KIND", "BY", "SOURCE")
				for _, k := range all {
					t.row(k.Kind, k.By, k.Source)
				}
				return t.print()
			})
		},
	}
	out.flag(c, asTable, asJSON, asYAML)
	return c
}

func newHealthExplain() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "explain -f FILE",
		Short: "Judge objects, and print every piece of evidence",
		Long: `health explain judges the objects of a file as a bundle would, and prints the rule that decided with all
evidence that it found. It does not look at pods, Events and endpoints, as a bundle does, nor at
spec.healthChecks of a BundleDeployment.

Exit codes: 0 printed, 2 the command failed.`,
		Example: `  kubectl get certificate web -o yaml | orcon health explain -f -
  kubectl get -f deploy/ -o yaml | orcon health explain -f -`,
		Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("cannot explain: name the objects: orcon health explain -f FILE, or -f - for standard input")
			}
			objects, err := readObjects(c, file)
			if err != nil {
				return err
			}
			shipped, err := policy.Shipped()
			if err != nil {
				return err
			}
			for _, o := range objects {
				if err := explainHealth(screenOf(c), o, health.Judge(o, health.Knowledge{Library: shipped.Probe}, time.Now())); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringVarP(&file, "file", "f", "", "file of the objects, as kubectl get -o yaml prints them; - for standard input")
	return c
}

// readObjects reads the objects of a file, also those of a list.
func readObjects(c *cobra.Command, file string) ([]bundle.Object, error) {
	manifests, err := readManifests(c, file)
	if err != nil {
		return nil, err
	}
	var all []bundle.Object
	for _, m := range manifests {
		var o bundle.Object
		if err := json.Unmarshal(m.json, &o); err != nil {
			return nil, fmt.Errorf("cannot read %s: %w", file, err)
		}
		items, isList := o["items"].([]any)
		for _, item := range items {
			if fields, ok := item.(map[string]any); ok {
				all = append(all, fields)
			}
		}
		if !isList && o != nil {
			all = append(all, o)
		}
	}
	return all, nil
}

// explainHealth prints a verdict with its evidence.
func explainHealth(s screen, o bundle.Object, v health.Verdict) error {
	says := ""
	if v.Says != "" {
		says = ": " + v.Says
	}
	fmt.Fprintf(s.out, "%s: %s, by %s%s\n", o.ID(), v.State, v.Rule, says)
	if len(v.Evidence) == 0 {
		return nil
	}
	t := s.table("EVIDENCE", "VALUE", "COUNTS AS")
	for _, e := range v.Evidence {
		t.row(e.Path, e.Value, string(e.Class))
	}
	return t.print()
}
