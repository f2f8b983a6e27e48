package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// grantedID is that of what the database grants.
const grantedID = "c6b9fk2t7m0q3v8x1z5d"

// grants is a snapshot of a relation that grants a Secret as of a revision; 0 for none.
func grants(at uint64, revision int64) *wire.Snapshot {
	r := &wire.Relation{
		Id: 7, Uid: "uid-7", Endpoint: "db", Interface: "pg", RemoteApplication: "db", RemoteNamespace: "shop", Complete: true,
		Bag: &wire.Databag{Data: map[string]string{"host": "db.example.org", "url": "pg://db"}},
	}
	if revision > 0 {
		r.Bag.Data["secret"] = secret.Reference(grantedID)
		r.Granted = &wire.GrantedSecret{Id: grantedID, Revision: revision}
	}
	return &wire.Snapshot{
		Revisions: map[string]uint64{"Relation": at}, Relations: []*wire.Relation{r},
		Unit: &wire.Unit{Application: "web", Namespace: "shop", Known: true},
	}
}

func adminContent(password string) map[string][]byte {
	return map[string][]byte{"username": []byte("admin"), "password": []byte(password), "url": []byte("pg://admin@db"), ".hidden": []byte("x"), "type": []byte("mine")}
}

// grantedFiles are those of the binding.
func grantedFiles(password string) map[string]string {
	return map[string]string{"host": "db.example.org", "url": "pg://admin@db", "username": "admin", "password": password, "type": "pg", "provider": "db"}
}

// Who has no code gets what is granted as files, in place of the reference, and as those
// variables that it asks for; another content replaces it, and it goes with the grant.
// It is on no disk (SAFETY.md S1, P7 and W1).
func TestWhatIsGrantedIsInTheFiles(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	c := &controller{content: adminContent("hunter2")}
	a := New(settings(t, "db:pg", "db=password,url"), v.disk(), c, nil)
	a.Start()
	hear(a, grants(1, 1))
	assert.True(t, a.isOpen())
	assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"])
	assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db-7"])
	env, err := os.ReadFile(v.path("run", "env"))
	require.NoError(t, err)
	assert.Contains(t, string(env), "DB_PASSWORD='hunter2'\n")
	assert.Contains(t, string(env), "DB_URL='pg://admin@db'\n", "it asks for that")
	assert.NotContains(t, string(env), "DB_USERNAME")

	hear(a, grants(2, 1))
	assert.Len(t, c.gets, 1, "it is read once")
	c.content = adminContent("hunter3")
	hear(a, grants(3, 2))
	assert.Equal(t, grantedFiles("hunter3"), v.tree(t)["db"])
	assert.Contains(t, a.speech.concealed(), "hunter3", "what handlers print of it is not for people")
	onDisk := 0
	require.NoError(t, filepath.WalkDir(v.path("state"), func(path string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		onDisk++
		content, err := os.ReadFile(path)
		assert.NotContains(t, string(content), "hunter", "%s is on a disk", path)
		return err
	}))
	require.NotZero(t, onDisk)

	hear(a, grants(4, 0))
	assert.Equal(t, map[string]string{"host": "db.example.org", "url": "pg://db", "type": "pg", "provider": "db"}, v.tree(t)["db"], "consent was taken back")
	assert.Empty(t, a.speech.concealed())
	assert.Empty(t, a.view.Contents)
}

// A variable that was not asked for never holds what is granted (SAFETY.md P7).
func TestWhatIsGrantedIsNoVariableUnasked(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db:pg", "db=secret"), v.disk(), &controller{content: adminContent("hunter2")}, nil)
	a.Start()
	hear(a, grants(1, 1))
	env, err := os.ReadFile(v.path("run", "env"))
	require.NoError(t, err)
	assert.Contains(t, string(env), "DB_URL='pg://db'\n", "the provider's own")
	assert.NotContains(t, string(env), "DB_SECRET", "a reference is for tools alone")
}

// As long as what is granted cannot be read the gate waits for it, and the files stay as
// they are, also over a restart of the agent; it is tried again (SAFETY.md S1, I19).
func TestWhatIsGrantedIsWaitedFor(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	c := &controller{err: errors.New("no answer")}
	a := New(settings(t, "db:pg", "db=password"), v.disk(), c, nil)
	a.Start()
	hear(a, grants(1, 1))
	assert.False(t, a.isOpen())
	assert.Empty(t, v.tree(t))
	assert.Contains(t, a.view.Unmet(a.settings.Consumes)[0].Why, "the Secret that db grants could not be read yet")
	require.NotNil(t, a.reread, "another attempt is planned")
	a.reread.Stop()
	c.err, c.content = nil, adminContent("hunter2")
	a.readAgain()
	assert.True(t, a.isOpen())
	assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"])

	stale := map[string]Content{grantedID: {Revision: 9, Files: map[string]string{"password": "older"}}}
	a.mu.Lock()
	a.take(stale, nil)
	a.mu.Unlock()
	assert.Equal(t, "hunter2", a.view.Contents[grantedID].Files["password"], "what was asked for before another revision came does not count")

	next := New(settings(t, "db:pg", "db=password"), v.disk(), &controller{err: errors.New("no answer")}, nil)
	next.Start()
	assert.True(t, next.isOpen(), "an outage does not close a gate")
	hear(next, grants(2, 2))
	assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"], "the files stay")
	env, err := os.ReadFile(v.path("run", "env"))
	require.NoError(t, err)
	assert.Contains(t, string(env), "DB_PASSWORD='hunter2'\n", "and the variables, for a container that starts again")
}

// A relation that is suspended keeps its files: consent to it may come back
// (SAFETY.md E14).
func TestWhatIsGrantedStaysWhileSuspended(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	a := New(settings(t, "db:pg", ""), v.disk(), &controller{content: adminContent("hunter2")}, nil)
	a.Start()
	hear(a, grants(1, 1))
	suspended := grants(2, 0)
	suspended.Relations[0].Suspended, suspended.Relations[0].Complete, suspended.Relations[0].Bag = true, false, nil
	hear(a, suspended)
	assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"])
	assert.Empty(t, a.view.Unread(), "what is suspended is not asked for")
}

// The gate waits for the Secret of the relation that <endpoint>/ shows, also where another relation of the endpoint is complete:
// containers would start without that directory and with a part of their variables (INJECTION.md I16, SAFETY.md W2).
func TestTheGateWaitsForTheSecretOfTheFirstRelation(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	c := &controller{err: errors.New("no answer")}
	a := New(settings(t, "db:pg", "db=password"), v.disk(), c, nil)
	a.Start()
	snapshot := grants(1, 1)
	snapshot.Relations = append(snapshot.Relations, &wire.Relation{
		Id: 9, Uid: "uid-9", Endpoint: "db", Interface: "pg", RemoteApplication: "replica", RemoteNamespace: "shop", Complete: true,
		Bag: &wire.Databag{Data: map[string]string{"host": "replica.example.org"}},
	})
	hear(a, snapshot)
	require.False(t, a.isOpen())
	assert.NotContains(t, v.tree(t), "db")
	assert.Contains(t, a.view.Unmet(a.settings.Consumes)[0].Why, "the Secret that db grants could not be read yet")
	a.reread.Stop()
	c.err, c.content = nil, adminContent("hunter2")
	a.readAgain()
	assert.True(t, a.isOpen())
	assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"])
	assert.Contains(t, v.env(t), "DB_PASSWORD='hunter2'\n")
}

// After a restore of the store a granted Secret is read again, also at the revision that was read before: its content may
// be another (TRUST.md T6).
func TestWhatIsGrantedIsReadAgainAfterARestore(t *testing.T) {
	v := newVolumes(t, t.TempDir())
	c := &controller{content: adminContent("hunter3")}
	a := New(settings(t, "db:pg", ""), v.disk(), c, nil)
	a.Start()
	a.Connected()
	hear(a, grants(90, 2))
	assert.Equal(t, grantedFiles("hunter3"), v.tree(t)["db"])
	c.content = adminContent("hunter2")
	back := grants(20, 2)
	back.WentBack = true
	hear(a, back)
	assert.Equal(t, grantedFiles("hunter2"), v.tree(t)["db"])
}
