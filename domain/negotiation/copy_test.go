package negotiation_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// copy stores or removes a copy as the API does, unless it is another one by now.
func (w *world) copy(d relation.Copy) {
	if before := w.copies[d.Application]; before.Stored != d.Stored || !before.Equal(d.Copy) {
		return
	}
	if d.Next.Empty() {
		delete(w.copies, d.Application)
		return
	}
	w.copies[d.Application] = relation.StoredCopy{Application: d.Application, Stored: true, Copy: d.Next}
}

// checkCopy proves what must hold of each write of a copy.
func (w *world) checkCopy(t require.TestingT, d relation.Copy) {
	before := w.copies[d.Application]
	assert.False(t, before.Stored && before.Equal(d.Next), "what is stored is not written again (SAFETY.md D12)")
	assert.True(t, w.records[d.Application].Copied, "a copy that is stored is named by its record, so that it is found again")
	for _, i := range d.Next.Items {
		for key, value := range i.Data {
			assert.False(t, strings.HasPrefix(value, "secret:"), "%s refers to a secret (TRUST.md A1)", key)
		}
	}
}

// waits reports whether the settler refuses a decision, because a copy holds the relation that it closes.
func (w *world) waits(decision relation.Decision) bool {
	identity, requirer, is := relation.Closes(decision)
	return is && w.copies[requirer.Application].Holds(identity)
}

// checkCopied proves that no copy outlives the end or the suspension of a relation (TRUST.md A1).
func (w *world) checkCopied(t require.TestingT, r relation.Relation) {
	assert.False(t, (r.Ended() || !r.State.SuspendedSince.IsZero()) && w.copies[r.Requirer.Application].Holds(r.UID))
}

// copied returns what the pods of web would start with, as endpoint-id=host.
func (w *world) copied() string {
	var all []string
	for _, i := range w.copies["web"].Items {
		all = append(all, i.Endpoint+"-"+strconv.Itoa(i.ID)+"="+i.Data["host"])
	}
	return strings.Join(all, " ")
}

// stale puts an application web whose pods may start with a copy, with a provider db, and settles.
func staleWorld(t *testing.T, consumes, relations string) *world {
	w := newWorld()
	w.external("db", "main:pg")
	w.external("mail", "smtp")
	w.consumes("web", consumes, relations, application.KeyGate, application.GateStale)
	w.pod(application.Deployment, "web", "web-0")
	w.settle(t)
	return w
}

// A copy has what a pod that starts now gets of its complete relations, if it need not wait, and nothing else
// (TRUST.md A1).
func TestCopy(t *testing.T) {
	const both = "db-1=db.example.org mail-2=mail.example.org"
	tests := map[string]struct {
		why                 string
		consumes, relations string
		do                  func(*testing.T, *world)
		want                string
		refused             string
	}{
		"Complete": {"all relations are complete", "db:pg,mail:smtp", "db,mail", nil, both, ""},
		"Missing":  {"a required endpoint has none, so that a pod waits", "db:pg,mail:smtp", "db", nil, "", ""},
		"Optional": {"no pod waits for the other", "db:pg,mail:smtp?", "db", nil, "db-1=db.example.org", ""},
		"NotAsked": {"stale starts are off by default", "db:pg", "db", func(t *testing.T, w *world) {
			w.consumes("web", "db:pg", "db")
		}, "", ""},
		"Changed": {"the data is followed", "db:pg", "db", func(t *testing.T, w *world) {
			s := w.services["db"]
			s.ExternalName = "other.example.org"
			w.services["db"] = s
		}, "db-1=other.example.org", ""},
		"OptedOut": {"the namespace takes no part any more", "db:pg", "db", func(t *testing.T, w *world) { w.optedIn = false }, "", ""},
		"Reference": {"what the provider gives refers to a secret", "db:pg", "db", func(t *testing.T, w *world) {
			w.said(t, "db", map[string]string{"password": "secret:abc"})
		}, "", "NeedsSecret"},
		"ReferenceOptional": {"and the pod need not wait for it", "db:pg?,mail:smtp", "db,mail", func(t *testing.T, w *world) {
			w.said(t, "db", map[string]string{"password": "secret:abc"})
		}, "mail-2=mail.example.org", ""},
		"TooLarge": {"its ConfigMap has no room", "db:pg", "db", func(t *testing.T, w *world) {
			w.said(t, "db", map[string]string{"text": strings.Repeat("v", 900<<10)})
		}, "", "TooLarge"},
		"Refused": {"the ConfigMap is another's", "db:pg", "db", func(t *testing.T, w *world) {
			w.copies["web"] = relation.StoredCopy{Application: "web", Refused: "not Orcon's"}
		}, "", "NotWritable"},
		"Gone": {"the application is", "db:pg", "db", func(t *testing.T, w *world) {
			delete(w.workloads, "Deployment/web")
			w.clear()
		}, "", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := staleWorld(t, test.consumes, test.relations)
			if test.do != nil {
				test.do(t, w)
				w.settle(t)
			}
			assert.Equal(t, test.want, w.copied(), test.why)
			assert.Equal(t, test.refused, w.says("web", condition.StaleRefused).Reason)
			assert.Equal(t, w.copies["web"].Stored || test.refused == "NotWritable", w.records["web"].Copied)
		})
	}
}

// said has the application of a provider say something in its only relation with web.
func (w *world) said(t *testing.T, provider string, data map[string]string) {
	w.say(w.between(t, "web:db-db:main"), provider, "", data)
}

// Before an end is stored, no copy holds the relation any more, however few writes succeed (TRUST.md A1).
func TestCopyGoesBeforeAnEnd(t *testing.T) {
	ends := map[string]func(*world, relation.Relation){
		"Deleted": func(w *world, r relation.Relation) { w.remove(r.Name, r.UID) },
		"Late": func(w *world, r relation.Relation) {
			w.consumes("web", "db:pg?,mail:smtp", "mail", application.KeyGate, application.GateStale)
		},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			for writes := range 12 {
				w := staleWorld(t, "db:pg?,mail:smtp", "db,mail")
				require.Equal(t, "db-1=db.example.org mail-2=mail.example.org", w.copied())
				end(w, w.between(t, "web:db-db:main"))
				if name == "Late" {
					w.settle(t)
					require.Equal(t, "db-1=db.example.org mail-2=mail.example.org", w.copied(), "a relation that is held works")
					w.now = w.now.Add(25 * time.Hour)
				}
				decisions, _ := w.negotiate(t)
				w.run(decisions, writes)
				for _, r := range w.relations {
					assert.False(t, r.Ended() && w.copies["web"].Holds(r.UID), "after %d writes", writes)
				}
				for _, s := range w.sides {
					assert.False(t, s.Teardown != nil && w.copies["web"].Holds(s.Relation), "after %d writes", writes)
				}
				w.settle(t)
				assert.Equal(t, "mail-2=mail.example.org", w.copied())
			}
		})
	}
}

// Applications whose copies share a ConfigMap have room for what fits together. A copy that does not fit leaves those of
// the others as they are, and is stored once there is room (TRUST.md A1).
func TestCopiesShareRoom(t *testing.T) {
	require.Equal(t, application.StaleCopy("web"), application.StaleCopy("shop"))
	large, small := strings.Repeat("v", 600<<10), strings.Repeat("v", 200<<10)
	w := staleWorld(t, "db:pg", "db")
	w.external("store", "main:pg")
	w.consumes("shop", "db:pg", "store", application.KeyGate, application.GateStale)
	w.settle(t)
	stored := func(web, shop bool, why string) {
		t.Helper()
		assert.Equal(t, []bool{web, shop}, []bool{w.copies["web"].Stored, w.copies["shop"].Stored}, why)
		for name, is := range map[string]bool{"web": web, "shop": shop} {
			assert.Equal(t, is, w.says(name, condition.StaleRefused).Reason == "", name)
			assert.Equal(t, is, w.records[name].Copied, name)
		}
	}
	says := func(pair, provider, text string) {
		t.Helper()
		w.say(w.between(t, pair), provider, "", map[string]string{"text": text})
		w.settle(t)
	}
	web, shop := "web:db-db:main", "shop:db-store:main"
	stored(true, true, "both fit")
	says(web, "db", large)
	stored(true, true, "both fit")
	says(shop, "store", large)
	stored(true, false, "the other was there before")
	refused := w.says("shop", condition.StaleRefused)
	assert.Equal(t, "TooLarge", refused.Reason)
	assert.Contains(t, refused.Message, "key shop of ConfigMap orcon-stale-1 has room for ")
	says(web, "db", small)
	stored(true, true, "there is room again")
	says(web, "db", large)
	stored(false, true, "and the other one was there before now")

	w.say(w.between(t, web), "db", "", map[string]string{"text": large})
	w.say(w.between(t, shop), "store", "", map[string]string{"text": small})
	w.settle(t)
	stored(true, true, "what makes room is written first")
}

// A copy that was refused is tried again although nothing changes.
func TestRefusedCopyIsTriedAgain(t *testing.T) {
	w := staleWorld(t, "db:pg", "db")
	w.copies["web"] = relation.StoredCopy{Application: "web", Refused: "no quota"}
	w.settle(t)
	decisions, wake := w.negotiate(t)
	assert.Empty(t, decisions)
	assert.Equal(t, w.now.Add(relation.CopyRetry), wake)
	delete(w.copies, "web")
	w.settle(t)
	assert.Equal(t, "db-1=db.example.org", w.copied())
}
