package installation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/version"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
)

// serverVersion is an API server of some version.
type serverVersion string

func (v serverVersion) ServerVersion() (*version.Info, error) {
	return &version.Info{GitVersion: string(v)}, nil
}

// SAFETY.md D13: Kubernetes 1.35 or newer.
func TestCheckVersion(t *testing.T) {
	for have, served := range map[string]bool{
		"v1.34.9": false, "v1.35.0": true, "v1.35.0-rc.1": true, "v1.36.3+k3s1": true, "v2.0.0": true,
	} {
		err := installation.CheckVersion(serverVersion(have))
		if served {
			require.NoError(t, err, have)
		} else {
			require.ErrorIs(t, err, installation.ErrTooOld, have)
		}
	}
	err := installation.CheckVersion(serverVersion("new"))
	require.Error(t, err)
	require.NotErrorIs(t, err, installation.ErrTooOld, "what is not known is not old")
}

// SAFETY.md S6: the prototype's namespace works, and warns.
func TestAdvice(t *testing.T) {
	assert.Contains(t, installation.Advice("default"), "orcon-system")
	assert.Empty(t, installation.Advice("orcon-system"))
}

func TestOwnNamespace(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "orcon-system")
	assert.Equal(t, "orcon-system", installation.OwnNamespace())
}
