package integration

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/test/integration/controlplane"
)

// calm is how long the world may take until it is settled after the last fault.
const calm = 5 * time.Minute

// chaosSetting returns a number that make chaos gives.
func chaosSetting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text, set := os.LookupEnv(name)
	if !set {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// Agents, controllers, webhooks, the API server and its store are killed, connections cut, certificates replaced, pods
// deleted, relations ended and made, while all units write and read. Afterwards every acknowledged write is at every
// reader, each end was told, no data of a living relation is gone, no tenant read another's, no admission failed that
// met no fault, and nothing is left over (TRUST.md, "Shown by").
func TestChaosMinute(t *testing.T) {
	seed, minutes := chaosSetting(t, "SEED", 1), chaosSetting(t, "MINUTES", 1)
	w := newChaosWorld(t)
	w.open()
	for range 5 {
		require.NoError(t, w.tenant())
	}
	w.settled("at first")
	admissions := &chaosAdmissions{admin: w.admin}
	ctx, stop := context.WithTimeout(w.ctx, time.Duration(minutes)*time.Minute)
	defer stop()
	admitting, done := context.WithCancel(w.ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); admissions.keep(admitting, w.spaces) }()
	began := time.Now()
	w.run(ctx, uint64(seed), admissions)
	t.Logf("seed %d, %s:\n%s\n%d writes acknowledged, %d ends told", seed, time.Since(began).Round(time.Second), w.tally, w.journal.Writes(), w.journal.Heard())

	w.killComponent("kube-controller-manager", admissions) // so that none of its ReplicaSets waits for its next try
	w.settled("after the last fault")
	done()
	<-ended
	t.Logf("settled %s after the beginning; %d admissions, %d of those that met a fault failed", time.Since(began).Round(time.Second), admissions.tried, admissions.excused)
	assert.Empty(t, admissions.failed, "admissions that met no fault")
	assert.Greater(t, admissions.tried-admissions.excused, 50, "admissions that no fault failed")
	assert.Empty(t, w.journal.Faults())
	if w.users.postgres != nil {
		t.Logf("PostgreSQL acknowledged %d rows of %d roles", w.users.postgres.acknowledged(), len(w.users.postgres.rows))
		assert.Zero(t, w.users.postgres.failures(), "PostgreSQL ended by itself")
	}
	assert.Greater(t, w.tally.Faults(), 50)
	for _, share := range chaosShares() {
		assert.Positive(t, w.tally.Count(share.Kind), share.Kind)
	}
	w.nothingLeft()
	w.recovers()
}

// settled waits until all pods run, each register was written once more, and every reader has the last value. Nothing is
// written any more meanwhile.
func (w *chaosWorld) settled(when string) {
	w.t.Helper()
	w.users.pause.Lock()
	defer w.users.pause.Unlock()
	wanted := map[string]string{}
	w.calmly(when+": each reader has the last write", func() string {
		return cmp.Or(w.writeAll(wanted), w.readAll(wanted))
	})
	w.calmly(when+": each relation has data, and each end was told", func() string {
		for _, r := range w.allRelations() {
			if !w.journal.Has(chaosBank, r.State.Identity) {
				return "the bank has no data for " + r.Name
			}
		}
		if w.users.postgres != nil {
			if missing := w.users.postgres.writeAll(w.ctx, w.node.all()); missing != "" {
				return missing
			}
		}
		if owed := w.journal.Owed(); len(owed) > 0 {
			return owed[0] + " was not told"
		}
		return ""
	})
}

// calmly waits until nothing is missing.
func (w *chaosWorld) calmly(what string, missing func() string) {
	w.t.Helper()
	var last string
	defer func() {
		if w.t.Failed() {
			w.t.Logf("%s: %s; %v", what, last, w.journal.Faults())
		}
	}()
	controlplane.Eventually(w.t, func() bool { last = missing(); return last == "" }, calm, what)
}

// writeAll writes each register of each living relation once, and returns what could not be written. The acknowledged
// values are in written, and no others.
func (w *chaosWorld) writeAll(written map[string]string) (missing string) {
	if relations := len(w.allRelations()); relations != w.tenants {
		return strconv.Itoa(relations) + " relations"
	}
	present := map[string]bool{}
	for _, a := range w.node.all() {
		for name, write := range w.users.writers(w.ctx, a) {
			present[name] = true
			if written[name] == "" && w.users.once(a, name, write) {
				written[name] = w.journal.Expect(name)
			}
			if written[name] == "" {
				missing = name + " cannot be written"
			}
		}
	}
	maps.DeleteFunc(written, func(name, _ string) bool { return !present[name] })
	if len(present) != 2*w.tenants {
		return strconv.Itoa(len(present)) + " registers"
	}
	return missing
}

// readAll returns a reader that lacks a value.
func (w *chaosWorld) readAll(wanted map[string]string) (missing string) {
	for _, a := range w.node.all() {
		found := map[string]bool{}
		for _, value := range w.users.reads(w.ctx, a) {
			found[value] = true
		}
		for name, value := range wanted {
			if readable(a, name) && !found[value] {
				missing = a.pod + " lacks " + value
			}
		}
	}
	return missing
}

// nothingLeft asserts that no more is held than living relations and agents need.
func (w *chaosWorld) nothingLeft() {
	w.t.Helper()
	living := map[string]bool{}
	for _, r := range w.allRelations() {
		living[r.State.Identity] = true
	}
	w.calmly("nothing of ended relations is left", func() string {
		for _, s := range w.spaces {
			var sides v1alpha1.RelationSideList
			var bags v1alpha1.DatabagList
			var secrets v1alpha1.RelatedSecretList
			for _, list := range []client.ObjectList{&sides, &bags, &secrets} {
				if w.admin.List(w.ctx, list, client.InNamespace(s.namespace)) != nil {
					return "no answer"
				}
			}
			for _, secret := range secrets.Items {
				removed := secret.State.RemovalTime != nil
				if !removed && !slices.ContainsFunc(secret.State.Access, func(a v1alpha1.SecretAccess) bool { return living[a.RelationUID] }) {
					return fmt.Sprintf("RelatedSecret %s, of %s: %+v", secret.Name, secret.CreationTimestamp.Format(time.TimeOnly), secret.State)
				}
			}
			for _, side := range sides.Items {
				if !living[side.Spec.Relation] {
					return "RelationSide " + side.Name
				}
			}
			for _, bag := range bags.Items {
				if bag.Spec.Relation != "" && !living[bag.Spec.Relation] {
					return "Databag " + bag.Name
				}
			}
		}
		return ""
	})
	agents := w.node.all()
	w.calmly("each agent has one stream", func() string {
		streams := 0
		for _, c := range w.controllers {
			streams += c.metric("orcon_agent_streams")
		}
		if streams != len(agents) {
			return strconv.Itoa(streams) + " streams"
		}
		return ""
	})
	for _, a := range agents {
		assert.Less(w.t, a.files(), mostFiles, "files of the agent of %s", a.pod)
	}
	w.noPanics()
	for _, c := range append(w.controllers, w.webhooks...) {
		goroutines := c.metric("go_goroutines")
		w.t.Logf("%s: %d files, %d goroutines", c.log, c.files(), goroutines)
		assert.Positive(w.t, goroutines)
		assert.Less(w.t, c.files(), mostFiles+5*len(agents), "files of %s", c.log)
		assert.Less(w.t, goroutines, mostGoroutines+50*len(agents), "goroutines of %s", c.log)
	}
}

// noPanics asserts that no program, which would have been started again, has panicked.
func (w *chaosWorld) noPanics() {
	w.t.Helper()
	logs, err := filepath.Glob(filepath.Join(w.dir, "*.log"))
	require.NoError(w.t, err)
	assert.Greater(w.t, len(logs), len(w.controllers)+len(w.webhooks), "agents have logs too")
	for _, log := range logs {
		text, err := os.ReadFile(log)
		require.NoError(w.t, err)
		assert.NotContains(w.t, string(text), "panic: ", log)
	}
}

// The files and goroutines that a process may have besides those of its agents.
const mostFiles, mostGoroutines = 50, 500
