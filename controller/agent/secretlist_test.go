package agent

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// What secret-ids and secret-info-get print of a handler's own writes is what the controller stores of them (RELATIONS.md
// E11).
func TestSecretsAsTheHandlerWritesThem(t *testing.T) {
	granted := func(units ...string) *wire.Secret {
		s := &wire.Secret{Id: someID, Revision: 3, Label: "admin"}
		for _, unit := range units {
			s.Access = append(s.Access, &wire.SecretAccess{Relation: "r", Application: "db", Unit: unit})
		}
		return s
	}
	tests := map[string]struct {
		why    string
		stored *wire.Secret
		writes [][]string
		want   []string
		gone   bool
	}{
		"Stored":         {why: "as it is", stored: granted("", "0"), want: []string{"db store:7", "db/0 store:7"}},
		"Revoked":        {why: "no one may read it", stored: granted(""), writes: [][]string{{"secret-revoke", someID, "--app", "db"}}},
		"RevokedByScope": {why: "a relation's grants are its units' too", stored: granted("", "0"), writes: [][]string{{"secret-revoke", someID, "-r", "store:7"}}},
		"RevokedByApp":   {why: "an application's grants are its units' too", stored: granted("0", "1"), writes: [][]string{{"secret-revoke", someID, "--app", "db"}}},
		"RevokedOfUnit": {
			why: "the others may read it", stored: granted("", "0", "1"), writes: [][]string{{"secret-revoke", someID, "--unit", "db/0"}},
			want: []string{"db store:7", "db/1 store:7"},
		},
		"GrantedAgain": {
			why: "a grant is one however often it is made", stored: granted("0"), writes: [][]string{{"secret-grant", someID, "-r", "store:7", "--unit", "db/0"}},
			want: []string{"db/0 store:7"},
		},
		"RevokedAndGranted": {
			why: "in their order", stored: granted("0"),
			writes: [][]string{{"secret-revoke", someID, "-r", "store:7"}, {"secret-grant", someID, "-r", "store:7", "--unit", "db/1"}},
			want:   []string{"db/1 store:7"},
		},
		"Removed": {why: "it is no more", stored: granted("0"), writes: [][]string{{"secret-grant", someID, "-r", "store:7"}, {"secret-remove", someID}}, gone: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s, turn := elected(t)
			s.controller.secrets = []*wire.Secret{tc.stored}
			for _, words := range tc.writes {
				result := s.types(turn, words...)
				require.Zero(t, result.ExitCode, string(result.Stderr))
			}
			assert.Equal(t, tc.gone, len(s.types(turn, "secret-ids").Stdout) == 0, tc.why)
			printed := s.types(turn, "secret-info-get", someID, "--format", "json")
			require.Equal(t, tc.gone, printed.ExitCode != 0, string(printed.Stderr))
			if tc.gone {
				return
			}
			var all map[string]struct {
				Access []struct{ Target, Scope string }
			}
			require.NoError(t, json.Unmarshal(printed.Stdout, &all))
			var got []string
			for _, a := range all[someID].Access {
				got = append(got, a.Target+" "+a.Scope)
			}
			assert.ElementsMatch(t, tc.want, got, tc.why)
		})
	}
}
