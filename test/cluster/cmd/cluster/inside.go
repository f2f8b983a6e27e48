package main

import (
	"errors"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
)

func newExec() *cobra.Command {
	t := &target{}
	c := &cobra.Command{
		Use:   "exec -- COMMAND [ARGUMENT…]",
		Short: "Run a command with the cluster's kubectl and KUBECONFIG",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := t.live()
			if err != nil {
				return err
			}
			os.Setenv("PATH", r.Dir.Programs()+":"+os.Getenv("PATH"))
			command := exec.Command(args[0], args[1:]...)
			command.Env = environ(r)
			command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
			return command.Run()
		},
	}
	c.Flags().SetInterspersed(false)
	t.flags(c, defaultName)
	return c
}

func newLoad() *cobra.Command {
	return &cobra.Command{Use: "load", RunE: func(*cobra.Command, []string) error { return errors.New("not yet") }}
}

func newInit() *cobra.Command { return &cobra.Command{Use: "init", Hidden: true} }
