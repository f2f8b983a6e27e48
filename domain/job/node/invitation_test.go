package node_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
)

func TestInvitation(t *testing.T) {
	whole := node.Invitation{Address: "https://orcon.example:9443", Node: "lab-1", Secret: "s", Authorities: []string{"sha256:a"}}
	got, err := node.ParseInvitation(" " + whole.String() + "\n")
	require.NoError(t, err, "a file ends with a line break")
	assert.Equal(t, whole, got)
	for name, change := range map[string]func(*node.Invitation){
		"no address":   func(i *node.Invitation) { i.Address = "" },
		"no TLS":       func(i *node.Invitation) { i.Address = "http://orcon.example" },
		"no name":      func(i *node.Invitation) { i.Node = "" },
		"no secret":    func(i *node.Invitation) { i.Secret = "" },
		"no authority": func(i *node.Invitation) { i.Authorities = nil },
	} {
		t.Run(name, func(t *testing.T) {
			part := whole
			change(&part)
			_, err := node.ParseInvitation(part.String())
			assert.ErrorContains(t, err, "is not complete")
		})
	}
	_, err = node.ParseInvitation("secret-word")
	require.ErrorContains(t, err, "use the whole word")
	assert.NotContains(t, err.Error(), "secret-word")
}

// What is read is written as it was, and nothing else is read.
func FuzzParseInvitation(f *testing.F) {
	f.Add(node.Invitation{Address: "https://a", Node: "n", Secret: "s", Authorities: []string{"d"}}.String())
	f.Add("orcon-node.e30")
	f.Add("orcon-node.")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		i, err := node.ParseInvitation(text)
		if err != nil {
			return
		}
		again, err := node.ParseInvitation(i.String())
		require.NoError(t, err)
		assert.Equal(t, i, again)
	})
}
