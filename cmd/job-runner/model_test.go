package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/conformance/api"
)

// runs is the number of Runs in each lane: go test ./cmd/job-runner -run Model -runs 75 -v.
//
//nolint:gochecknoglobals // a flag
var runs = flag.Int("runs", 6, "how many Runs each Workspace has in the model")

// lanes is the number of Workspaces that have Runs at once.
const lanes = 3

// script adds a line to the state before and after it waits.
const script = `echo begin-$0 >> $STATE/lines; echo $0; sleep 0.1; echo end-$0 >> $STATE/lines`

// counts are what came about.
type counts struct {
	mutex sync.Mutex
	of    map[string]int
}

func (c *counts) add(what string) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.of[what]++
}

// JOBS.md J1, J3, J4 and J9: Runs follow each other in several Workspaces at once, while shims, keepers and the server
// are killed at random. No commit is lost, none is done twice, and each state has what the Runs before it wrote.
func TestModel(t *testing.T) {
	b := newBench(t)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	n := &counts{of: map[string]int{}}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(200*time.Millisecond + rand.N(time.Second)):
				b.Kill()
				n.add("kills of the server")
				// A process that is started just then has the lock of the store until it executes its program.
				assert.NoError(t, api.Wait(ctx, func() bool { return b.Serve() == nil }))
			}
		}
	}()
	errs := make([]error, lanes)
	var all sync.WaitGroup
	for lane := range lanes {
		all.Go(func() {
			for i := 0; i < *runs && errs[lane] == nil; i++ {
				errs[lane] = b.carry(ctx, t, n, fmt.Sprint("w", lane), fmt.Sprintf("r%d-%d", lane, i))
			}
		})
	}
	all.Wait()
	close(stop)
	<-stopped
	require.NoError(t, errors.Join(errs...))
	for lane := range lanes {
		b.check(t, n, fmt.Sprint("w", lane))
	}
	t.Logf("%d Runs, 0 lost commits, 0 double commits", lanes**runs)
	for what, count := range n.of {
		t.Logf("%6d %s", count, what)
	}
}

// carry carries one Run to its end, with kills, as a kubelet and a person would.
func (b *bench) carry(ctx context.Context, t *testing.T, n *counts, uid, run string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p := b.newPod(t, uid, run)
	k := p.keeper(ctx, t)
	s := p.shim(ctx, t, strings.ReplaceAll(script, "$0", run))
	kill := rand.IntN(4)
	if kill > 0 {
		moment := time.Now().Add(rand.N(400 * time.Millisecond))
		_ = api.Wait(ctx, func() bool { return time.Now().After(moment) })
	}
	shimKilled := kill&1 != 0 && s.Process.Kill() == nil
	if shimKilled {
		<-s.ended
		n.add("kills of a shim")
	}
	if kill&2 != 0 && k.Process.Kill() == nil {
		<-k.ended
		n.add("kills of a keeper")
		k = p.keeper(ctx, t)
	}
	if shimKilled && !p.there("exchange/started") {
		s = p.shim(ctx, t, strings.ReplaceAll(script, "$0", run)) // a shim that started nothing may be started again
	}
	if code := k.code(); code != 0 {
		log, err := os.ReadFile(p.path("log"))
		return errors.Join(fmt.Errorf("the keeper of %s ends with %d: …%s", run, code, log[max(0, len(log)-1000):]), ctx.Err(), err)
	}
	_ = s.Process.Signal(syscall.SIGKILL) // its outcome is there
	<-s.ended
	w := b.Workspace(uid)
	if w.Last.Run.UID != run || w.Lock.Held() {
		return fmt.Errorf("the end of %s is not recorded: %+v", run, w.Lock)
	}
	n.add("ends " + string(w.Last.Outcome))
	if w.State.Exit.Torn() {
		return b.Change(uid, func(w workspace.Workspace) (workspace.Workspace, error) {
			return w.Decide(workspace.Verdict{Remedy: workspace.AcceptGeneration, Fence: w.Last.Fence, Seen: w.State.Number, By: "ann"})
		})
	}
	return nil
}

// check compares the lineage of a Workspace with the files that its Runs left.
func (b *bench) check(t *testing.T, n *counts, uid string) {
	number, fences := int64(0), map[int64]bool{}
	for _, w := range b.History(uid) {
		if w.State.Number == number {
			continue
		}
		require.Equal(t, number+1, w.State.Number, "JOBS.md J3")
		require.False(t, fences[w.State.Fence], "a double commit of fence %d", w.State.Fence)
		fences[w.State.Fence], number = true, w.State.Number
		n.add("generations")
	}
	require.Empty(t, b.Workspace(uid).Orphans)
	ends := map[string]workspace.Workspace{}
	for _, w := range b.History(uid) {
		if w.Last.Run.UID != "" && ends[w.Last.Run.UID].Last.Run.UID == "" {
			ends[w.Last.Run.UID] = w
		}
	}
	require.Len(t, ends, *runs)
	for run, w := range ends {
		left, err := os.ReadFile(filepath.Join(b.folder, run, "state", "lines"))
		if w.Last.Outcome == job.None || err != nil {
			continue // it never started, or not from a state
		}
		require.Equal(t, string(left), b.lines(t, w.State.Blob), "the commit of %s has all that it left, and its base", run)
	}
}

// lines returns the file of a stored state.
func (b *bench) lines(t *testing.T, archive workspace.Blob) string {
	files, err := b.Files(t.Context(), archive)
	require.NoError(t, err)
	return files["lines"]
}
