package spelling_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// An entry with keys keeps them all, whatever of it is wrong.
func TestNearKeys(t *testing.T) {
	right := func(entry string) bool {
		name, keys, found := strings.Cut(entry, "=")
		return found && name == strings.ToLower(name) && keys != "" && !strings.HasSuffix(keys, ",")
	}
	tests := map[string]struct{ why, entry, want string }{
		"Name":    {"a name in upper case", "DB=username,password", "db=username,password"},
		"Colon":   {"as in other lists", "db: username, password", "db=username,password"},
		"Comma":   {"a key was left out", "db=username,,", "db=username"},
		"Right":   {"nothing is wrong", "db=username", ""},
		"NoKeys":  {"which ones?", "DB=", ""},
		"NoMark":  {"which ones?", "username", ""},
		"TooLong": {"a cure is short", "DB=" + strings.Repeat("k", 300), ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, spelling.NearKeys(tc.entry, right), tc.why) })
	}
}
