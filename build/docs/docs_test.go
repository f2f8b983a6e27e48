package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const help = `check looks at the cluster.

Exit codes: 0 all is well,
1 something is not.

More of it.

Usage:
  orcon check [flags]

Examples:
  orcon check

Cluster:
  check       Look at the cluster

Flags:
  -h, --help   help for check

Use "orcon [command] --help" for more information about a command.
`

// What a command's help says is taken apart, its exit codes from within its text.
func TestParseUsage(t *testing.T) {
	u := parseUsage(help)
	assert.Equal(t, "check looks at the cluster.\n\nMore of it.\n\n", u.long)
	assert.Equal(t, " 0 all is well,\n1 something is not.", u.exits)
	assert.Equal(t, "orcon check [flags]\n", u.line)
	assert.Equal(t, "orcon check\n", u.examples)
	assert.Equal(t, "  -h, --help   help for check\n", u.flags)
	assert.Equal(t, []group{{"Cluster", [][2]string{{"check", "Look at the cluster"}}}}, u.groups)
}

// deep is an orcon whose commands have commands, which have commands.
const deep = `#!/bin/sh
case "$*" in
"--help") below=job ;;
"job --help") below=state ;;
"job state --help") below=show ;;
*) below= ;;
esac
echo "About $*."
echo
echo "Usage:"
echo "  orcon ${*%--help}[flags]"
if [ -n "$below" ]; then
  echo
  echo "Available Commands:"
  echo "  $below   Summary of $below"
fi
`

// The page of a command has all those below it, however deep.
func TestCommandsOfCommands(t *testing.T) {
	g := generator{out: t.TempDir(), orcon: filepath.Join(t.TempDir(), "orcon")}
	require.NoError(t, os.WriteFile(g.orcon, []byte(deep), 0o700))
	require.NoError(t, g.cli(t.Context()))
	text, err := os.ReadFile(filepath.Join(g.out, "docs/reference/cli/job.md"))
	require.NoError(t, err)
	for _, want := range []string{"# orcon job\n", "## orcon job state\n\nAbout job state --help.", "## orcon job state show\n\nAbout job state show --help."} {
		assert.Contains(t, string(text), want)
	}
}

// Every page can be written from this checkout, and is the same each time.
func TestPagesAreDeterministic(t *testing.T) {
	write := func() map[string]string {
		g := generator{root: "../..", out: t.TempDir()}
		for _, page := range []func() error{g.templates, g.metrics, g.interfaces, g.kinds, g.fleetData} {
			require.NoError(t, page())
		}
		all := map[string]string{}
		files, err := filepath.Glob(filepath.Join(g.out, "docs/reference/*.md"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all[filepath.Base(file)] = string(text)
		}
		return all
	}
	pages := write()
	assert.Contains(t, pages["limits.md"], "| one value | 64 KiB |")
	assert.Contains(t, pages["metrics.md"], "| `orcon_injections_total` | counter | events since the start | `outcome` |")
	assert.Contains(t, pages["metrics.md"], "| `orcon_fleet_members` | gauge | number | `namespace`, `set`, `state` | bundle-controller |")
	assert.Contains(t, pages["metrics.md"], "| `orcon_job_collection_failures` | gauge | number |  | job-controller |")
	assert.Contains(t, pages["fleet-data.md"], "| `storage` | string or number | `1Gi` | Size of the volume of the cache. |")
	assert.Contains(t, pages["fleet-data.md"], "| `managed` | list of [entry](#entry) |  |")
	assert.Equal(t, pages, write())
}

// A page that lacks a name that the code has is refused, and names where to add it.
func TestMissingNamesAreRefused(t *testing.T) {
	g := generator{root: "../.."}
	require.ErrorContains(t, g.complete("annotations.md", "# Annotations\n"), "add it to build/docs/pages/annotations.md")
}
