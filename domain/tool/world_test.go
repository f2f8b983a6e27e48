package tool_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/status"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// world is an agent in memory: the unit web/0 with its relations and secrets. It
// keeps the rules of who may do what, as far as the tools show them, and writes
// down what it was asked to change.
type world struct {
	snapshot conversation.Snapshot
	// contents are those of the snapshot's bags.
	contents conversation.BagMap
	written  *conversation.Transaction
	// membership is that of the handler that calls.
	membership conversation.Membership
	// unknown is set while the agent has seen nothing yet.
	unknown bool
	reports map[bool]tool.Report
	goal    tool.Goal
	network map[string]tool.Network
	secrets []secret
	did     []string
}

type secret struct {
	tool.Secret
	content map[string][]byte
	granted bool
}

func unit(text string) conversation.Unit {
	u, err := conversation.ParseUnit(text)
	if err != nil {
		panic(err)
	}
	return u
}

const (
	ownSecret     = "9m4e2mr0ui3e8a215n4g"
	foreignSecret = "c0ffee00000000000000"
	lostSecret    = "dead0000000000000000"
	now           = "2026-03-01T10:00:00Z"
)

func at(text string) time.Time {
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return when
}

func newWorld() *world {
	contents := conversation.BagMap{}
	db := conversation.Relation{
		UID: "uid-db", ID: 7, Endpoint: "db", Role: application.Requirer, Remote: "pg", Life: conversation.Alive,
		Units: []conversation.Member{
			{Unit: unit("pg/10"), Bag: contents.Put(conversation.Bag{"host": "10.0.0.10"})},
			{Unit: unit("pg/0"), Bag: contents.Put(conversation.Bag{
				"host": "pg-0.pg", "port": "5432", "tls": "yes", "empty-ish": " ", "dsn": "a=b=c&d", "notes": "one\ntwo\n",
				"größe": "naïve ☃ 日本", "quote": `"it's"`, "colon": "a: b", "null": "null", "version": "1.10", "-": "dash",
			})},
			{Unit: unit("pg/2"), Bag: contents.Put(conversation.Bag{})},
		},
		Departed:  []conversation.Tombstone{{Unit: unit("pg/1"), Reason: conversation.ScaledDown, Bag: contents.Put(conversation.Bag{"host": "10.0.0.1"})}},
		RemoteBag: contents.Put(conversation.Bag{"database": "shop", "uris": "postgresql://u:p@h:5432/shop?sslmode=require"}),
		OwnBag:    contents.Put(conversation.Bag{"ingress-address": "10.244.1.9"}), OwnApplicationBag: contents.Put(conversation.Bag{"requested": "shop"}),
	}
	return &world{
		contents: contents,
		snapshot: conversation.Snapshot{Unit: unit("web/0"), Bags: contents, Relations: []conversation.Relation{
			{UID: "uid-peers", ID: 3, Endpoint: "cluster", Role: application.Peer, Remote: "web", Life: conversation.Alive,
				Units: []conversation.Member{{Unit: unit("web/1"), Bag: contents.Put(conversation.Bag{"ready": "true"})}}, OwnApplicationBag: contents.Put(conversation.Bag{"primary": "web/1"})},
			db,
			{UID: "uid-archive", ID: 12, Endpoint: "db", Role: application.Requirer, Remote: "archive.data", Life: conversation.Ending},
			{UID: "uid-shop", ID: 7, Endpoint: "website", Role: application.Provider, Remote: "shop.north", Life: conversation.Alive},
			{UID: "uid-shop-2", ID: 7, Endpoint: "website", Role: application.Provider, Remote: "shop.south", Life: conversation.Alive},
			{UID: "uid-old", ID: 10, Endpoint: "website", Role: application.Provider, Remote: "old", Life: conversation.Suspended,
				Units: []conversation.Member{{Unit: unit("old/0")}}},
			{UID: "uid-empty", ID: 9, Endpoint: "website", Role: application.Provider, Remote: "proxy", Life: conversation.Alive},
		}},
		reports: map[bool]tool.Report{
			false: {State: status.Waiting, Message: "for db: the primary"},
			true: {State: status.Active, Data: map[string]string{"ready": "2/2"}, Units: []tool.UnitReport{
				{Unit: unit("web/10"), Report: tool.Report{State: status.Active}}, {Unit: unit("web/2"), Report: tool.Report{State: status.Blocked, Message: "disk"}}}},
		},
		goal: tool.Goal{
			Units: []tool.Standing{{Name: "web/10", Status: "allocating"}, {Name: "web/2", Status: "active", Since: at("2026-03-01T11:00:00+01:00")}},
			Relations: []tool.EndpointGoal{
				{Endpoint: "website"},
				{Endpoint: "db", Related: []tool.Standing{{Name: "archive.data", Status: "joined"}}},
				{Endpoint: "db", Related: []tool.Standing{{Name: "pg/0", Status: "active", Since: at(now)}, {Name: "pg", Status: "joined", Since: at(now)}}},
			},
		},
		network: map[string]tool.Network{
			"db": {
				Bind: []tool.Interface{{Name: "eth0", MAC: "00:11:22:33:44:55", Addresses: []tool.Address{
					{Hostname: "web-0", IP: "10.244.1.9", CIDR: "10.244.1.0/24"}, {IP: "fd00::9", CIDR: "fd00::/64"}}}},
				Ingress: []string{"10.96.3.4"}, Egress: []string{"10.244.1.9/32", "fd00::9/128"},
			},
			"website": {Bind: []tool.Interface{{Name: "eth0", Addresses: []tool.Address{{IP: "10.244.1.9"}}}}},
			"cluster": {Bind: []tool.Interface{{Name: "eth0"}}},
			"none":    {},
			"outside": {Bind: []tool.Interface{{Name: "eth0"}}, Ingress: []string{"10.96.3.5"}},
		},
		secrets: []secret{
			{Secret: tool.Secret{ID: tool.SecretID{ID: ownSecret}, Revision: 2, Label: "db-admin", Owner: tool.OwnedByApplication,
				Description: "the admin: of all", Rotation: tool.RotateMonthly, Expires: at("2027-01-01T06:00:00+01:00"), Rotates: at("2026-04-01T00:00:00Z"),
				Access: []tool.SecretAccess{{Target: "pg", Scope: "db:7"}, {Target: "pg/0", Scope: "db:7"}}},
				content: map[string][]byte{"username": []byte("admin"), "password": []byte("123"), "cert": []byte("-----BEGIN\nabc=\n"), "raw": {0, 0xff}}, granted: true},
			{Secret: tool.Secret{ID: tool.SecretID{ID: "zz000000000000000000"}, Revision: 1, Owner: tool.OwnedByUnit, Description: "two\n\nlines"}, granted: true,
				content: map[string][]byte{"token": []byte("t: 1")}},
			{Secret: tool.Secret{ID: tool.SecretID{Model: "6f2f1a0e-3a5d-4b0e-9a5e-0c9d5f9a7f10", ID: foreignSecret}, Revision: 1}},
		},
	}
}

func refused(kind conversation.Refusal, message, cure string) error {
	return &conversation.Error{Kind: kind, Message: message, Cure: cure}
}

// context is the world behind the ports.
func (w *world) context() tool.Context {
	return tool.Context{Relations: w, Membership: w.membership, Surroundings: w, Status: w, Secrets: vault{w}, Grants: w, Now: at(now)}
}

func (w *world) note(format string, args ...any) { w.did = append(w.did, fmt.Sprintf(format, args...)) }

func (w *world) relation(uid string) *conversation.Relation {
	at := slices.IndexFunc(w.snapshot.Relations, func(r conversation.Relation) bool { return r.UID == uid })
	return &w.snapshot.Relations[at]
}

func (w *world) Snapshot() (conversation.Snapshot, error) {
	if w.unknown {
		return conversation.Snapshot{}, refused(conversation.NotYet, "the agent has not heard from the controller yet", "try again")
	}
	return w.snapshot, nil
}

// transaction is that of the calls of one test.
func (w *world) transaction() *conversation.Transaction {
	if w.written == nil {
		w.written = conversation.Begin(w.snapshot)
	}
	return w.written
}

func (w *world) Read(at conversation.Address) (conversation.Bag, error) {
	return w.transaction().Read(at)
}

func (w *world) Set(uid string, app bool, values conversation.Bag) error {
	err := w.transaction().Set(uid, app, values)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		w.note("%s application %t: %q = %q", uid, app, key, values[key])
	}
	return nil
}

func (w *world) Leader() (bool, error)        { return w.snapshot.Leader, nil }
func (w *world) Goal() (tool.Goal, error)     { return w.goal, nil }
func (w *world) Model(string) (string, error) { return "6f2f1a0e-3a5d-4b0e-9a5e-0c9d5f9a7f10", nil }

func (w *world) Network(endpoint, relation string) (tool.Network, error) {
	network, known := w.network[endpoint]
	if !known {
		return network, refused(conversation.Invalid, fmt.Sprintf("no network config found for binding %q", endpoint), "the endpoints are cluster, db and website")
	}
	if relation != "" {
		network.Egress = append(slices.Clone(network.Egress), "seen/"+relation)
	}
	return network, nil
}

func (w *world) Status(application bool) (tool.Report, error) {
	if application && !w.snapshot.Leader {
		return tool.Report{}, refused(conversation.Forbidden, "only the leader of web reads the application's status", "see the manual")
	}
	return w.reports[application], nil
}

func (w *world) SetStatus(application bool, info status.Info) error {
	if application && !w.snapshot.Leader {
		return refused(conversation.Forbidden, "only the leader of web sets the application's status", "see the manual")
	}
	w.note("status of application %t: %s %q", application, info.State, info.Message)
	return nil
}

func (w *world) SetSide(relation string, info status.Info) error {
	if !w.snapshot.Leader {
		return refused(conversation.Forbidden, "only the leader of web says how it is in a relation", "see the manual")
	}
	w.note("status in %s: %s %q, code %q, resolution %q", relation, info.State, info.Message, info.Code, info.Resolution)
	return nil
}

func (w *world) Grant(id tool.SecretID, to tool.Grantee) error {
	w.note("grant %s to %s", id, show(to))
	return nil
}

func (w *world) Revoke(id tool.SecretID, from tool.Grantee) error {
	w.note("revoke %s from %s", id, show(from))
	return nil
}

func show(g tool.Grantee) string {
	text := fmt.Sprintf("relation %q application %q", g.Relation, g.Application)
	if g.Unit != nil {
		text += " unit " + g.Unit.String()
	}
	return text
}

// vault is the world's port for secrets.
type vault struct{ *world }

func (v vault) find(id tool.SecretID) (*secret, error) {
	for i := range v.secrets {
		if v.secrets[i].ID.ID == id.ID {
			return &v.secrets[i], nil
		}
	}
	return nil, refused(conversation.Gone, fmt.Sprintf("secret %q not found", id), "see the manual")
}

func (v vault) Add(owner tool.Owner, s tool.SecretChange) (tool.SecretID, error) {
	v.note("add %s of %s", change(s), owner)
	v.secrets = append(v.secrets, secret{Secret: tool.Secret{ID: tool.SecretID{ID: "new00000000000000000"}}, content: s.Content, granted: true})
	return tool.SecretID{ID: "new00000000000000000"}, nil
}

func (v vault) Change(id tool.SecretID, s tool.SecretChange) error {
	if _, err := v.find(id); err != nil {
		return err
	}
	v.note("set %s %s", id, change(s))
	return nil
}

func change(s tool.SecretChange) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(s.Content)) {
		parts = append(parts, fmt.Sprintf("%s=%q", key, s.Content[key]))
	}
	if s.Content == nil {
		parts = append(parts, "nothing")
	}
	text := fmt.Sprintf("[%s] label %q description %q rotation %q", strings.Join(parts, " "), s.Label, s.Description, s.Rotation)
	if !s.Expire.IsZero() {
		text += " expire " + s.Expire.Format(time.RFC3339)
	}
	return text
}

func (v vault) Remove(id tool.SecretID, revision int) error {
	v.note("remove %s revision %d", id, revision)
	return nil
}

func (v vault) Get(q tool.SecretQuery) (map[string][]byte, error) {
	for _, s := range v.secrets {
		if q.ID != nil && s.ID.ID != q.ID.ID || q.ID == nil && s.Label != q.Label {
			continue
		}
		if !s.granted {
			return nil, refused(conversation.Forbidden, "the secret is not granted to web", "let its owner run secret-grant")
		}
		v.note("get %s label %q peek %t refresh %t", s.ID, q.Label, q.Peek, q.Refresh)
		return s.content, nil
	}
	return nil, refused(conversation.Gone, "secret not found", "see the manual")
}

func (v vault) List() ([]tool.Secret, error) {
	var own []tool.Secret
	for _, s := range v.secrets {
		if s.granted {
			own = append(own, s.Secret)
		}
	}
	slices.Reverse(own)
	return own, nil
}
