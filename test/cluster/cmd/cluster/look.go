package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/component"
	"gitlab.ilabt.imec.be/tengu/orcon/test/cluster/internal/supervisor"
)

// errNoLog says that a component has written no log.
var errNoLog = errors.New("it has no log; `cluster status` names the components")

func newKubeconfig() *cobra.Command {
	t, file := &target{}, false
	c := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the administrator's kubeconfig",
		Example: `  cluster kubeconfig > kubeconfig
  export KUBECONFIG=$(cluster kubeconfig --file)`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := t.live()
			if err != nil {
				return err
			}
			if file {
				fmt.Fprintln(c.OutOrStdout(), r.Dir.Kubeconfig())
				return nil
			}
			return copyFile(c.OutOrStdout(), r.Dir.Kubeconfig())
		},
	}
	t.flags(c, defaultName)
	c.Flags().BoolVar(&file, "file", false, "print the file's name only")
	return c
}

func newLogs() *cobra.Command {
	t := &target{}
	c := &cobra.Command{
		Use:   "logs COMPONENT",
		Short: "Print a component's log",
		Example: `  cluster logs kube-apiserver
  cluster logs --name second kubelet | tail`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := t.live()
			if err != nil {
				return err
			}
			err = copyFile(c.OutOrStdout(), r.Dir.Log(args[0]))
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("cannot print log of %q: %w", args[0], errNoLog)
			}
			return err
		},
	}
	t.flags(c, defaultName)
	return c
}

// statusReport is what `status --json` prints: the cluster as `run` reports
// it, with the components as they are now.
type statusReport struct {
	supervisor.Info

	Components []component.Status `json:"components"`
}

func newStatus() *cobra.Command {
	t, asJSON := &target{}, false
	c := &cobra.Command{
		Use:   "status",
		Short: "Say how the cluster and its components are",
		Example: `  cluster status
  cluster status --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := t.live()
			if err != nil {
				return err
			}
			all, err := supervisor.Components(c.Context(), r.Dir)
			if err != nil {
				return err
			}
			report := statusReport{Info: supervisor.Describe(r), Components: all}
			if asJSON {
				return json.NewEncoder(c.OutOrStdout()).Encode(report)
			}
			printStatus(c.OutOrStdout(), report)
			return nil
		},
	}
	t.flags(c, defaultName)
	c.Flags().BoolVar(&asJSON, "json", false, "print one line of JSON")
	return c
}

func printStatus(w io.Writer, r statusReport) {
	fmt.Fprintf(w, "cluster     %s (%s)\napi server  %s\nfolder      %s\nsupervisor  %d\n\n",
		r.Name, r.Form, r.APIServer, r.Dir, r.Supervisor)
	for _, c := range r.Components {
		how := fmt.Sprintf("running, pid %d", c.PID)
		if c.PID == 0 {
			how = "ended: " + c.Exit
		}
		fmt.Fprintf(w, "%-24s %s\n", c.Name, how)
	}
}

func newControl(verb, short string) *cobra.Command {
	t := &target{}
	c := &cobra.Command{
		Use:   verb + " COMPONENT",
		Short: short,
		Example: fmt.Sprintf(`  cluster %[1]s kube-apiserver
  cluster %[1]s --name second kubelet`, verb),
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := t.live()
			if err != nil {
				return err
			}
			return supervisor.Control(c.Context(), r.Dir, verb, args[0])
		},
	}
	t.flags(c, defaultName)
	return c
}

func copyFile(w io.Writer, name string) error {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("cannot print %s: %w", name, err)
	}
	defer func() { _ = file.Close() }()
	if _, err := io.Copy(w, file); err != nil {
		return fmt.Errorf("cannot print %s: %w", name, err)
	}
	return nil
}
