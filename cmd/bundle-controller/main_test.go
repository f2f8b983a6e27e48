package main

import (
	"bytes"
	"flag"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

// none is an environment without variables.
func none(string) string { return "" }

func TestFlags(t *testing.T) {
	tests := map[string]struct {
		why  string
		args []string
		ok   bool
	}{
		"Own":       {args: []string{"-namespace", "orcon-system", "-v=1", "-alsologtostderr"}, ok: true, why: "as deployment/ starts it"},
		"Mirrors":   {args: []string{"-namespace=default", "-mirror=a=b", "-mirror=a=c"}, ok: true, why: "one after the other"},
		"Mirror":    {args: []string{"-namespace=default", "-mirror=a"}, why: "of what it is a mirror cannot be guessed"},
		"Allowed":   {args: []string{"-namespace=default", "-allow=", "-allow=10.0.0.0/8,registry.shop.svc"}, ok: true, why: "empty, as deployment/ has it"},
		"Allow":     {args: []string{"-namespace=default", "-allow=https://registry.shop.svc"}, why: "an address of a page allows nothing"},
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
			_, err := parse(flags, test.args, none)
			assert.Equal(t, test.ok, err == nil, "%s: %v", test.why, err)
		})
	}
}

// TestShippedLimits adds up the memory and the disk that the shipped Deployment gives: neither the kernel
// nor the kubelet ends the controller for what content does (TRUST.md U6, U7).
func TestShippedLimits(t *testing.T) {
	pod := deployment(t).Spec.Template.Spec
	own := ""
	for _, e := range pod.Containers[0].Env {
		if e.Name == "GOMEMLIMIT" {
			own = strings.TrimSuffix(e.Value, "B")
		}
	}
	memory := resource.MustParse(own)
	limits := supply.Places()
	const other = 128 << 20 // what Go does not count: the program, stacks of the kernel
	needed := memory.Value() + int64(limits.Places())*supply.ChildMemory + other
	assert.GreaterOrEqual(t, pod.Containers[0].Resources.Limits.Memory().Value(), needed)
	assert.Equal(t, "cache", pod.Volumes[0].Name)
	assert.GreaterOrEqual(t, pod.Volumes[0].EmptyDir.SizeLimit.Value(), content.MaxCached+limits[queue.Fetch].All)
}

// deployment returns the shipped Deployment.
func deployment(t *testing.T) (d appsv1.Deployment) {
	t.Helper()
	text, err := os.ReadFile("../../deployment/bundle-controller/controller.yaml")
	require.NoError(t, err)
	first, _, _ := bytes.Cut(text, []byte("\n---\n"))
	require.NoError(t, yaml.UnmarshalStrict(first, &d))
	return d
}

// parsed returns the settings of no flags but the namespace.
func parsed(t *testing.T) settings {
	t.Helper()
	flags := flag.NewFlagSet("bundle-controller", flag.ContinueOnError)
	flag.CommandLine.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, f.Name, f.Usage) })
	s, err := parse(flags, []string{"-namespace=orcon-system"}, none)
	require.NoError(t, err)
	return s
}
