package people

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/evidence"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/retention"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// left lists what JobWorkspaces left that are gone, as far as the person may read it.
func (a *API) left(w http.ResponseWriter, r *http.Request, c call, uid, from string) error {
	all, err := a.leftBy(r.Context(), c, from)
	if err != nil {
		return err
	}
	answer := people.Left{TypeMeta: typeOf("JobWorkspaceLeft"), Items: []people.LeftState{}}
	for _, l := range all {
		if l.UID == uid || a.mayRead(r.Context(), c, l) != nil {
			continue
		}
		one := people.LeftState{
			LeftName: people.LeftName{Name: l.Name, UID: l.UID}, Since: metav1.NewTime(l.Since),
			Until: metav1.NewTime(l.Since.Add(retention.LeftAge)), Generation: l.Generation,
		}
		if l.Archive.Key != "" {
			one.Archive = &v1alpha1.JobArchive{Digest: l.Archive.Digest, Key: l.Archive.Key, Fence: l.Archive.Fence}
		}
		if l.Destroyed {
			one.End = people.EndDestroyed
		}
		answer.Items = append(answer.Items, one)
	}
	return write(w, http.StatusOK, answer)
}

// leftBy returns the deleted JobWorkspaces of a request: of the same name, of another one, or of a UID.
func (a *API) leftBy(ctx context.Context, c call, from string) ([]evidence.Left, error) {
	switch {
	case from == people.SameName:
		return evidence.LeftBy(ctx, a.Store, c.String())
	case strings.Contains(from, "/"):
		return evidence.LeftBy(ctx, a.Store, from)
	}
	stock, err := evidence.Inventory(ctx, a.Store)
	return slices.DeleteFunc(stock.Left, func(l evidence.Left) bool { return l.UID != from }), err
}

// mayRead returns an error unless a person may read the states of the JobWorkspace that is gone; one whose name is not
// known needs the permission in every namespace.
func (a *API) mayRead(ctx context.Context, c call, l evidence.Left) error {
	namespace, name, _ := strings.Cut(l.Name, "/")
	return a.Rights.Permit(ctx, c.person, Access{
		Verb: "get", Resource: people.Workspaces, Subresource: people.Archives, Namespace: namespace, Name: name,
	})
}

// adopt makes the newest state that another JobWorkspace left the next generation of this one. It is copied: the one that
// was left stays until its time has passed.
func (a *API) adopt(w http.ResponseWriter, r *http.Request, c call, uid string, d people.Decision) error {
	l, err := a.chosenLeft(r.Context(), c, d.Left)
	if err != nil {
		return fmt.Errorf("cannot adopt a state for %s: %w", c, err)
	}
	got, err := a.fetch(r.Context(), l)
	if err != nil {
		return fmt.Errorf("cannot adopt the state that %s left: %w", l.UID, err)
	}
	defer got.remove()
	from := fmt.Sprintf("generation %d of %s", l.Generation, cmp.Or(l.Name, "UID "+l.UID))
	if err := a.pushed(r.Context(), uid, pushing{received: got, by: c.person.Name, seen: d.Generation, adopts: from}); err != nil {
		return err
	}
	a.record(r, c, uid, StateAdopted, fmt.Sprintf("adopted generation %d of JobWorkspace %s (UID %s)", l.Generation, l.Name, l.UID), d.Because)
	shown, err := a.show(r.Context(), c, uid)
	if err != nil {
		return fmt.Errorf("the state of %s is stored, but cannot be shown: %w", c, err)
	}
	return write(w, http.StatusOK, shown)
}

// chosenLeft returns what a decision names, if it has a state that the person may read.
func (a *API) chosenLeft(ctx context.Context, c call, named people.LeftName) (evidence.Left, error) {
	all, err := evidence.LeftBy(ctx, a.Store, named.Name)
	if err != nil {
		return evidence.Left{}, err
	}
	at := slices.IndexFunc(all, func(l evidence.Left) bool { return l.UID == named.UID })
	if at < 0 || all[at].Archive.Key == "" {
		return evidence.Left{}, fmt.Errorf("%w: no JobWorkspace %q with UID %q, which is gone, left a state: `orcon job state adopt %s` shows those that there are",
			ErrNotFound, named.Name, named.UID, c)
	}
	return all[at], a.mayRead(ctx, c, all[at])
}

// fetch reads the state that was left, and verifies it.
func (a *API) fetch(ctx context.Context, l evidence.Left) (received, error) {
	key, err := blob.ParseKey(l.Archive.Key)
	if err != nil {
		return received{}, err
	}
	in, err := a.Store.Get(ctx, key)
	if err != nil {
		return received{}, err
	}
	defer in.Close() //nolint:errcheck // it is only read
	got, err := a.receive(in)
	if err == nil && got.Digest != l.Archive.Digest {
		got.remove()
		err = fmt.Errorf("%w: blob %s has digest %s in place of %s", workspace.ErrInvalid, key, got.Digest, l.Archive.Digest)
	}
	return got, err
}
