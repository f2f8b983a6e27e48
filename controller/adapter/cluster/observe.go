package cluster

import (
	"context"
	"errors"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// question is one object of a look.
type question struct {
	id bundle.ID
	// want is nil where only is asked how it is.
	want, before bundle.Object
	// aside marks a question about an object of another owner.
	aside bool
}

// Observe reads the state of objects from the API server, and finds by dry runs what applying would change. A refusal
// of an object is a part of the answer, not an error. In a preflight the error is a bundle.LackingError if the
// account lacks a permission that a plan needs; the state of objects is not read then.
func (w *World) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen := bundle.Seen{Live: map[bundle.ID]bundle.Live{}, Refused: map[bundle.ID]error{}}
	var mu sync.Mutex
	needed := newNeeds(w, look)
	err := each(ctx, questions(look), func(ctx context.Context, q question) error {
		l, refused, err := w.answer(ctx, q, look, needed)
		mu.Lock()
		defer mu.Unlock()
		seen.Live[q.id] = l
		if refused != nil {
			seen.Refused[q.id] = refused
		}
		return err
	})
	forgive(look, seen.Refused)
	if look.Preflight && err == nil {
		err = needed.permit(ctx, seen.Refused)
	}
	for id, why := range seen.Refused {
		seen.Refused[id] = errors.New(words(id, why, w.Secretive))
	}
	return seen, err
}

// questions returns the questions of a look, object by object.
func questions(look bundle.Look) []question {
	var all []question
	for _, want := range look.Compare {
		all = append(all, question{id: want.ID(), want: want, before: look.Before[want.ID()]})
	}
	for _, id := range look.Read {
		all = append(all, question{id: id})
	}
	if look.Preflight {
		for _, id := range look.Aside {
			all = append(all, question{id: id, aside: true})
		}
	}
	return all
}

// forgive takes back what is refused only because a namespace of the bundle, or the role
// that a binding of it binds, is not there yet.
func forgive(look bundle.Look, refused map[bundle.ID]error) {
	ours := map[bundle.ID]bool{}
	for _, o := range look.Compare {
		ours[o.ID()] = true
	}
	for _, o := range look.Compare {
		id := o.ID()
		if !apierrors.IsNotFound(refused[id]) {
			continue
		}
		binds := bundle.ID{Group: id.Group, Kind: o.Text("roleRef", "kind"), Name: o.Text("roleRef", "name")}
		if binds.Kind == "Role" {
			binds.Namespace = id.Namespace
		}
		if ours[bundle.ID{Kind: "Namespace", Name: id.Namespace}] || ours[binds] {
			delete(refused, id)
		}
	}
}

func (w *World) answer(ctx context.Context, q question, look bundle.Look, needed *needs) (l bundle.Live, refused, err error) {
	api := q.want.Text("apiVersion")
	o, noAPI, err := w.live(ctx, q.id, api[strings.IndexByte(api, '/')+1:])
	if w.ReadOnly && apierrors.IsForbidden(err) {
		w.withheld.unread(q.id)
		return bundle.Live{Object: q.want, Health: bundle.Ready}, nil, nil
	}
	if look.Preflight {
		return w.foresee(ctx, q, look, needed, o, noAPI, err)
	}
	if o == nil || err != nil {
		return bundle.Live{NoAPI: noAPI}, nil, err
	}
	l.Object = bundle.Object(o.Object)
	if q.want != nil && !isJob(q.id) && !look.Kept[q.id] {
		refused = w.compare(ctx, q, needed, o, &l)
	}
	if err := w.judge(ctx, q.id, o, &l); err != nil {
		return l, refused, err
	}
	if look.Uses && q.want == nil {
		l.Used, err = w.used(ctx, o)
	}
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	return l, refused, err
}

func isJob(id bundle.ID) bool { return id.Kind == "Job" && id.Group == "batch" }
