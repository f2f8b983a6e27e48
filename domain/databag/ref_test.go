package databag_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// No content, an empty one and one with keys are three things; the first two read alike.
func TestRef(t *testing.T) {
	empty := databag.Ref{Version: databag.Version(nil)}
	said := databag.Ref{Version: databag.Version(map[string]string{"a": "1"})}
	tests := map[string]struct {
		why         string
		content     map[string]string
		want        databag.Ref
		zero, empty bool
		orEmpty     databag.Ref
	}{
		"None":  {why: "what is not kept cannot be read", zero: true, empty: true, orEmpty: empty},
		"Empty": {why: "a bag without keys is kept", content: map[string]string{}, want: empty, empty: true, orEmpty: empty},
		"Keys":  {why: "its version is that of the content (RELATIONS.md V1)", content: map[string]string{"a": "1"}, want: said, orEmpty: said},
		"Value": {
			why: "a key without a value is a key", content: map[string]string{"a": ""},
			want: databag.Ref{Version: databag.Version(map[string]string{"a": ""})}, orEmpty: databag.Ref{Version: databag.Version(map[string]string{"a": ""})},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ref := databag.RefTo(test.content)
			assert.Equal(t, test.want, ref, test.why)
			assert.Equal(t, test.zero, ref.IsZero(), test.why)
			assert.Equal(t, test.empty, ref.Empty(), test.why)
			assert.Equal(t, test.orEmpty, ref.OrEmpty(), test.why)
		})
	}
}
