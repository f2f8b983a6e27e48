package agent

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/databag"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// said has the contents of all bags of relations that tests make: equal references have equal contents.
//
//nolint:gochecknoglobals // relations are values in tables
var said = conversation.BagMap{}

// db returns a complete relation of endpoint db.
func db(id int, host string) conversation.Relation {
	return conversation.Relation{
		ID: id, UID: fmt.Sprint("uid-", id), Endpoint: "db", Interface: "postgresql", Role: application.Requirer, Life: conversation.Alive,
		Remote: "pg", There: conversation.End{Namespace: "demo", Application: "pg"},
		RemoteBag: said.Put(map[string]string{"host": host}), Complete: true,
	}
}

func with(r conversation.Relation, change func(*conversation.Relation)) conversation.Relation {
	change(&r)
	return r
}

// heard is an update with the contents of all bags.
func heard(relations ...conversation.Relation) conversation.Update {
	return conversation.Update{View: conversation.View{Application: "web", Namespace: "demo", Relations: relations, Bags: said}}
}

// after merges snapshots, oldest first.
func after(updates ...conversation.Update) Projection {
	var v Projection
	for _, s := range updates {
		v = v.Merge(s)
	}
	v.View.Bags = said
	return v
}

// whole returns a snapshot that has its databags as the domain knows it.
func whole(s *wire.Snapshot) conversation.Update {
	contents := conversation.BagMap{}
	for _, b := range convert.Databags(s) {
		contents[convert.RefTo(b)] = b.GetData()
	}
	return convert.ToUpdate(s, contents)
}

// content returns the files of each directory that a projection shows.
func content(v Projection) map[string]map[string]string {
	all := map[string]map[string]string{}
	for name, r := range v.Plan().Write {
		all[name] = v.files(r)
	}
	return all
}

// of is what is known as of revisions.
func of(revisions map[string]uint64) Projection {
	return Projection{Update: conversation.Update{Revisions: revisions}}
}

func TestBehind(t *testing.T) {
	tests := map[string]struct {
		why   string
		used  map[string]uint64
		heard map[string]uint64
		want  string
	}{
		"First":    {why: "nothing was used yet", heard: map[string]uint64{"Relation": 1}},
		"Same":     {why: "another replica says the same", used: map[string]uint64{"Relation": 5}, heard: map[string]uint64{"Relation": 5}},
		"Newer":    {why: "that is what it is for", used: map[string]uint64{"Relation": 5}, heard: map[string]uint64{"Relation": 6}},
		"Older":    {why: "a replica that lags", used: map[string]uint64{"Relation": 5}, heard: map[string]uint64{"Relation": 4}, want: "Relation"},
		"OneOlder": {why: "newer in one kind does not make up for another", used: map[string]uint64{"Relation": 5, "Databag": 9}, heard: map[string]uint64{"Relation": 7, "Databag": 8}, want: "Databag"},
		"Missing":  {why: "a kind it does not know is one it has not seen", used: map[string]uint64{"Databag": 9}, heard: map[string]uint64{"Relation": 7}, want: "Databag"},
		"NewKind":  {why: "a later version may watch more", used: map[string]uint64{"Relation": 5}, heard: map[string]uint64{"Relation": 5, "Offer": 1}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, of(test.used).Behind(conversation.Update{Revisions: test.heard}), "SAFETY.md V4: %s", test.why)
		})
	}
}

// Which directories there are, and which go (SAFETY.md W1, W2, E13).
func TestPlan(t *testing.T) {
	files := func(host string) map[string]string {
		return map[string]string{"host": host, "type": "postgresql", "provider": "pg"}
	}
	ended := func(r *conversation.Relation) { r.Life = conversation.Ending }
	held := func(r *conversation.Relation) { r.Held = true }
	elsewhere := func(r *conversation.Relation) { r.Remote = "mysql" }
	mysql := map[string]string{"host": "a", "type": "postgresql", "provider": "mysql"}
	tests := map[string]struct {
		why    string
		view   Projection
		write  map[string]map[string]string
		remove []string
	}{
		"One": {
			why:   "W2: the short name and the long one",
			view:  after(heard(db(7, "a"))),
			write: map[string]map[string]string{"db": files("a"), "db-7": files("a")},
		},
		"Two": {
			why:   "W2: the short name is the oldest's",
			view:  after(heard(db(9, "b"), db(7, "a"))),
			write: map[string]map[string]string{"db": files("a"), "db-7": files("a"), "db-9": files("b")},
		},
		"OlderComesLater": {
			why:   "W2: it does not move while it lives",
			view:  after(heard(db(9, "b")), heard(db(9, "b"), db(7, "a"))),
			write: map[string]map[string]string{"db": files("b"), "db-7": files("a"), "db-9": files("b")},
		},
		"OlderWithoutData": {
			why:   "W2: a relation with nothing to show does not keep the short name from one that has",
			view:  after(heard(with(db(7, ""), func(r *conversation.Relation) { r.RemoteBag, r.Complete = databag.Ref{}, false }), db(9, "b"))),
			write: map[string]map[string]string{"db": files("b"), "db-9": files("b")},
		},
		"Absent": {
			why:   "E13: what is absent is unknown, and kept",
			view:  after(heard(db(7, "a")), heard()),
			write: map[string]map[string]string{"db": files("a"), "db-7": files("a")},
		},
		"AbsentAndYounger": {
			why:   "T7: the short name goes to the one that is complete, and what is absent keeps its own",
			view:  after(heard(db(7, "a")), heard(db(9, "b"))),
			write: map[string]map[string]string{"db": files("b"), "db-7": files("a"), "db-9": files("b")},
		},
		"AbsentAndReplaced": {
			why:    "T7: what has been replaced for good does not come back when the other ends",
			view:   after(heard(db(7, "a")), heard(db(9, "b")), heard(with(db(9, "b"), ended)), heard()),
			write:  map[string]map[string]string{"db-7": files("a")},
			remove: []string{"db-9", "db"},
		},
		"AbsentOfAnother": {
			why:    "T7: a relation with another application replaces nothing",
			view:   after(heard(with(db(7, "a"), elsewhere)), heard(db(9, "b")), heard(with(db(9, "b"), ended))),
			write:  map[string]map[string]string{"db": mysql, "db-7": mysql},
			remove: []string{"db-9"},
		},
		"AbsentAndBack": {
			why:    "E13: what is known again is what it was",
			view:   after(heard(db(7, "a")), heard(db(9, "b")), heard(db(7, "a"), with(db(9, "b"), ended))),
			write:  map[string]map[string]string{"db": files("a"), "db-7": files("a")},
			remove: []string{"db-9"},
		},
		"NumberedAnew": {
			why:   "an id is never used again in a namespace: the other one's numbers have gone with it",
			view:  after(heard(db(7, "a")), heard(with(db(7, "b"), func(r *conversation.Relation) { r.UID = "uid-new" }))),
			write: map[string]map[string]string{"db": files("b"), "db-7": files("b")},
		},
		"Ended": {
			why:    "E13: only a tombstone removes",
			view:   after(heard(db(7, "a")), heard(with(db(7, "a"), ended))),
			write:  map[string]map[string]string{},
			remove: []string{"db-7", "db"},
		},
		"EndedThenNext": {
			why:    "W2: the short name goes to the next oldest",
			view:   after(heard(db(7, "a"), db(9, "b")), heard(with(db(7, "a"), ended), db(9, "b"))),
			write:  map[string]map[string]string{"db": files("b"), "db-9": files("b")},
			remove: []string{"db-7"},
		},
		"EndedForGood": {
			why:    "L1: never back",
			view:   after(heard(with(db(7, "a"), ended)), heard(db(7, "a"))),
			write:  map[string]map[string]string{},
			remove: []string{"db-7", "db"},
		},
		"Emptied": {
			why:   "a provider that was deleted takes no running pod's files with it",
			view:  after(heard(db(7, "a")), heard(with(db(7, ""), func(r *conversation.Relation) { r.RemoteBag, r.Complete = databag.Ref{}, false }))),
			write: map[string]map[string]string{"db": files("a"), "db-7": files("a")},
		},
		"Changed": {
			why:   "a relation that is there with another bag is written, complete or not",
			view:  after(heard(db(7, "a")), heard(with(db(7, "b"), func(r *conversation.Relation) { r.Complete, r.Held = false, true }))),
			write: map[string]map[string]string{"db": files("b"), "db-7": files("b")},
		},
		"HeldGivesWay": {
			why:   "W2, L5: what somebody declared in its place is meant, not what is held",
			view:  after(heard(db(7, "a")), heard(with(db(7, "a"), held), db(9, "b"))),
			write: map[string]map[string]string{"db": files("b"), "db-7": files("a"), "db-9": files("b")},
		},
		"HeldAlone": {
			why:   "L5: nobody hears of a relation that is held",
			view:  after(heard(db(7, "a")), heard(with(db(7, "a"), held))),
			write: map[string]map[string]string{"db": files("a"), "db-7": files("a")},
		},
		"Clash": {
			why:  "an endpoint called db-7 keeps its short name from relation 7 of db",
			view: after(heard(db(7, "a"), with(db(8, "x"), func(r *conversation.Relation) { r.Endpoint = "db-7" }))),
			write: map[string]map[string]string{
				"db": files("a"), "db-7": files("x"), "db-7-8": files("x"),
			},
		},
		"Elsewhere": {
			why:  "a provider in another namespace is named with it",
			view: after(heard(with(db(7, "a"), func(r *conversation.Relation) { r.Remote, r.There.Namespace = "pg.shared", "shared" }))),
			write: map[string]map[string]string{
				"db":   {"host": "a", "type": "postgresql", "provider": "pg.shared"},
				"db-7": {"host": "a", "type": "postgresql", "provider": "pg.shared"},
			},
		},
		"Ours": {
			why: "W1: type and provider are Orcon's",
			view: after(heard(with(db(7, "a"), func(r *conversation.Relation) {
				r.RemoteBag = said.Put(map[string]string{"host": "a", "type": "evil", "provider": "evil"})
			}))),
			write: map[string]map[string]string{"db": files("a"), "db-7": files("a")},
		},
		"NothingYet": {
			why:   "a type without data would look like a binding that is broken",
			view:  after(heard(with(db(7, ""), func(r *conversation.Relation) { r.RemoteBag, r.Complete = databag.Ref{}, false }))),
			write: map[string]map[string]string{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plan := test.view.Plan()
			assert.Equal(t, test.write, content(test.view), test.why)
			assert.Equal(t, test.remove, plan.Remove, test.why)
		})
	}
}

// hostileNames are keys and endpoints that somebody might try.
func hostileNames() []string {
	names := []string{
		"", ".", "..", "...", "..data", "..data_tmp", ".hidden", "-rf", "_x", "/", "/etc/passwd", "a/b", "../x", "../../x", "a/../b",
		"a\x00b", "a\nb", "a b", " a", "a ", "a\tb", "a\rb", "é", "\xff\xfe", "a\u202eb", "a:b", "a*b", "a?b", "a|b", "a<b", "a>b", "a\\b", "a\"b", "a'b",
		"$(id)", "`id`", "${HOME}", "a;b", "a&b", "a=b", "a#b", "~", "~root", "%2e%2e", "a%00b", "\u0000", "\u2028", "\u00a0", "\ufeffa",
		strings.Repeat("a", 254), strings.Repeat("a", 4096), strings.Repeat("/", 100), strings.Repeat("../", 50),
		"CON:", "a\x7fb", "a\x1bb", "١", "Ａ", "\u017f", "\u212a", "a\u0301", "\U0001f600", "a,b", "a(b", "a)b", "a[b", "a]b", "a{b", "a}b", "a!b", "a@b", "a^b", "a+b", "a~b",
	}
	for i := range 40 {
		names = append(names, "k"+string(rune(i)))
	}
	return names
}

// SAFETY.md W1: at least 100 keys that must not become files, and some that must.
func TestHostileKeysAreNoFiles(t *testing.T) {
	bag := map[string]string{}
	for _, key := range hostileNames() {
		bag[key] = "evil"
	}
	require.Greater(t, len(bag), 100)
	good := map[string]string{"a": "1", "A.b_c-9": "2", "0": "3", "tls.crt": "4", strings.Repeat("k", 253): "5"}
	maps.Copy(bag, good)
	view := after(heard(with(db(7, ""), func(r *conversation.Relation) { r.RemoteBag = said.Put(bag) })))
	good["type"], good["provider"] = "postgresql", "pg"
	assert.Equal(t, good, content(view)["db"])
}

func TestHostileEndpointsAreNoDirectories(t *testing.T) {
	for _, endpoint := range hostileNames() {
		view := after(heard(with(db(7, "a"), func(r *conversation.Relation) { r.Endpoint = endpoint })))
		assert.Empty(t, view.Plan().Write, "%q", endpoint)
		view = after(heard(with(db(7, "a"), func(r *conversation.Relation) { r.Endpoint, r.Life = endpoint, conversation.Ending })))
		assert.Empty(t, view.Plan().Remove, "%q", endpoint)
	}
}

// What a gate waits for, and why (SAFETY.md E13).
func TestUnmet(t *testing.T) {
	consumes := func(text string) []application.Endpoint {
		endpoints, problems := application.ParseConsumes(text)
		require.Empty(t, problems)
		return endpoints
	}
	incomplete := with(db(7, ""), func(r *conversation.Relation) {
		r.RemoteBag, r.Complete, r.Message = databag.Ref{}, false, "pg has given no data yet"
	})
	tests := map[string]struct {
		why      string
		consumes string
		view     Projection
		want     []Unmet
	}{
		"Unheard": {
			why: "nobody has said anything", consumes: "db", view: Projection{},
			want: []Unmet{{"db", "the controller has not answered yet"}},
		},
		"Complete": {why: "all is there", consumes: "db", view: after(heard(db(7, "a")))},
		"Optional": {why: "nobody waits for it", consumes: "db?", view: after(heard())},
		"One":      {why: "one of several relations is enough", consumes: "db", view: after(heard(incomplete, db(9, "b")))},
		"Incomplete": {
			why: "the controller's reason is passed on", consumes: "db", view: after(heard(incomplete)),
			want: []Unmet{{"db", "pg has given no data yet"}},
		},
		"Waiting": {
			why: "so is why there is no relation", consumes: "db,cache?",
			view: after(conversation.Update{View: conversation.View{Waiting: []conversation.Waiting{{Endpoint: "db", Reason: "NoApplication", Message: "there is no application pg"}, {Endpoint: "cache", Reason: "X", Message: "x"}}}}),
			want: []Unmet{{"db", "there is no application pg"}},
		},
		"Ignored": {
			why: "A1: a workload that takes part in nothing has the reason", consumes: "db",
			view: after(heard(db(7, "a")), conversation.Update{Own: conversation.Own{Ignored: "StatefulSet web exists but is ignored"}}),
			want: []Unmet{{"db", "StatefulSet web exists but is ignored"}},
		},
		"Remembered": {
			why: "E13: what is only remembered is unknown: wait", consumes: "db", view: after(heard(db(7, "a")), heard()),
			want: []Unmet{{"db", "the controller knows no relation on this endpoint"}},
		},
		"Ended": {
			why: "a relation that is over gives nothing", consumes: "db", view: after(heard(with(db(7, "a"), func(r *conversation.Relation) { r.Life = conversation.Ending }))),
			want: []Unmet{{"db", "the controller knows no relation on this endpoint"}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, test.view.Unmet(consumes(test.consumes)), test.why)
		})
	}
}

// What becomes a variable (SAFETY.md P7, P8, P9).
func TestEnvironment(t *testing.T) {
	db7 := func(bag map[string]string) Projection {
		return after(heard(with(db(7, ""), func(r *conversation.Relation) { r.RemoteBag, r.Complete = said.Put(bag), true })))
	}
	long := strings.Repeat("x", injection.MaxEnvValue)
	tests := map[string]struct {
		why  string
		view Projection
		env  string
		want string
		left int
	}{
		"Derived":  {why: "P7: what the consumer declares gives the names", view: db7(map[string]string{"host": "a", "port": "1"}), want: "POSTGRESQL='a'\nDB_HOST='a'\nDB_PORT='1'\n"},
		"NotAsked": {why: "P7: a provider's key is a file only", view: db7(map[string]string{"password": "p"})},
		"Asked":    {why: "P7: unless asked for", view: db7(map[string]string{"password": "p"}), env: "db=password", want: "DB_PASSWORD='p'\n"},
		"Refused":  {why: "P8: never, whoever asks", view: db7(map[string]string{"proxy": "p"}), env: "db=proxy"},
		"Quote":    {why: "P9: a quote cannot be written, and would spoil the file", view: db7(map[string]string{"host": "a'\nLD_PRELOAD='x"}), left: 2},
		"Nul":      {why: "P9: nor NUL", view: db7(map[string]string{"port": "a\x00b"}), left: 1},
		"NotText":  {why: "P9: nor what is no text", view: db7(map[string]string{"port": "\xff"}), left: 1},
		"Lines":    {why: "several lines are fine", view: db7(map[string]string{"port": "a\nB=c\n#"}), want: "DB_PORT='a\nB=c\n#'\n"},
		"Longest":  {why: "P9: 32 KiB fit", view: db7(map[string]string{"port": long}), want: "DB_PORT='" + long + "'\n"},
		"TooLong":  {why: "P9: one more does not", view: db7(map[string]string{"port": long + "x"}), left: 1},
		"InAll": {
			why:  "P9: 128 KiB in all, in the order of declaration",
			view: db7(map[string]string{"host": long, "port": long, "url": long, "ports": "1"}),
			want: "POSTGRESQL='" + long + "'\nDB_HOST='" + long + "'\nDB_PORT='" + long + "'\nDB_PORTS='1'\n", left: 1,
		},
		"Emptied": {
			why:  "a provider that is gone leaves the variables for the next start of a container",
			view: after(db7(map[string]string{"port": "1"}).Update, heard(with(db(7, ""), func(r *conversation.Relation) { r.RemoteBag = databag.Ref{} }))), want: "DB_PORT='1'\n",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			consumes, problems := application.ParseConsumes("db:postgresql")
			require.Empty(t, problems)
			var asked map[string][]string
			if test.env != "" {
				asked, problems = application.ParseEnv(test.env)
				require.Empty(t, problems)
			}
			variables, _ := injection.Variables(consumes, nil, asked)
			text, left := test.view.Environment(variables)
			assert.Equal(t, test.want, text, test.why)
			assert.Equal(t, test.left, left, test.why)
		})
	}
}

func TestEndedRelationsAreForgottenInTheEnd(t *testing.T) {
	var v Projection
	for id := range maxEnded + 10 {
		v = v.Merge(heard(with(db(id, "a"), func(r *conversation.Relation) { r.Life = conversation.Ending })))
	}
	assert.LessOrEqual(t, len(v.View.Relations), maxEnded+1)
	assert.Equal(t, maxEnded+9, v.View.Relations[len(v.View.Relations)-1].ID, "the oldest go first")
}

func TestMemoryKeepsTheOrder(t *testing.T) {
	v := after(heard(db(9, "b")), heard(db(9, "b"), db(7, "a")))
	v.Revisions, v.Own.Number, v.Own.Known = map[string]uint64{"Relation": 4}, 3, true
	memory, err := convert.EncodeMemory(v.Update)
	require.NoError(t, err)
	back, err := convert.ParseMemory(memory)
	require.NoError(t, err)
	recalled := whole(back)
	v.View.Bags, recalled.View.Bags = nil, nil
	assert.Equal(t, v.Update, recalled)
}
