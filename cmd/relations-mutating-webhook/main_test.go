package main

import (
	"flag"
	"io"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"

	"gitlab.ilabt.imec.be/tengu/orcon/webhook/pod"
)

// flags are a command line's own, with glog's as in the process.
func flags() *flag.FlagSet {
	set := flag.NewFlagSet("relations-mutating-webhook", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	flag.CommandLine.VisitAll(func(f *flag.Flag) { set.Var(f.Value, f.Name, f.Usage) })
	return set
}

func TestParse(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "orcon-system")
	tests := map[string]struct {
		why  string
		args []string
		want options
		err  string
	}{
		"Nothing": {why: "self-managed certificate, built-in settings", want: options{namespace: "orcon-system", webhookConfiguration: "relations-mutating-webhook", port: 8080, healthPort: 8081}},
		"Prototype": {
			why:  "PROTOTYPE.md, develop",
			args: []string{"-tenguCfgFile=/etc/webhook/config/tenguconfig.yaml", "-tlsCertFile=/etc/webhook/certs/cert.pem", "-tlsKeyFile=/etc/webhook/certs/key.pem", "-alsologtostderr", "-v=4"},
			want: options{namespace: "orcon-system", configFile: "/etc/webhook/config/tenguconfig.yaml", certFile: "/etc/webhook/certs/cert.pem", keyFile: "/etc/webhook/certs/key.pem", webhookConfiguration: "relations-mutating-webhook", port: 8080, healthPort: 8081},
		},
		"HalfAPair":   {why: "a certificate needs its key", args: []string{"-tlsCertFile=x"}, err: "go together"},
		"Rest":        {why: "a typing error", args: []string{"serve"}, err: `unexpected argument "serve"`},
		"NoNamespace": {why: "whose pods are never injected?", args: []string{"-namespace="}, err: "namespace is not known"},
		"UnknownFlag": {why: "a typing error", args: []string{"-tlsCert=x"}, err: "not defined"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parse(flags(), tc.args)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err, tc.why)
				return
			}
			require.NoError(t, err, tc.why)
			assert.Equal(t, tc.want, got, tc.why)
		})
	}
}

// serverVersion is a cluster of that version.
type serverVersion string

func (v serverVersion) ServerVersion() (*version.Info, error) {
	return &version.Info{GitVersion: string(v)}, nil
}

// SAFETY.md D13: in an older cluster nothing is injected, and it is said why.
func TestLearnVersion(t *testing.T) {
	for have, served := range map[serverVersion]bool{"v1.34.9": false, "v1.35.0": true, "v1.35.0-rc.1": true, "v1.36.3+k3s1": true, "v2.0.0": true} {
		settings, err := pod.NewSource("orcon-system", "", "")
		require.NoError(t, err)
		p := &process{settings: settings}
		require.NoError(t, p.learnVersion(have))
		assert.Equal(t, served, settings.Settings().Unsupported == "", have)
	}
	settings, err := pod.NewSource("orcon-system", "", "")
	require.NoError(t, err)
	require.Error(t, (&process{settings: settings}).learnVersion(serverVersion("new")))
}

// TestStrip: memory holds of a Service what is read, and the controller's
// address is learnt (INJECTION.md I1).
func TestStrip(t *testing.T) {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "relations-controller", Namespace: "orcon-system", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"x": "y", "tengu.io/consumes": "db"}},
		Spec:       corev1.ServiceSpec{ClusterIP: "10.0.0.7", Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	kept, err := strip(s)
	require.NoError(t, err)
	small, ok := kept.(*corev1.Service)
	require.True(t, ok)
	assert.Equal(t, map[string]string{"tengu.io/consumes": "db"}, small.Annotations)
	assert.Empty(t, small.Labels)
	assert.Empty(t, small.Spec.Ports)
	settings, err := pod.NewSource("orcon-system", "", "")
	require.NoError(t, err)
	p := &process{options: options{namespace: "orcon-system"}, settings: settings}
	p.seeController(small)
	assert.Equal(t, "10.0.0.7", settings.Settings().ControllerIP)
	other, err := strip("something else")
	require.NoError(t, err)
	assert.Equal(t, "something else", other)
}
