package negotiation_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// What a pod cannot have is said, not dropped in silence (SAFETY.md P8, P9, W1).
func TestProjectedNamesWhatIsLeftOut(t *testing.T) {
	hostile := map[string]string{"host": "it's", "../etc": "x", "port": "5432"}
	for i := range 100 {
		hostile[fmt.Sprintf("/%03d", i)] = "x"
	}
	web := application.Application{Name: "web", Retain: time.Hour,
		Endpoints: []application.Endpoint{{Name: "db", Interface: "path", Role: application.Requirer}},
		Relations: []application.Reference{{Application: "pg"}},
	}
	pg := application.Application{Name: "pg", Retain: time.Hour,
		Endpoints: []application.Endpoint{{Name: "out", Interface: "path", Role: application.Provider}},
		Bags:      map[string]map[string]string{"out": hostile},
	}
	decisions, _ := negotiation.Negotiate(relation.Snapshot{Namespace: "ns", Applications: []application.Application{pg, web}})
	var got []condition.Condition
	for _, d := range decisions {
		if r, ok := d.(relation.Remember); ok && r.Name == "web" {
			got = r.State.Conditions
		}
	}
	env, refused := condition.Find(got, condition.EnvRefused)
	require.True(t, refused, "%v", got)
	assert.Contains(t, env.Message, "PATH", "P8: the interface's own name")
	assert.Contains(t, env.Message, "DB_HOST", "P9: a quote in the value")
	files, refused := condition.Find(got, condition.FilesRefused)
	require.True(t, refused, "%v", got)
	assert.Contains(t, files.Message, `"../etc"`, "W1")
	assert.Contains(t, files.Message, "more", "a hundred keys do not fill the condition")
	assert.Less(t, len(files.Message), 1024)
	stalled, _ := condition.Find(got, condition.Stalled)
	assert.True(t, stalled.True, "a person must rename them")
}
