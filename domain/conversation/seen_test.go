package conversation_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// wide is a bag of many keys.
func wide(keys int, value string) bag {
	b := bag{}
	for n := range keys {
		b[fmt.Sprint("key", n)] = value
	}
	return b
}

// Of a bag of many keys the memory has the version alone, and the difference is exact while its content is kept
// (RELATIONS.md E10, TRUST.md U2).
func TestMemoryOfManyKeys(t *testing.T) {
	before, after := wide(1000, "a"), wide(1000, "a")
	delete(after, "key7")
	after["key8"], after["new"] = "b", "c"
	said := func(b bag) conversation.Snapshot { return sees(saying(db(), b)) }

	m, _ := hear(t, conversation.Memory{}, said(before))
	text, err := json.Marshal(m)
	require.NoError(t, err)
	assert.Less(t, len(text), 500, "no key is in it: %.1000s", text)
	m, err = conversation.ParseMemory(text)
	require.NoError(t, err)
	assert.Equal(t, []databag.Ref{databag.RefTo(before)}, m.Contents())

	e, owed := conversation.Next(m, said(after))
	require.True(t, owed)
	assert.Equal(t, conversation.Difference{
		Added: []string{"new"}, Changed: []string{"key8"}, Removed: []string{"key7"},
		Before: databag.Version(before), After: databag.Version(after),
	}, e.Difference)

	lost := said(after)
	lost.Bags = conversation.BagMap{databag.RefTo(after): after}
	e, owed = conversation.Next(m, lost)
	require.True(t, owed)
	assert.Len(t, e.Difference.Changed, 1000, "each key counts as changed")
	assert.Empty(t, e.Difference.Added)

	m, _ = hear(t, m, said(bag{"host": "h"}))
	assert.Empty(t, m.Contents(), "the memory has what it needs of a small bag")
	e, _ = conversation.Next(m, said(bag{"host": "i"}))
	assert.Equal(t, []string{"host"}, e.Difference.Changed)
}
