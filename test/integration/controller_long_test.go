package integration

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
)

// TRUST.md U5: an application of which nothing fits has conditions all the same: each endpoint waits, and each wait has
// every reference as its reason. What is stored is what was decided: nothing is written again.
func TestControllerCutsMessages(t *testing.T) {
	w := newControllerWorld(t)
	w.controller(-1)
	var endpoints, references []string
	for i := range application.MaxEntries {
		endpoints = append(endpoints, fmt.Sprintf("e%d:none%d", i, i))
		references = append(references, fmt.Sprintf("%s%d", strings.Repeat("p", 58), i))
	}
	w.create(w.consumer("web", map[string]string{
		application.KeyConsumes: strings.Join(endpoints, ", "), application.KeyRelations: strings.Join(references, ", "),
	}))
	w.eventually("conditions and its unit", func() bool {
		app := w.app("web")
		return len(app.Status.Conditions) > 0 && len(app.State.Units) > 0
	})
	w.marker("settled")
	app := w.app("web")
	require.Len(t, app.Status.Waits, application.MaxEntries)
	for _, wait := range app.Status.Waits {
		assert.LessOrEqual(t, len(wait.Message), condition.MaxEntry)
	}
	for _, c := range app.Status.Conditions {
		assert.LessOrEqual(t, len(c.Message), condition.MaxMessage)
	}
	w.marker("again")
	assert.Equal(t, app.ResourceVersion, w.app("web").ResourceVersion, "SAFETY.md D12")
}
