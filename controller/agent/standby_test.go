package agent

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/stale"
)

// stalePod is the disk of a pod that may start with a copy of its data.
type stalePod struct {
	volumes

	t        *testing.T
	settings Settings
}

func newStalePod(t *testing.T, items ...stale.Item) *stalePod {
	p := &stalePod{newVolumes(t, t.TempDir()), t, settings(t, "db,mail", "db=host")}
	p.settings.Stale = true
	if items != nil {
		p.copies(items...)
	}
	return p
}

// copies has the kubelet write a copy.
func (p *stalePod) copies(items ...stale.Item) {
	text, err := stale.Of(items).Text()
	require.NoError(p.t, err)
	require.NoError(p.t, os.WriteFile(p.path("copy"), []byte(text), 0o600))
}

// agent starts a process of the agent.
func (p *stalePod) agent() *Agent {
	disk := p.disk()
	disk.Copy = func() ([]byte, error) { return os.ReadFile(p.path("copy")) }
	a := New(p.settings, disk, &controller{}, nil)
	a.Start()
	return a
}

func (p *stalePod) env() string {
	text, _ := os.ReadFile(p.path("run", "env"))
	return string(text)
}

func item(id int, endpoint, host string) stale.Item {
	return stale.Item{
		Relation: "uid-" + endpoint, ID: id, Endpoint: endpoint, Interface: endpoint, Provider: endpoint + "-app",
		Data: map[string]string{"host": host},
	}
}

// alive returns a snapshot with complete relations of db and mail, or of fewer.
func alive(hosts map[string]string) *wire.Snapshot {
	s := &wire.Snapshot{Revisions: map[string]uint64{"relations": 1}}
	for i, endpoint := range []string{"db", "mail"} {
		if host, there := hosts[endpoint]; there {
			s.Relations = append(s.Relations, &wire.Relation{
				Id: int64(i + 1), Uid: "uid-" + endpoint, Endpoint: endpoint, Interface: endpoint, RemoteApplication: endpoint + "-app",
				Complete: true, Bag: &wire.Databag{Data: map[string]string{"host": host}},
			})
		}
	}
	return s
}

// pass lets time pass in the bubble of a test, until what is due then was done.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func files(endpoint, host string) map[string]string {
	return map[string]string{"host": host, "type": endpoint, "provider": endpoint + "-app"}
}

// A pod that may start with a copy of its data does so when no address of the controller has answered for ten seconds,
// and never when the controller has shown it anything (TRUST.md A1).
func TestStaleStart(t *testing.T) {
	both := []stale.Item{item(1, "db", "a"), item(2, "mail", "b")}
	answered := func(_ *stalePod, a *Agent) *Agent {
		pass(5 * time.Second)
		a.Lost(errors.New("refused"), true, time.Second)
		return a
	}
	begun := func(p *stalePod, a *Agent) *Agent {
		a.Connected()
		pass(away - time.Second)
		require.NoError(p.t, a.Received(&wire.Piece{Text: []byte("the rest comes later")}))
		return a
	}
	tests := map[string]struct {
		why   string
		items []stale.Item
		do    func(*stalePod, *Agent) *Agent
		after time.Duration
		open  bool
	}{
		"Away":     {"nothing answers", both, nil, away, true},
		"NotYet":   {"it may only be slow", both, nil, away - time.Second, false},
		"Answered": {"a refusal is an answer", both, answered, away - time.Second, false},
		"Silent":   {"and then there is none", both, answered, away, true},
		"Begun":    {"a snapshot is on its way", both, begun, away - time.Second, false},
		"Cut":      {"and the rest does not come", both, begun, away, true},
		"Shown":    {"the controller has shown that data is missing", both, func(_ *stalePod, a *Agent) *Agent { hear(a, alive(nil)); return a }, time.Hour, false},
		"Recalled": {"it has shown that to the process before", both, func(p *stalePod, a *Agent) *Agent {
			hear(a, alive(nil))
			return p.agent()
		}, time.Hour, false},
		"NoCopy":     {"there is none", nil, nil, time.Hour, false},
		"Incomplete": {"an endpoint that needs a secret is in no copy", both[:1], nil, time.Hour, false},
		"Late": {"the kubelet writes it later", nil, func(p *stalePod, a *Agent) *Agent {
			pass(time.Minute)
			p.copies(both...)
			return a
		}, 2 * copyAgain, true},
		"Completed": {"a copy that lacks an endpoint is looked at again", both[:1], func(p *stalePod, a *Agent) *Agent {
			pass(time.Minute)
			assert.Empty(p.t, p.tree(p.t), "a part of the data is not shown")
			p.copies(both...)
			return a
		}, 2 * copyAgain, true},
		"Broken": {"it is no copy", nil, func(p *stalePod, a *Agent) *Agent {
			require.NoError(p.t, os.WriteFile(p.path("copy"), []byte("{"), 0o600))
			return a
		}, time.Hour, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newStalePod(t, test.items...)
				a := p.agent()
				if test.do != nil {
					a = test.do(p, a)
				}
				pass(test.after)
				assert.Equal(t, test.open, a.isOpen(), test.why)
				if test.open {
					assert.Equal(t, files("db", "a"), p.tree(t)["db"])
					assert.Equal(t, files("mail", "b"), p.tree(t)["mail-2"])
					assert.Equal(t, canary+"ORCON_STALE='true'\nDB='a'\nDB_HOST='a'\nMAIL='b'\nMAIL_HOST='b'\n", p.env())
				}
			})
		})
	}
}

// Stale starts are off by default.
func TestNoStaleStartUnasked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStalePod(t, item(1, "db", "a"), item(2, "mail", "b"))
		p.settings.Stale = false
		a := p.agent()
		pass(time.Hour)
		assert.False(t, a.isOpen())
		assert.Empty(t, p.tree(t))
	})
}

// As soon as the controller answers, live data takes the place of the copy, whatever has ended meanwhile, also if the
// agent was restarted in between (TRUST.md A1).
func TestLiveDataReplacesACopy(t *testing.T) {
	tests := map[string]struct {
		why  string
		do   func(*stalePod, *Agent) *Agent
		live map[string]string
		want map[string]map[string]string
		env  string
		ever bool
	}{
		"Changed": {
			"other data", nil, map[string]string{"db": "c", "mail": "b"},
			map[string]map[string]string{"db": files("db", "c"), "db-1": files("db", "c"), "mail": files("mail", "b"), "mail-2": files("mail", "b")},
			canary + "DB='c'\nDB_HOST='c'\nMAIL='b'\nMAIL_HOST='b'\n", true,
		},
		"Ended": {
			"a relation has ended, and nothing is left of it", nil, map[string]string{"mail": "b"},
			map[string]map[string]string{"mail": files("mail", "b"), "mail-2": files("mail", "b")}, canary + "MAIL='b'\nMAIL_HOST='b'\n", false,
		},
		"Restarted": {
			"the process that made the files is gone", func(p *stalePod, _ *Agent) *Agent { return p.agent() }, map[string]string{},
			map[string]map[string]string{}, canary, false,
		},
		"CopyGone": {
			"and so is the copy", func(p *stalePod, _ *Agent) *Agent {
				require.NoError(p.t, os.Remove(p.path("copy")))
				a := p.agent()
				assert.Equal(p.t, files("db", "a"), p.tree(p.t)["db"], "containers may read the files")
				return a
			}, map[string]string{},
			map[string]map[string]string{}, canary, false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newStalePod(t, item(1, "db", "a"), item(2, "mail", "b"))
				a := p.agent()
				pass(away)
				require.True(t, a.isOpen())
				assert.False(t, p.disk().EverOpened.Exists())
				if test.do != nil {
					a = test.do(p, a)
					assert.True(t, a.isOpen(), "it was open")
				}
				hear(a, alive(test.live))
				assert.Equal(t, test.want, p.tree(t), test.why)
				assert.Equal(t, test.env, p.env())
				assert.True(t, a.isOpen(), "a gate opens once")
				assert.Equal(t, test.ever, p.disk().EverOpened.Exists())
			})
		})
	}
}

// After a reboot of the node, which has taken the files, a pod that had started with a copy alone waits for Orcon again,
// or starts with the copy as it is then.
func TestRebootAfterAStaleStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStalePod(t, item(1, "db", "a"), item(2, "mail", "b"))
		a := p.agent()
		pass(away)
		require.True(t, a.isOpen())
		p.reboot(t)
		p.copies(item(1, "db", "new"), item(2, "mail", "b"))
		a = p.agent()
		assert.False(t, a.isOpen())
		pass(away)
		assert.True(t, a.isOpen())
		assert.Equal(t, files("db", "new"), p.tree(t)["db"])
		_, err := os.Stat(filepath.Join(string(p.volumes), "state", "memory"))
		assert.True(t, os.IsNotExist(err), "nothing remembers a copy")
	})
}

// A pod that has lost its live data by a reboot of the node may start with the copy too (TRUST.md A1).
func TestStaleStartAfterAReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newStalePod(t, item(1, "db", "a"), item(2, "mail", "b"))
		a := p.agent()
		hear(a, alive(map[string]string{"db": "c", "mail": "d"}))
		require.True(t, a.isOpen())
		p.reboot(t)
		require.NoError(t, os.Remove(p.path("state", "memory.0")))
		a = p.agent()
		assert.False(t, a.isOpen())
		pass(away)
		assert.True(t, a.isOpen())
		assert.Equal(t, files("db", "a"), p.tree(t)["db"])
	})
}
