package agent

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/bindings"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/spool"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// volumes is a pod's disk in a folder.
type volumes string

func (v volumes) path(parts ...string) string {
	return filepath.Join(append([]string{string(v)}, parts...)...)
}

func newVolumes(t require.TestingT, dir string) volumes {
	for _, d := range []string{"bindings", "run", "state"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o750))
	}
	return volumes(dir)
}

func (v volumes) disk() Disk {
	return Disk{
		Bindings: bindings.Volume{Path: v.path("bindings")},
		Env:      bindings.File{Path: v.path("run", "env")},
		Opened:   bindings.File{Path: v.path("run", "opened")},
		Memory:   bindings.NewPair(v.path("state", "memory")), EverOpened: bindings.File{Path: v.path("state", "opened")},
		Spool: v.spool(),
	}
}

// spool returns the spool of a new process, with little room in memory. Its folder is a copy of that of the process
// before, whose garbage collection still runs in this test.
func (v volumes) spool() *spool.Spool {
	before, _ := filepath.Glob(v.path("state", "bags-*"))
	folder := v.path("state", fmt.Sprint("bags-", len(before)))
	_ = os.Mkdir(folder, 0o700)
	if len(before) > 0 {
		last := v.path("state", fmt.Sprint("bags-", len(before)-1))
		entries, _ := os.ReadDir(last)
		for _, e := range entries {
			if content, err := os.ReadFile(filepath.Join(last, e.Name())); err == nil {
				_ = os.WriteFile(filepath.Join(folder, e.Name()), content, 0o600)
			}
		}
	}
	return spool.New(folder, 20, func(err error) { panic(err) })
}

// hear has an agent act on a snapshot that has its databags.
func hear(a *Agent, s *wire.Snapshot) {
	if err := a.Heard(s); err != nil {
		panic(err)
	}
}

// tree returns every directory and what is in it.
func (v volumes) tree(t require.TestingT) map[string]map[string]string {
	tree := map[string]map[string]string{}
	dirs, err := os.ReadDir(v.path("bindings"))
	require.NoError(t, err)
	for _, dir := range dirs {
		files := map[string]string{}
		entries, err := os.ReadDir(v.path("bindings", dir.Name()))
		require.NoError(t, err)
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), "..") {
				continue
			}
			content, err := os.ReadFile(v.path("bindings", dir.Name(), e.Name()))
			require.NoError(t, err)
			files[e.Name()] = string(content)
		}
		tree[dir.Name()] = files
	}
	return tree
}

func settings(t require.TestingT, consumes, env string) Settings {
	s, problems := ParseSettings(func(name string) string {
		return map[string]string{"ORCON_CONSUMES": consumes, "ORCON_ENV": env}[name]
	})
	require.Empty(t, problems)
	return s
}

// model is what the agent should do, said once more and more simply: it keeps
// for each relation what was heard last.
type model struct {
	used    map[string]uint64
	last    int64   // the highest id
	order   []int64 // as they came to have data
	bags    map[int64]map[string]string
	ended   map[int64]bool
	present map[string]bool // endpoints that are complete in the latest snapshot
	opened  bool
}

func (m *model) hear(s *wire.Snapshot) {
	for kind, used := range m.used {
		if s.GetRevisions()[kind] < used {
			return
		}
	}
	revived := func(r *wire.Relation) bool { return m.ended[r.GetId()] && !r.GetEnded() }
	if slices.ContainsFunc(s.GetRelations(), revived) { // TRUST.md T6
		for _, r := range s.GetRelations() {
			m.forgetEnded(r.GetId())
		}
	}
	m.used, m.present = s.GetRevisions(), map[string]bool{}
	here := map[int64]bool{}
	var came []int64
	for _, r := range s.GetRelations() {
		id := r.GetId()
		here[id], m.last = true, max(m.last, id)
		m.ended[id] = m.ended[id] || r.GetEnded()
		if r.GetComplete() && !m.ended[id] {
			m.present[endpointOf(id)] = true
		}
		if len(r.GetBag().GetData()) > 0 {
			m.bags[id] = r.GetBag().GetData()
			if !slices.Contains(m.order, id) {
				came = append(came, id)
			}
		}
	}
	slices.Sort(came)
	m.order = append(m.order, came...)
	lost := func(id int64) bool { return !here[id] && m.present[endpointOf(id)] }
	m.order = slices.Concat(slices.DeleteFunc(slices.Clone(m.order), lost),
		slices.DeleteFunc(slices.Clone(m.order), func(id int64) bool { return !lost(id) })) // TRUST.md T7
	m.opened = m.opened || m.present["db"] && m.present["mail"]
}

// forgetEnded lets a relation that had ended begin anew.
func (m *model) forgetEnded(id int64) {
	if m.ended[id] {
		delete(m.ended, id)
		delete(m.bags, id)
		m.order = slices.DeleteFunc(m.order, func(other int64) bool { return other == id })
	}
}

func (m *model) tree() map[string]map[string]string {
	tree := map[string]map[string]string{}
	for _, id := range m.order {
		if m.ended[id] {
			continue
		}
		files := maps.Clone(m.bags[id])
		files["type"], files["provider"] = endpointOf(id), fmt.Sprint("app-", id)
		tree[fmt.Sprint(endpointOf(id), "-", id)] = files
		if tree[endpointOf(id)] == nil {
			tree[endpointOf(id)] = files
		}
	}
	return tree
}

// endpointOf spreads relations over three endpoints.
func endpointOf(id int64) string { return []string{"db", "mail", "cache"}[id%3] }

// drawSnapshot returns a snapshot of some of nine relations; a complete one has data.
func drawSnapshot(t *rapid.T) *wire.Snapshot {
	s := &wire.Snapshot{Revisions: map[string]uint64{
		"Relation": rapid.Uint64Range(1, 6).Draw(t, "relations"), "Databag": rapid.Uint64Range(1, 6).Draw(t, "databags"),
	}}
	for _, id := range rapid.SliceOfNDistinct(rapid.Int64Range(1, 9), 0, 9, rapid.ID[int64]).Draw(t, "ids") {
		r := &wire.Relation{
			Id: id, Uid: fmt.Sprint("uid-", id), Endpoint: endpointOf(id), Interface: endpointOf(id), RemoteApplication: fmt.Sprint("app-", id),
			Ended: rapid.IntRange(0, 9).Draw(t, "ended") == 0,
			Bag:   &wire.Databag{Data: rapid.MapOfN(rapid.SampledFrom([]string{"host", "port", "x"}), rapid.StringMatching(`[a-z]{1,3}`), 0, 3).Draw(t, "bag")},
		}
		r.Complete = len(r.Bag.Data) > 0 && rapid.Bool().Draw(t, "complete")
		s.Relations = append(s.Relations, r)
	}
	return s
}

// Property: whatever is heard, in whatever order, with restarts in between, the
// disk holds the last acceptable state (SAFETY.md V4, E13, W2) and the gate is
// open exactly when it should be: never early, and never closed again
// (INJECTION.md I16, SAFETY.md I19).
func TestTheDiskIsTheLastAcceptableSnapshot(t *testing.T) {
	root, round := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		v := newVolumes(t, filepath.Join(root, fmt.Sprint(round)))
		m := &model{bags: map[int64]map[string]string{}, ended: map[int64]bool{}}
		s := settings(t, "db,mail,cache?", "")
		a := New(s, v.disk(), &controller{}, nil)
		a.Start()
		for range rapid.IntRange(1, 12).Draw(t, "snapshots") {
			snapshot := drawSnapshot(t)
			hear(a, snapshot)
			m.hear(snapshot)
			require.Equal(t, m.tree(), v.tree(t))
			require.Equal(t, m.opened, a.isOpen(), "INJECTION.md I16: neither early nor late")
			used, last := a.Used()
			require.Equal(t, m.used, used)
			require.Equal(t, m.last, last, "TRUST.md T3")
			if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
				before := a
				a = New(s, v.disk(), &controller{}, nil)
				runtime.KeepAlive(before) // a process that is gone collects nothing
				a.Start()
				require.Equal(t, m.tree(), v.tree(t), "a restart changes nothing")
				require.Equal(t, m.opened, a.isOpen())
				_, last = a.Used()
				require.Equal(t, m.last, last)
			}
		}
	})
}

// kubeletEnv reads an env file as the kubelet of Kubernetes 1.36 does
// (pkg/kubelet/util/env, ParseEnv): line by line, values between single quotes,
// an error anywhere for any line it cannot read.
func kubeletEnv(text string) (map[string]string, error) {
	values := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), " \t")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, rest, ok := strings.Cut(line, "='")
		if !ok || name == "" || strings.ContainsAny(name, " \t=") {
			return nil, fmt.Errorf("cannot read %q", line)
		}
		value, tail, closed := strings.Cut(rest, "'")
		for !closed {
			if !lines.Scan() {
				return nil, errors.New("a quote is not closed")
			}
			var more string
			more, tail, closed = strings.Cut(lines.Text(), "'")
			value += "\n" + more
		}
		if tail != "" {
			return nil, fmt.Errorf("%q after a closing quote", tail)
		}
		if _, twice := values[name]; !twice {
			values[name] = value
		}
	}
	return values, lines.Err()
}

// Property, and fuzz target: no value a provider can write keeps the kubelet from
// reading the file, sets a variable nobody declared, or arrives altered
// (SAFETY.md P7, P9).
func FuzzEnvironment(f *testing.F) {
	for _, value := range append(hostileNames(), "a'b", "a\r\nb", "\r", "\n'\nLD_PRELOAD='x", "#", "\\", "''", strings.Repeat("x", 33<<10), strings.Repeat("é\n", 9000)) {
		f.Add(value, "second")
		f.Add("first", value)
	}
	s := settings(f, "db:postgresql,mail?", "db=a,b")
	f.Fuzz(func(t *testing.T, host, b string) {
		view := after(heard(with(db(7, ""), func(r *conversation.Relation) { r.RemoteBag = said.Put(map[string]string{"host": host, "b": b}) })))
		text, _ := view.Environment(s.Variables)
		got, err := kubeletEnv(text)
		require.NoError(t, err)
		for name, value := range got {
			want, declared := map[string]string{"POSTGRESQL": host, "DB_HOST": host, "DB_B": b}[name]
			require.True(t, declared, name)
			require.Equal(t, want, value)
		}
	})
}

// FuzzHeard: no bytes that decode as a snapshot, and none that lie where the
// memory should, stop the agent or leave the volume (SAFETY.md I19, I28).
func FuzzHeard(f *testing.F) {
	for _, v := range []Projection{after(heard(db(7, "a"))), after(heard(with(db(-1, "x"), func(r *conversation.Relation) { r.Endpoint = "../../x" })))} {
		memory, err := convert.EncodeMemory(v.Update)
		require.NoError(f, err)
		f.Add(memory)
	}
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		dir := t.TempDir()
		v := newVolumes(t, filepath.Join(dir, "pod"))
		require.NoError(t, bindings.NewPair(v.path("state", "memory")).Replace(raw))
		a := New(settings(t, "db", ""), v.disk(), &controller{}, nil)
		a.Start()
		snapshot := &wire.Snapshot{}
		if proto.Unmarshal(raw, snapshot) != nil {
			return
		}
		_ = a.Heard(snapshot) // it may lack contents
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	})
}

// INJECTION.md I16: when the marker is there, everything else is.
func TestWhoSeesTheGateOpenSeesTheData(t *testing.T) {
	for round := range 50 {
		v := newVolumes(t, filepath.Join(t.TempDir(), fmt.Sprint(round)))
		a := New(settings(t, "db", ""), v.disk(), &controller{}, nil)
		a.Start()
		go hear(a, &wire.Snapshot{Relations: []*wire.Relation{{
			Id: 7, Endpoint: "db", Interface: "db", RemoteApplication: "pg", Complete: true,
			Bag: &wire.Databag{Data: map[string]string{"host": "a", "port": "1", "url": "u"}},
		}}})
		for !(bindings.File{Path: v.path("run", "opened")}).Exists() {
			select {
			case <-a.Opened():
			default:
			}
		}
		env, err := os.ReadFile(v.path("run", "env"))
		require.NoError(t, err)
		assert.Equal(t, canary+"DB='a'\nDB_HOST='a'\nDB_PORT='1'\nDB_URL='u'\n", string(env))
		assert.Len(t, v.tree(t)["db"], 5)
	}
}

// broken is a volume that fails until it is mended.
type broken struct {
	Bindings
	mu     sync.Mutex
	mended bool
	tried  int
}

func (b *broken) Write(name string, files map[string]string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tried++
	if !b.mended {
		return fs.ErrPermission
	}
	return b.Bindings.Write(name, files)
}

// The gate never opens over files that could not be written, and what failed is
// tried again without anybody's help (SAFETY.md I19).
func TestAFailedWriteKeepsTheGateClosedAndIsTriedAgain(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	disk := v.disk()
	volume := &broken{Bindings: disk.Bindings}
	disk.Bindings = volume
	a := New(settings(t, "db", ""), disk, &controller{}, nil)
	a.Start()
	hear(a, &wire.Snapshot{Relations: []*wire.Relation{{Id: 7, Endpoint: "db", Complete: true, Bag: &wire.Databag{Data: map[string]string{"host": "a"}}}}})
	assert.False(t, a.isOpen())
	var metrics strings.Builder
	require.NoError(t, a.WriteMetrics(&metrics))
	assert.Contains(t, metrics.String(), "\norcon_agent_write_failures_total 1\n")
	var status strings.Builder
	require.NoError(t, a.WriteStatus(&status))
	assert.Contains(t, status.String(), "not all are written: cannot write bindings db, db-7: permission denied")
	assert.Contains(t, status.String(), "waiting for its files")

	volume.mu.Lock()
	volume.mended = true
	volume.mu.Unlock()
	require.Eventually(t, a.isOpen, time.Minute, time.Millisecond)
	assert.Equal(t, "a", v.tree(t)["db"]["host"])
}

// A gate that waits for nothing still gives optional data a moment to come.
func TestAGateThatWaitsForNothing(t *testing.T) {
	tests := map[string]struct {
		why      string
		consumes string
		heard    bool
	}{
		"Nothing":  {why: "no endpoint at all"},
		"Optional": {why: "no controller, and nothing required", consumes: "db?"},
		"Heard":    {why: "a snapshot opens it at once", consumes: "db?", heard: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := newVolumes(t, t.TempDir())
			a := New(settings(t, test.consumes, ""), v.disk(), &controller{}, nil)
			a.Start()
			assert.False(t, a.isOpen())
			if test.heard {
				hear(a, &wire.Snapshot{})
				assert.True(t, a.isOpen(), test.why)
			}
			select {
			case <-a.Opened():
			case <-time.After(20 * optionalGrace):
				assert.Fail(t, test.why)
			}
			assert.FileExists(t, v.path("run", "env"), "the kubelet needs the file, even an empty one")
		})
	}
}

// SAFETY.md V4: an older snapshot changes nothing, and it is said.
func TestAnOlderSnapshotIsRefused(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db", ""), v.disk(), &controller{}, nil)
	a.Start()
	say := func(relation, databag uint64, host string) {
		hear(a, &wire.Snapshot{
			Revisions: map[string]uint64{"Relation": relation, "Databag": databag},
			Relations: []*wire.Relation{{Id: 7, Endpoint: "db", Complete: true, Bag: &wire.Databag{Data: map[string]string{"host": host}}}},
		})
	}
	say(5, 5, "new")
	say(6, 4, "old")
	assert.Equal(t, "new", v.tree(t)["db"]["host"])
	say(6, 5, "newer")
	assert.Equal(t, "newer", v.tree(t)["db"]["host"])
	var status strings.Builder
	require.NoError(t, a.WriteStatus(&status))
	assert.Contains(t, status.String(), "its revision of Databag is 4, older than 5")
}

func TestStatusSaysWhatAPersonAsks(t *testing.T) {
	a := New(settings(t, "db,mail,cache?", ""), newVolumes(t, t.TempDir()).disk(), &controller{}, nil)
	a.Start()
	a.Lost(errors.New("cannot trust the controller"), false, time.Second)
	hear(a, &wire.Snapshot{
		Unit: &wire.Unit{Application: "web", Namespace: "demo", Number: 2, Known: true},
		Relations: []*wire.Relation{
			{Id: 7, Endpoint: "db", Interface: "postgresql", RemoteApplication: "pg", RemoteNamespace: "shared", Complete: true, Held: true, Bag: &wire.Databag{Data: map[string]string{"password": "s3cret"}}},
			{Id: 8, Endpoint: "db", Interface: "postgresql", RemoteApplication: "pg2", Message: "pg2 has given no data yet"},
		},
		Waiting: []*wire.Waiting{{Endpoint: "mail", Message: "there is no application smtp"}},
	})
	var out strings.Builder
	require.NoError(t, a.WriteStatus(&out))
	for _, want := range []string{
		"web/2", "not connected since", "cannot trust the controller", "waiting for mail: there is no application smtp",
		"pg.shared", "held", "pg2 has given no data yet",
	} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "s3cret", "STYLE.md: never a databag value")
}

// An agent is cut off while its consumer is pointed to another provider, and the end of the first relation passes it by:
// the lost relation gives way in <endpoint>/ once the other is complete, and its own folder stays (TRUST.md T7).
func TestLostRelationGivesWay(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db", ""), v.disk(), &controller{}, nil)
	a.Start()
	hears := func(revision uint64, uid string, id int64, host string, complete bool) {
		r := &wire.Relation{Id: id, Uid: uid, Endpoint: "db", Interface: "pg", Role: "requires", RemoteApplication: uid, Complete: complete,
			Bag: &wire.Databag{Data: map[string]string{"host": host}}}
		hear(a, &wire.Snapshot{Revisions: map[string]uint64{"databags": revision}, Relations: []*wire.Relation{r},
			Unit: &wire.Unit{Application: "web", Namespace: "shop", Known: true}})
	}
	hears(1, "db1", 1, "one", true)
	require.Equal(t, "one", v.tree(t)["db"]["host"])
	hears(2, "db2", 2, "two", false)
	assert.Equal(t, "one", v.tree(t)["db"]["host"], "the other is not complete yet")
	hears(3, "db2", 2, "two", true)
	assert.Equal(t, "two", v.tree(t)["db"]["host"])
	assert.Equal(t, "one", v.tree(t)["db-1"]["host"], "what is lost is not ended: it may be restored")
	hears(4, "db1", 1, "one", true)
	assert.Equal(t, "one", v.tree(t)["db"]["host"], "it is back, and now the other is lost")
}
