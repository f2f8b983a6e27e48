package negotiation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// The number of a unit that has made secrets is not given again, since its secrets would be those of another pod: not
// while they are stored, whether the application is forgotten meanwhile or its record is lost (SAFETY.md D10, TRUST.md T5).
func TestNumbersOfUnitsWithSecretsAreNotGivenAgain(t *testing.T) {
	made := func(w *world) {
		w.consumes("web", "store:pg", "db")
		w.handling(application.Deployment, "web", "web-0")
	}
	scene := func(t *testing.T) *world {
		w := newWorld()
		w.external("db", "main:pg")
		made(w)
		w.settle(t)
		w.secretOwners = []secret.Owner{{Application: "web", Unit: "0"}, {Application: "web"}}
		w.settle(t)
		require.Len(t, w.records["web"].State.Units, 1)
		return w
	}
	again := func(t *testing.T, w *world) {
		made(w)
		w.settle(t)
		for _, u := range w.records["web"].State.Units {
			assert.True(t, u.Number > 0 || u.Gone != "", "%v", u)
		}
	}
	t.Run("Forgotten", func(t *testing.T) {
		w := scene(t)
		delete(w.workloads, "Deployment/web")
		delete(w.pods, "web-0")
		r := w.only(t)
		w.remove(r.Name, r.UID)
		w.settle(t)
		w.later(t, 3*time.Hour)
		require.Empty(t, w.relations)
		require.Empty(t, w.sides)
		again(t, w)
	})
	t.Run("Swept", func(t *testing.T) {
		w := scene(t)
		delete(w.workloads, "Deployment/web")
		delete(w.pods, "web-0")
		r := w.only(t)
		w.remove(r.Name, r.UID)
		w.settle(t)
		w.later(t, 3*time.Hour)
		assert.Empty(t, w.records["web"].State.Units, "a sweep finds that the unit is forgotten")
		w.secretOwners = w.secretOwners[1:]
		w.settle(t)
		assert.NotContains(t, w.records, "web", "the application's own secrets keep no record")
	})
	t.Run("Lost", func(t *testing.T) {
		w := scene(t)
		delete(w.records, "web")
		delete(w.pods, "web-0")
		w.handling(application.Deployment, "web", "web-1")
		again(t, w)
	})
}
