package main

import (
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiversion "k8s.io/apimachinery/pkg/version"
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

// serverVersion is an API server of some version.
type serverVersion string

func (v serverVersion) ServerVersion() (*apiversion.Info, error) {
	return &apiversion.Info{GitVersion: string(v)}, nil
}

// SAFETY.md D13: Kubernetes 1.35 or newer.
func TestCheckVersion(t *testing.T) {
	for version, ok := range map[string]bool{
		"v1.34.9": false, "v1.35.0": true, "v1.35.0-rc.1": true, "v1.36.1+k3s1": true, "v1.37.2": true, "v2.0.0": true, "?": false,
	} {
		err := checkVersion(serverVersion(version))
		assert.Equal(t, ok, err == nil, "%s: %v", version, err)
	}
	require.ErrorContains(t, checkVersion(serverVersion("v1.34.9")), "1.35", "it says what is needed")
}
