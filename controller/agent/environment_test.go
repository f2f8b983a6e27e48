package agent

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
)

// A container that starts again has the variables of that time, also after a restart of the agent while a granted Secret cannot be
// read: unknown values stay, those of ended relations go, and all others change (SAFETY.md D4, S1, E13).
func TestVariablesAfterARestart(t *testing.T) {
	mail := func(host string) *wire.Relation {
		return &wire.Relation{Id: 9, Uid: "uid-9", Endpoint: "mail", Interface: "smtp", RemoteApplication: "mx", RemoteNamespace: "shop",
			Complete: true, Bag: &wire.Databag{Data: map[string]string{"host": host}}}
	}
	const secrets, others = "DB_PASSWORD='hunter2'\n", "MAIL_HOST='new'\n"
	tests := map[string]struct {
		why    string
		before func(*wire.Snapshot) // a snapshot of the process before
		after  func(*wire.Snapshot)
		has    []string
		lacks  []string
	}{
		"Unread": {why: "the Secret cannot be read yet", has: []string{secrets, others}},
		"Suspended": {why: "its relation is suspended, and the Secret is not read", after: func(s *wire.Snapshot) {
			s.Relations[0].Suspended, s.Relations[0].Complete, s.Relations[0].Granted, s.Relations[0].Bag = true, false, nil, nil
		}, has: []string{secrets, others}},
		"Ended": {why: "it is granted no more", after: func(s *wire.Snapshot) {
			s.Relations[0].Ended, s.Relations[0].Granted = true, nil
		}, has: []string{others}, lacks: []string{"DB_"}},
		"AllEnded": {why: "nothing is left", after: func(s *wire.Snapshot) {
			s.Relations[0].Ended, s.Relations[1].Ended, s.Relations[0].Granted = true, true, nil
		}, lacks: []string{"DB_", "MAIL_"}},
		"Lost": {why: "another relation has taken its place, and nobody has told the agent of its end", before: func(s *wire.Snapshot) {
			s.Relations[0] = &wire.Relation{Id: 8, Uid: "uid-8", Endpoint: "db", Interface: "pg", RemoteApplication: "next", Complete: true,
				Bag: &wire.Databag{Data: map[string]string{"host": "next"}}}
		}, after: func(s *wire.Snapshot) {
			s.Relations[0] = &wire.Relation{Id: 8, Uid: "uid-8", Endpoint: "db", Interface: "pg", RemoteApplication: "next", Complete: true,
				Bag: &wire.Databag{Data: map[string]string{"host": "last"}}}
		}, has: []string{"DB_HOST='last'\n", others}, lacks: []string{"DB_PASSWORD"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := newVolumes(t, t.TempDir())
			wanted := settings(t, "db:pg,mail:smtp?", "db=password")
			a := New(wanted, v.disk(), &controller{content: adminContent("hunter2")}, nil)
			a.Start()
			both := func(revision uint64, host string, change func(*wire.Snapshot)) *wire.Snapshot {
				snapshot := grants(revision, 1)
				snapshot.Relations = append(snapshot.Relations, mail(host))
				if change != nil {
					change(snapshot)
				}
				return snapshot
			}
			hear(a, both(1, "old", nil))
			require.Contains(t, v.env(t), secrets)
			hear(a, both(2, "old", test.before))

			again := New(wanted, v.disk(), &controller{err: errors.New("no answer")}, nil)
			again.Start()
			for _, revision := range []uint64{3, 4} {
				hear(again, both(revision, "new", test.after))
				for _, line := range test.has {
					assert.Contains(t, v.env(t), line, test.why)
				}
				for _, line := range test.lacks {
					assert.NotContains(t, v.env(t), line, test.why)
				}
			}
		})
	}
}
