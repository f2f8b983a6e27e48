package tool_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// The table has every variable that the two places set which make a handler's
// environment, and no other.
func TestHandlerVariablesAreComplete(t *testing.T) {
	written := []string{tool.ContextID, tool.RelationID, tool.RelationUID, tool.RemoteApp, tool.RemoteUnit}
	for _, file := range []string{"handler.go", "../../controller/agent/turn.go"} {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`"((?:JUJU|ORCON)_[A-Z_]+)"`).FindAllSubmatch(source, -1) {
			written = append(written, string(match[1]))
		}
	}
	slices.Sort(written)
	var documented []string
	for _, v := range tool.HandlerVariables() {
		documented = append(documented, v.Name)
		assert.NotEmpty(t, v.Meaning, v.Name)
	}
	assert.Equal(t, slices.Compact(written), slices.Sorted(slices.Values(documented)))
}

// Every tool has one sentence.
func TestSummary(t *testing.T) {
	for _, name := range tool.Names() {
		assert.Regexp(t, `^[A-Z][^\n]+\.$`, tool.Summary(name), name)
	}
	assert.Empty(t, tool.Summary("relation-know"))
}
