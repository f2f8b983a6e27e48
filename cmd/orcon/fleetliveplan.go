package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	engine "gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/rendering"
)

// livePlan describes what the cluster has to say about a member.
type livePlan struct {
	// Digest is that of the plan; "" if Refused or Lacking prevents one.
	Digest string `json:"digest,omitempty"`
	// Refused are the refusals of the API server, Conflicts the objects and fields of other managers.
	Refused   []string `json:"refused,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"`
	// Missing are ConfigMaps, Secrets, ServiceAccounts and keys that pods name.
	Missing []string `json:"missing,omitempty"`
	// Held are changes that wait for a person.
	Held []string `json:"held,omitempty"`
	// Lacking are permissions of the set's account.
	Lacking []string `json:"lacking,omitempty"`
	// Unverified lists the questions that the cluster did not answer.
	Unverified []string `json:"unverified,omitempty"`

	sequence bundle.Sequence
	lacks    []bundle.Lack
	needs    []bundle.Permission
	// unread reports that the user may not read all that the plan is about.
	unread bool
}

// noRecord is the store of an account that may not read it.
type noRecord struct{ engine.Store }

// Load implements engine.Store.
func (noRecord) Load(context.Context) (bundle.Record, error) { return bundle.Record{}, nil }

// plan plans a member by the engine that installs it. A member that is removed has no objects.
func (l *fleetLive) plan(ctx context.Context, p fleetPair, objects []bundle.Object) (*livePlan, []plannedObject, error) {
	m, plan := p.member(), &livePlan{}
	if p.is == nil && l.deployment(m) == nil {
		return plan, nil, nil
	}
	user, err := l.world(l.user, l.name(m))
	if err != nil {
		return plan, nil, err
	}
	user.ReadOnly = true
	wish := engine.Wish{Conflicts: bundle.ConflictPolicy(l.set.Spec.Conflicts), Uninstall: p.is == nil}
	if wish.Sequence, err = arrange(objects, m.Namespace.Name, user); err != nil {
		return plan, nil, fmt.Errorf("cannot plan %s: %w", m, err)
	}
	plan.sequence = wish.Sequence
	made, err := l.draft(ctx, m, wish, user, plan)
	if ctx.Err() != nil {
		return plan, nil, context.Cause(ctx)
	}
	if err != nil {
		plan.Refused = failures(err)
		made = bundle.Plan{Sequence: wish.Sequence}
	}
	if err := plan.describe(ctx, made, user); err != nil {
		return plan, nil, fmt.Errorf("cannot plan %s: %w", m, err)
	}
	return plan, liveObjects(made), nil
}

// arrange returns objects in the order in which they are installed in a namespace.
func arrange(objects []bundle.Object, namespace string, world *cluster.World) (bundle.Sequence, error) {
	placed, err := bundle.Place(objects, namespace, world.Namespaced)
	if err != nil {
		return nil, err
	}
	return bundle.Order(placed)
}

// draft returns the plan of the set's account, or the user's if the account lacks permissions or the user may not act as
// it.
func (l *fleetLive) draft(ctx context.Context, m *fleetMember, wish engine.Wish, user *cluster.World, plan *livePlan) (bundle.Plan, error) {
	if l.denied == "" {
		account, err := l.world(l.account, l.name(m))
		if err != nil {
			return bundle.Plan{}, err
		}
		made, err := l.engine(ctx, m, account).Plan(ctx, wish)
		lacking, lacks := errors.AsType[*bundle.LackingError](err)
		if !lacks {
			return made, err
		}
		plan.needs = slices.Concat(plan.needs, lacking.Lacks)
	}
	return l.draftOfUser(ctx, m, wish, user, plan)
}

// draftOfUser returns the plan of the user, and notes what the user may not see.
func (l *fleetLive) draftOfUser(
	ctx context.Context, m *fleetMember, wish engine.Wish, user *cluster.World, plan *livePlan,
) (bundle.Plan, error) {
	e := l.engine(ctx, m, user)
	if _, plan.unread = e.Store.(noRecord); plan.unread {
		plan.Unverified = append(plan.Unverified, "what the member has installed: you may not read its Secrets in namespace "+l.set.Namespace)
	}
	made, err := e.Plan(ctx, wish)
	withheld := user.Withheld()
	plan.unread = plan.unread || len(withheld.Unread) > 0
	for _, id := range withheld.Unread {
		plan.Unverified = append(plan.Unverified, fmt.Sprintf("%s: you may not read it", id))
	}
	for _, id := range withheld.Estimated {
		plan.Unverified = append(plan.Unverified, fmt.Sprintf("%s: you may not change it, so that it was compared without a dry run", id))
	}
	return made, err
}

// engine returns the engine of a member as the controller has it.
func (l *fleetLive) engine(ctx context.Context, m *fleetMember, world *cluster.World) *engine.Engine {
	e := &engine.Engine{
		Cluster: world, Store: cluster.NewStore(world), Owner: l.set.Namespace + "/" + l.name(m), Identity: l.identity,
		KindChange: bundle.DeleteFirst, Now: time.Now,
	}
	if d := l.deployment(m); d != nil {
		e.UID = string(d.UID)
	}
	if apierrors.IsForbidden(e.Load(ctx)) {
		e.Store = noRecord{e.Store}
	}
	return e
}

// describe puts a plan into words, with what its pods name and the user does not find.
func (p *livePlan) describe(ctx context.Context, made bundle.Plan, user *cluster.World) error {
	lacks, unread, err := user.Lacks(ctx, made)
	p.Digest, p.lacks = made.Digest, lacks
	for _, c := range made.Conflicts {
		p.Conflicts = append(p.Conflicts, c.Words("spec.conflicts of the IntegrationSet: "))
	}
	for _, h := range made.Holds {
		p.Held = append(p.Held, h.Words())
	}
	for _, n := range p.needs {
		p.Lacking = append(p.Lacking, n.String())
	}
	for _, u := range made.Unverified {
		p.Unverified = append(p.Unverified, fmt.Sprintf("%s, before phase %s: %s", u.ID, u.After, u.Why))
	}
	for _, id := range unread {
		p.Unverified = append(p.Unverified, fmt.Sprintf("whether %s is there: you may not read it", id))
	}
	return err
}

// failures returns the reasons of an error that joins several.
func failures(err error) []string {
	joined, several := errors.AsType[interface {
		error
		Unwrap() []error
	}](err)
	if !several {
		return []string{err.Error()}
	}
	var all []string
	for _, one := range joined.Unwrap() {
		all = append(all, strings.TrimPrefix(one.Error(), "cannot plan "))
	}
	return all
}

// futures describe what an action does.
//
//nolint:gochecknoglobals // a table
var futures = map[bundle.Verb]string{
	bundle.Create: "will be created", bundle.Update: "will be changed", bundle.Adopt: "will be adopted", bundle.Take: "will be taken over",
	bundle.Recreate: "will be deleted and made again", bundle.Delete: "will be deleted", bundle.Keep: "will be left where it is",
	bundle.GiveBack: "will be given back", bundle.Run: "will run",
}

// liveObjects returns the changes of a plan.
func liveObjects(p bundle.Plan) []plannedObject {
	planned := []plannedObject{}
	for _, a := range p.Preview().Actions {
		if what, changes := futures[a.Verb]; changes {
			planned = append(planned, plannedObject{shownDifference{a.PreviewObject, what, a.Changes}, strings.Join(a.Remarks(), "; ")})
		}
	}
	return planned
}

// stops reports whether the cluster would stop the member.
func (p *livePlan) stops() bool {
	return p != nil && len(p.Refused)+len(p.Conflicts)+len(p.Missing)+len(p.needs) > 0
}

// partial reports whether the user may not read all that the plan is about.
func (p *livePlan) partial() bool { return p != nil && p.unread }

// miss notes what is missing, as neither the namespace nor the members that were planned with this one have it.
func (p *livePlan) miss(all []compared) {
	if p == nil {
		return
	}
	var beside []bundle.Sequence
	for _, one := range all {
		if other := one.planned.Cluster; other != nil && other != p {
			beside = append(beside, other.sequence)
		}
	}
	for _, l := range rendering.Missing(p.lacks, beside) {
		p.Missing = append(p.Missing, l.String())
	}
}

// findings returns what people read of a plan, as label and text in turn. Permissions are listed for the whole set.
func (p *livePlan) findings() [][2]string {
	if p == nil {
		return nil
	}
	var all [][2]string
	for _, list := range []struct {
		label string
		texts []string
	}{{"refused", p.Refused}, {"conflict", p.Conflicts}, {"missing", p.Missing}, {"held", p.Held}, {"unverified", p.Unverified}} {
		for _, text := range list.texts {
			all = append(all, [2]string{list.label, text})
		}
	}
	return all
}

// liveRights describes the permissions of a set's account.
type liveRights struct {
	// asked reports that a cluster was asked.
	asked        bool
	set, account string
	// denied explains why they are unverified; "" if they are not.
	denied string
	// lacking lists those that the account lacks for all members; nil if it has all.
	lacking *bundle.LackingError
}

// rights returns the permissions that members need.
func (l *fleetLive) rights(planned []plannedMember) liveRights {
	if l == nil {
		return liveRights{}
	}
	r := liveRights{asked: true, set: l.set.Name, account: l.accountName(), denied: l.denied}
	lacks := slices.Clone(l.records)
	for _, m := range planned {
		if m.Cluster != nil {
			lacks = append(lacks, m.Cluster.needs...)
		}
	}
	if len(lacks) > 0 {
		r.lacking = &bundle.LackingError{Account: r.account, Lacks: lacks}
	}
	return r
}
