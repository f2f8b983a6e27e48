package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// preset is an environment variable by which the chart of a fleet sets up a manager. It is the default of a flag.
type preset struct {
	name, flag string
	// read returns the value of the flag, or the error with its cure; nil takes the value as it is.
	read func(string) (string, error)
}

// presets are those that Qontract's chart, and deployment/fleet-chart, give to integrations-manager.
//
//nolint:gochecknoglobals // a table
var presets = []preset{
	{name: "INTEGRATION_NAME", flag: "integration"},
	{name: "ENVIRONMENT_NAME", flag: "environment"},
	{name: "MANAGER_DRY_RUN", flag: "dryRun", read: dryRun},
	{name: "INTEGRATIONS_MANAGER_UPSTREAM", flag: "upstream"},
	{name: "INTEGRATIONS_MANAGER_IMAGE", flag: "image"},
	{name: "INTEGRATIONS_MANAGER_IMAGE_TAG_FROM_REF", flag: "imageTagFromRef"},
	{name: "SLEEP_DURATION_SECS", flag: "dataInterval", read: seconds},
	{name: "LOG_FILE", flag: "logFile"},
}

// argumentsVariable has further flags, which the data give as extraArgs.
const argumentsVariable = "INTEGRATION_EXTRA_ARGS"

// setDefaults sets flags by variables; those without a value set none.
func setDefaults(flags *flag.FlagSet, getenv func(string) string) error {
	for _, v := range presets {
		value := getenv(v.name)
		if value == "" {
			continue
		}
		text, err := value, error(nil)
		if v.read != nil {
			text, err = v.read(value)
		}
		if err == nil {
			err = flags.Set(v.flag, text)
		}
		if err != nil {
			return fmt.Errorf("variable %s is %q: %w", v.name, value, err)
		}
	}
	return further(flags, getenv(argumentsVariable))
}

// further sets flags by the arguments in a variable.
func further(flags *flag.FlagSet, arguments string) error {
	more := flag.NewFlagSet(flags.Name(), flag.ContinueOnError)
	more.SetOutput(io.Discard)
	flags.VisitAll(func(f *flag.Flag) { more.Var(f.Value, f.Name, f.Usage) })
	err := more.Parse(strings.Fields(arguments))
	if err == nil && more.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", more.Arg(0))
	}
	if err != nil {
		return fmt.Errorf("variable %s is %q: %w: use flags of bundle-controller, joined by blanks, as in -leaderElect=false; "+
			"--help lists them", argumentsVariable, arguments, err)
	}
	return nil
}

// dryRun reads the argument that a manager of Qontract takes.
func dryRun(text string) (string, error) {
	switch text {
	case "--dry-run":
		return "true", nil
	case "--no-dry-run":
		return "false", nil
	}
	return "", errors.New("use --dry-run to only plan, or --no-dry-run to write")
}

// seconds reads a number of seconds as a duration.
func seconds(text string) (string, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n == 0 {
		return "", errors.New("use a whole number of seconds from 1, such as 300")
	}
	return (time.Duration(n) * time.Second).String(), nil
}
