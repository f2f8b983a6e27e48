package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// pathTool is where the tools ask the agent.
const pathTool = "/tool"

// maxCall is the longest call that is read, in bytes: two bags as large as a bag
// may be, as JSON.
const maxCall = 2 << 20

// ToolHandler answers the tools of one container.
func (a *Agent) ToolHandler(container string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+pathGate, a.serveGate)
	mux.HandleFunc("GET "+pathTrouble, respond(a.Hold().Trouble))
	mux.HandleFunc("POST "+pathTool, func(w http.ResponseWriter, r *http.Request) {
		var call tool.Call
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCall)).Decode(&call); err != nil {
			http.Error(w, "cannot read the call: "+err.Error(), http.StatusBadRequest)
			return
		}
		result := a.runTool(r.Context(), call)
		glog.V(2).Infof("%s: %s: exit code %d", container, call.Name, result.ExitCode)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // whoever asked has gone
	})
	return mux
}

// runTool carries out a call: of a handler in the transaction of its event, else
// as one transaction of its own (RELATIONS.md E11).
func (a *Agent) runTool(ctx context.Context, call tool.Call) tool.Result {
	t := &toolContext{ctx: ctx, speech: a.speech, secrets: &secrets{}, answers: &answers{}}
	if of := call.Env[tool.ContextID]; of != "" && a.handlers != nil {
		turn, err := a.handlers.at(of)
		if err != nil {
			return tool.Failed(tooLate(err))
		}
		turn.tools.Lock() // what a handler starts at the same time comes one after the other
		defer turn.tools.Unlock()
		if _, err := a.handlers.at(of); err != nil {
			return tool.Failed(tooLate(err))
		}
		t.snapshot, t.transaction, t.membership, t.inTurn = turn.Snapshot, turn.Transaction, turn.Membership, true
		t.secrets, t.answers = &turn.secrets, &turn.answers
		t.wait = a.handlers.wait
		turn.answers.begin(call)
		if err := ctx.Err(); err != nil { // the tool was ended while another one ran
			return tool.Failed(t.answers.note(errors.New("it ended while it waited for another tool of the handler")))
		}
		return t.run(call)
	}
	if writesApplication(call) {
		if _, err := (lead{a.speech}).is(ctx); err != nil {
			return tool.Failed(err)
		}
	}
	result := t.run(call)
	if result.ExitCode != 0 || t.transaction == nil {
		return result
	}
	if err := a.speech.Commit(ctx, call.Name, t.transaction, t.secrets.writes); err != nil {
		return tool.Failed(err)
	}
	return result
}

// tooLate tells a tool that the turn of its handler is over.
func tooLate(err error) *conversation.Error {
	return &conversation.Error{Kind: conversation.Gone, Message: "cannot act for this event: " + err.Error(),
		Cure: "exit; an event that is not handled is sent again"}
}

func (t *toolContext) run(call tool.Call) tool.Result {
	return tool.Run(call, tool.Context{Relations: t, Membership: t.membership, Surroundings: t, Status: t, Secrets: t,
		Grants: t, Now: time.Now()})
}

// writesApplication reports whether a call is to write an application's bag, for which it matters who leads.
func writesApplication(call tool.Call) bool {
	return call.Name == "relation-set" &&
		slices.ContainsFunc(call.Args, func(arg string) bool { return arg == "--app" || strings.HasPrefix(arg, "--app=") })
}

// toolContext holds the inputs of one call.
type toolContext struct {
	ctx         context.Context //nolint:containedctx // lives for one call
	speech      *Speech
	snapshot    conversation.Snapshot
	transaction *conversation.Transaction
	membership  conversation.Membership
	secrets     *secrets
	answers     *answers
	// inTurn says that it is a handler's, which succeeds or fails later.
	inTurn bool
	// wait notes why a handler waits; nil for a tool outside of handlers.
	wait func(what string)
}

// begin starts the call's transaction when it is first needed.
func (t *toolContext) begin() error {
	if t.transaction != nil {
		return nil
	}
	snapshot, err := t.speech.Snapshot()
	if err != nil {
		return err
	}
	t.snapshot, t.transaction = snapshot, conversation.Begin(snapshot)
	return nil
}

// Snapshot returns what the unit knows.
func (t *toolContext) Snapshot() (conversation.Snapshot, error) {
	err := t.begin()
	return t.snapshot, err
}

// Read returns a bag with what this call has written.
func (t *toolContext) Read(at conversation.Address) (conversation.Bag, error) {
	if err := t.begin(); err != nil {
		return nil, err
	}
	if at.Owner != t.snapshot.Unit.Application {
		return t.transaction.Read(at)
	}
	var bag conversation.Bag
	err := asLeader(t.transaction, t.Leader, func() (err error) {
		bag, err = t.transaction.Read(at)
		return err
	})
	return bag, err
}

// Set sets keys, to be stored when the call has succeeded.
func (t *toolContext) Set(relation string, app bool, values conversation.Bag) error {
	if err := t.begin(); err != nil {
		return err
	}
	return asLeader(t.transaction, t.Leader, func() error { return t.transaction.Set(relation, app, values) })
}

// Leader tells whether the unit leads. The call's transaction is one of that term then.
func (t *toolContext) Leader() (bool, error) {
	leads, err := lead{t.speech}.is(t.ctx)
	t.answers.follows = t.answers.follows || err == nil && !leads
	if now, known := t.speech.Snapshot(); leads && known == nil && t.transaction != nil {
		t.transaction.LedIn(now)
	}
	return leads, t.answers.note(err)
}

// Goal returns who is there; of who will be nothing is known here.
func (t *toolContext) Goal() (tool.Goal, error) {
	if err := t.begin(); err != nil {
		return tool.Goal{}, err
	}
	return tool.GoalOf(t.snapshot), nil
}

// Network returns the unit's address: a pod has one, for every endpoint.
func (t *toolContext) Network(string, string) (tool.Network, error) {
	if err := t.begin(); err != nil {
		return tool.Network{}, err
	}
	address, subnet := ownAddress(&t.snapshot)
	if address == "" {
		return tool.Network{}, &conversation.Error{Kind: conversation.NotYet,
			Message: "cannot find the unit's address: the unit is in no relation yet", Cure: "try again when it is in one"}
	}
	return tool.Network{
		Bind:    []tool.Interface{{Name: "eth0", Addresses: []tool.Address{{IP: address, CIDR: subnet}}}},
		Ingress: []string{address}, Egress: []string{subnet},
	}, nil
}

// ownAddress returns the address of the unit's pod and its subnet, from a databag in which the unit has written over neither,
// if there is one: an ingress-address of its own, as of a load balancer, is for the other end of that relation.
func ownAddress(s *conversation.Snapshot) (address, subnet string) {
	for i := range s.Relations {
		bag := s.Bag(s.Relations[i].OwnBag)
		if own, of := bag["private-address"], bag["egress-subnets"]; own != "" && strings.HasPrefix(of, own+"/") {
			return own, of
		}
		if address == "" {
			address, subnet = bag["ingress-address"], bag["egress-subnets"]
		}
	}
	return address, subnet
}

// later returns the error of tools whose store this version does not have.
func later(what string) error {
	return &conversation.Error{Kind: conversation.Invalid, Message: fmt.Sprintf(
		"cannot use %s: this version of Orcon does not implement it", what), Cure: "relation-model-get is the only tool that does not work"}
}

// Model is not known to a pod.
func (t *toolContext) Model(string) (string, error) { return "", later("relation-model-get") }

// Call has the agent at socket carry out a call of a tool.
func Call(ctx context.Context, socket string, call tool.Call) tool.Result {
	body, err := encode(call)
	if err != nil {
		return tool.Failed(err)
	}
	var answered strings.Builder
	if err := post(ctx, socket, pathTool, body, &answered); err != nil {
		return tool.Failed(fmt.Errorf("cannot reach the agent at %s: %w", socket, err))
	}
	var result tool.Result
	if err := json.Unmarshal([]byte(answered.String()), &result); err != nil {
		return tool.Failed(fmt.Errorf("cannot read the agent's answer: %w", err))
	}
	return result
}

// encode writes a call as JSON, which holds any bytes in files, and in arguments text alone: others are refused, since JSON
// would replace them.
func encode(call tool.Call) ([]byte, error) {
	if i := slices.IndexFunc(call.Args, func(arg string) bool { return !utf8.ValidString(arg) }); i >= 0 {
		return nil, &conversation.Error{Kind: conversation.Invalid,
			Message: fmt.Sprintf("cannot send argument %d: it is not UTF-8", i+1), Cure: "encode it, for example as base64"}
	}
	body, err := json.Marshal(call)
	switch {
	case err != nil:
		return nil, fmt.Errorf("cannot write the call: %w", err)
	case len(body) > maxCall:
		return nil, &conversation.Error{Kind: conversation.Invalid,
			Message: fmt.Sprintf("cannot send the call: it has %d bytes, and at most %d are allowed", len(body), maxCall), Cure: "shorten it"}
	}
	return body, nil
}
