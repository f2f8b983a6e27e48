package people

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// state shows the states of a JobWorkspace, or sends the archive of one.
func (a *API) state(w http.ResponseWriter, r *http.Request, c call) error {
	uid, err := a.Objects.Workspace(r.Context(), c.namespace, c.name)
	if err != nil {
		return err
	}
	if from := r.URL.Query().Get(people.LeftBy); from != "" {
		return a.left(w, r, c, uid, from)
	}
	if chosen := r.URL.Query().Get(people.Archive); chosen != "" {
		return a.pull(w, r, c, uid, chosen)
	}
	shown, err := a.show(r.Context(), c, uid)
	if err != nil {
		return err
	}
	return write(w, http.StatusOK, shown)
}

// show returns the states of a JobWorkspace.
func (a *API) show(ctx context.Context, c call, uid string) (people.State, error) {
	stored, err := a.Workspaces.Get(ctx, uid)
	if err != nil {
		return people.State{}, err
	}
	of := stored.Workspace
	extent, err := evidence.Extent(ctx, a.Store, uid, of)
	if err != nil {
		return people.State{}, err
	}
	newest, _, err := evidence.Newest(ctx, a.Store, uid)
	if err != nil {
		return people.State{}, err
	}
	all, err := a.Store.List(ctx, uid)
	if err != nil {
		return people.State{}, err
	}
	var object v1alpha1.JobWorkspace
	convert.SetWorkspace(&object, of)
	s := people.State{
		TypeMeta: typeOf("JobWorkspaceState"), Namespace: c.namespace, Name: c.name, Phase: string(of.Phase(extent)),
		Store: people.Reach{Fence: extent.Fence, Generation: extent.Generation}, Archives: []people.Size{}, State: *object.State,
	}
	if of.Lock.Recovery.Reason != "" {
		s.Proposal = string(workspace.Propose(of))
	}
	if newest.Key != "" {
		s.Store.Newest = &v1alpha1.JobArchive{Digest: newest.Digest, Key: newest.Key, Fence: newest.Fence}
	}
	for _, one := range workspace.Conditions(of, extent) {
		if one.True { // exactly one is, and it has the whole message
			s.Message = one.Message
		}
	}
	for _, one := range all {
		if key := one.Key.String(); of.Names(key) || key == newest.Key {
			s.Archives = append(s.Archives, people.Size{Key: key, Bytes: one.Size})
		}
	}
	return s, nil
}

// pull sends an archive that the JobWorkspace names, or the newest one that the store has a record of.
func (a *API) pull(w http.ResponseWriter, r *http.Request, c call, uid, chosen string) error {
	stored, err := a.Workspaces.Get(r.Context(), uid)
	if err != nil {
		return err
	}
	if chosen == people.Current {
		chosen = stored.Workspace.State.Key
	}
	if chosen == "" {
		return fmt.Errorf("cannot read the state of %s: %w: generation %d is empty", c, ErrNotFound, stored.Workspace.State.Number)
	}
	newest, _, err := evidence.Newest(r.Context(), a.Store, uid)
	if err != nil {
		return err
	}
	if !stored.Workspace.Names(chosen) && chosen != newest.Key {
		return fmt.Errorf("cannot read state %q of %s: %w: `orcon job state show %[2]s` lists those that there are", chosen, c, ErrNotFound)
	}
	key, err := blob.ParseKey(chosen)
	if err != nil {
		return err
	}
	in, err := a.Store.Get(r.Context(), key)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it is only read
	a.record(r, c, uid, StateRead, "read the state "+key.String(), "")
	w.Header().Set("Content-Type", people.ArchiveType)
	if _, err := io.Copy(w, in); err != nil {
		glog.Warningf("cannot send state %s: %v", key, err)
		panic(http.ErrAbortHandler) // so that the receiver never takes a part for the whole
	}
	return nil
}
