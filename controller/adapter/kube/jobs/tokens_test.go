package jobs

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// minter counts the tokens that it has made.
type minter struct{ minted int }

// Mintable implements Minter.
func (m *minter) Mintable(_ context.Context, name string) error {
	if name == "none" {
		return errors.New("there is no such RunNode")
	}
	return nil
}

// Mint implements Minter.
func (m *minter) Mint(_ context.Context, name string) (string, error) {
	if name == "gone" {
		return "", errors.New("it is gone")
	}
	m.minted++
	return name + strconv.Itoa(m.minted), nil
}

// JOBS-DESIGN.md 16: a run has tokens of RunNodes that are permitted in its namespace, each time another one, and to look
// whether it may makes none.
func TestTokens(t *testing.T) {
	w, m := newWorld(t), &minter{}
	w.permitted = []string{"lab-1", "none", "gone"}
	s := RunSecrets{Live: w, Tokens: JoinTokens{Reviews: w, Minter: m}}
	files := []run.SecretFile{{Name: "token", JoinToken: "lab-1"}}
	require.NoError(t, s.Check(t.Context(), "shop", files))
	assert.Zero(t, m.minted)
	for _, want := range []string{"lab-11", "lab-12"} {
		values, err := s.Read(t.Context(), "shop", files)
		require.NoError(t, err)
		assert.Equal(t, map[string][]byte{"token": []byte(want)}, values)
	}
	const refused = "cannot mint a token for RunNode lab-2, which is file token of the run: ServiceAccount job-controller of " +
		"orcon-system may not create runnodes/token of API group jobs.orcon.tengu.io for runs of namespace shop: a cluster " +
		"administrator permits it by kubectl create rolebinding orcon-job-tokens -n shop --clusterrole=orcon-job-tokens " +
		"--serviceaccount=orcon-system:job-controller"
	for _, tc := range []struct{ why, namespace, node, says string }{
		{"another RunNode", "shop", "lab-2", refused},
		{"another namespace", "web", "lab-1", "for runs of namespace web: "},
		{"it is not there", "shop", "none", "there is no such RunNode"},
		{"it goes meanwhile", "shop", "gone", "it is gone"},
	} {
		files[0].JoinToken = tc.node
		_, err := s.Read(t.Context(), tc.namespace, files)
		require.ErrorContains(t, err, tc.says, tc.why)
		if tc.node != "gone" {
			require.ErrorContains(t, s.Check(t.Context(), tc.namespace, files), tc.says, tc.why)
		}
	}
	assert.Equal(t, 2, m.minted)
	w.fault = errors.New("no API server")
	require.ErrorContains(t, s.Check(t.Context(), "shop", files), "cannot find out whether it is permitted: no API server")
}
