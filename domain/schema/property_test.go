package schema_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// Whatever is in a bag: Check comes back, says the same again, tells places in
// order, and holds no value of a secret field (RELATIONS.md P5).
func TestCheckOfAnyBag(t *testing.T) {
	all, err := schema.Library()
	require.NoError(t, err)
	value := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "1", "[]", "{}", `[{}]`, `[{"a":1}]`, "null", "true", `"x"`, "[1,1]", "secret:0123456789abcdefghij", "http://a", "1e400"}))
	rapid.Check(t, func(t *rapid.T) {
		i := rapid.SampledFrom(all).Draw(t, "interface")
		e := rapid.SampledFrom([]end{ends()["provider/application"], ends()["provider/unit"], ends()["requirer/application"], ends()["requirer/unit"], {application.Peer, true}}).Draw(t, "end")
		bag := rapid.MapOf(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"host", "url", "type"})), value).Draw(t, "bag")
		for _, f := range i.Bag(e.role, e.isApplication).Fields {
			if rapid.Bool().Draw(t, "has") {
				bag[f.Name] = value.Draw(t, f.Name)
			}
			if f.Secret && rapid.Bool().Draw(t, "plain") {
				bag[f.Name] = "hunter2-" + rapid.StringN(0, 9, -1).Draw(t, "password")
			}
		}
		found := i.Check(e.role, e.isApplication, bag)
		assert.Equal(t, found, i.Check(e.role, e.isApplication, bag))
		for n, v := range found {
			assert.NotContains(t, v.Error(), "hunter2")
			assert.NotEmpty(t, v.Reason)
			if n > 0 && n < schema.MaxViolations-1 {
				assert.LessOrEqual(t, found[n-1].Path, v.Path)
			}
		}
	})
}
