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
		"Own":       {args: []string{"-namespace", "orcon-system", "-v=1", "-alsologtostderr"}, ok: true, why: "as deployment/ starts it"},
		"Mirrors":   {args: []string{"-namespace=default", "-mirror=a=b", "-mirror=a=c"}, ok: true, why: "one after the other"},
		"Mirror":    {args: []string{"-namespace=default", "-mirror=a"}, why: "of what it is a mirror cannot be guessed"},
		"Nowhere":   {args: nil, why: "the namespace cannot be guessed"},
		"Busy":      {args: []string{"-namespace=default", "-resync=0s"}, why: "it would never rest"},
		"Rest":      {args: []string{"-namespace=default", "run"}, why: "what is no flag was meant for something"},
		"WrongFlag": {args: []string{"-namspace=default"}, why: "a typo is told"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("POD_NAMESPACE", "")
			flags := flag.NewFlagSet("bundle-controller", flag.ContinueOnError)
			flags.SetOutput(io.Discard)
			flag.CommandLine.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
			_, err := parse(flags, test.args)
			assert.Equal(t, test.ok, err == nil, "%s: %v", test.why, err)
		})
	}
}
