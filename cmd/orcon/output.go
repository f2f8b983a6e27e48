package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// The formats of --output. A table is for people; HTML is one page for a browser.
const (
	asTable = "table"
	asJSON  = "json"
	asYAML  = "yaml"
	asHTML  = "html"
)

// output is the format that a command prints, as its flag -o says; it implements pflag.Value.
type output struct {
	format  string
	formats []string
}

// flag adds -o to a command; the first of its formats is the default.
func (o *output) flag(c *cobra.Command, formats ...string) {
	o.format, o.formats = formats[0], formats
	c.Flags().VarP(o, "output", "o", "format: "+orList(formats))
	_ = c.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// Set implements pflag.Value: a format that the command does not print is refused.
func (o *output) Set(format string) error {
	if !slices.Contains(o.formats, format) {
		return fmt.Errorf("use %s", orList(o.formats))
	}
	o.format = format
	return nil
}

// String implements pflag.Value.
func (o *output) String() string { return o.format }

// Type implements pflag.Value.
func (o *output) Type() string { return "format" }

// aside returns where a sentence beside the output goes: standard output has only the format that
// programs read.
func (o *output) aside(s screen) io.Writer {
	if o.format == asTable {
		return s.out
	}
	return s.errs
}

// print writes a value as JSON or YAML, or calls people to print it as a table.
func (o *output) print(s screen, value any, people func() error) error {
	switch o.format {
	case asJSON:
		return writeValueJSON(s.out, value)
	case asYAML:
		text, err := yaml.Marshal(value)
		if err == nil {
			_, err = s.out.Write(text)
		}
		return err
	default:
		return people()
	}
}

// writeValueJSON writes a value as indented JSON.
func writeValueJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// orList returns "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
