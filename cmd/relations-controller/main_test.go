package main

import (
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFlags(t *testing.T) {
	tests := map[string]struct {
		why  string
		args []string
		ok   bool
	}{
		"Own":       {args: []string{"-namespace", "orcon-system", "-v=1", "-alsologtostderr"}, ok: true, why: "the prototype's logging flags work"},
		"Files":     {args: []string{"-namespace=default", "-tlsCertFile=a", "-tlsKeyFile=b", "-trustFile=c"}, ok: true, why: "somebody else signs"},
		"TwoFiles":  {args: []string{"-namespace=default", "-tlsCertFile=a", "-tlsKeyFile=b"}, why: "agents would trust nobody"},
		"Nowhere":   {args: nil, why: "the namespace cannot be guessed"},
		"Rest":      {args: []string{"-namespace=default", "run"}, why: "what is no flag was meant for something"},
		"WrongFlag": {args: []string{"-namspace=default"}, why: "a typo is told"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "")
			flags := flag.NewFlagSet("relations-controller", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			flag.CommandLine.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
			_, err := parse(flags, test.args)
			assert.Equal(t, test.ok, err == nil, "%s: %v", test.why, err)
		})
	}
}
