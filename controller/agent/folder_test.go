package agent

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
)

// narrow is a volume that has room for so many bytes.
type narrow struct {
	Bindings
	room int
}

func (n *narrow) Write(name string, files map[string]string) error {
	size := databag.Size(files)
	if size > n.room {
		return fmt.Errorf("cannot write bindings %q: %w", name, syscall.ENOSPC)
	}
	n.room -= size
	return n.Bindings.Write(name, files)
}

// TRUST.md U2: in a volume without room for all, the primary relation's files come first, and what does not fit is named.
func TestThePrimaryRelationHasRoomFirst(t *testing.T) {
	for round := range 10 { // each with another order of maps
		v := newVolumes(t, filepath.Join(t.TempDir(), fmt.Sprint(round)))
		disk := v.disk()
		disk.Bindings = &narrow{disk.Bindings, 30}
		a := New(settings(t, "db", ""), disk, &controller{}, nil)
		s := &wire.Snapshot{}
		for _, id := range []int64{7, 9} {
			bag := &wire.Databag{Data: map[string]string{"host": strings.Repeat(fmt.Sprint(id), 10)}}
			s.Relations = append(s.Relations, &wire.Relation{Id: id, Endpoint: "db", Complete: true, Bag: bag})
		}
		hear(a, s)
		tree := v.tree(t)
		assert.Equal(t, []string{"db"}, slices.Collect(maps.Keys(tree)))
		assert.Equal(t, "7777777777", tree["db"]["host"])
		assert.Equal(t, "cannot write bindings db-7, db-9: no space left on device", a.report.failing)
	}
}

// One reason is written once, with the directories that it concerns, as often as it is met.
func TestFailures(t *testing.T) {
	failed := failures{}
	require.NoError(t, failed.err())
	failed.note("write", "db", nil)
	require.NoError(t, failed.err())
	failed.note("remove", "mail", fs.ErrPermission)
	for n := range 10 {
		failed.note("write", fmt.Sprint("db-", n), &fs.PathError{Op: "write", Path: fmt.Sprint("/random-", n), Err: syscall.ENOSPC})
	}
	assert.EqualError(t, failed.err(), "cannot remove bindings mail: permission denied\n"+
		"cannot write bindings db-0, db-1, db-2, db-3, db-4, db-5, db-6, db-7 and 2 more: no space left on device")
}

// What a process before has kept in files is in use after a restart; what is torn is unknown until it comes again, and its
// files stay (TRUST.md U2, SAFETY.md E13).
func TestATornSpoolIsThrownAway(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db,mail", ""), v.disk(), &controller{}, nil)
	s := &wire.Snapshot{}
	for _, endpoint := range []string{"db", "mail"} {
		bag := &wire.Databag{Data: map[string]string{"host": strings.Repeat(endpoint, 20)}}
		s.Relations = append(s.Relations, &wire.Relation{Id: 7, Endpoint: endpoint, Interface: endpoint, Complete: true, Bag: bag})
	}
	hear(a, s)
	written := v.tree(t)
	disk := v.disk()
	torn := databag.Version(s.Relations[1].Bag.Data)
	require.NoError(t, os.Truncate(v.path("state", "bags-1", torn), 10))

	again := New(settings(t, "db,mail", ""), disk, &controller{}, nil)
	again.Start()
	require.Len(t, again.view.View.Relations, 1)
	assert.Equal(t, "db", again.view.View.Relations[0].Endpoint)
	assert.NoFileExists(t, v.path("state", "bags-1", torn))
	assert.Equal(t, written, v.tree(t))
	hear(again, s)
	assert.Len(t, again.view.View.Relations, 2)
	assert.Equal(t, written, v.tree(t))
	runtime.KeepAlive(a)
}

// A gate waits for the files of required endpoints alone. Files of optional endpoints, or of further relations, that have no
// room keep no pod from starting, and are named (RELATIONS.md "What a workload sees", SAFETY.md I17, TRUST.md U2).
func TestNoRoomForWhatIsNotRequired(t *testing.T) {
	tests := map[string]struct {
		why, consumes string
		room          int
		want          bool
	}{
		"Required": {why: "it is not there", consumes: "db,cache?", room: 5},
		"Optional": {why: "the other is not waited for", consumes: "db,cache?", room: 30, want: true},
		"Ungated":  {why: "nothing is waited for", consumes: "db?,cache?", room: 5, want: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			v := newVolumes(t, t.TempDir())
			disk := v.disk()
			disk.Bindings = &narrow{disk.Bindings, test.room}
			a := New(settings(t, test.consumes, ""), disk, &controller{}, nil)
			s := &wire.Snapshot{}
			for id, endpoint := range []string{"db", "cache"} {
				size := 10 + 100*id
				s.Relations = append(s.Relations, &wire.Relation{Id: int64(id), Endpoint: endpoint, Complete: true,
					Bag: &wire.Databag{Data: map[string]string{"host": strings.Repeat("x", size)}}})
			}
			hear(a, s)
			assert.Equal(t, test.want, a.isOpen(), test.why)
			assert.Contains(t, a.report.failing, "no space left on device")
		})
	}
}
