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
}

// Observe reads from the API server how objects are, and asks it by dry runs what
// applying would change. That it would refuse an object is no error but a part of the
// answer.
func (w *World) Observe(ctx context.Context, look bundle.Look) (bundle.Seen, error) {
	seen := bundle.Seen{Live: map[bundle.ID]bundle.Live{}, Refused: map[bundle.ID]error{}}
	var questions []question
	for _, want := range look.Compare {
		questions = append(questions, question{id: want.ID(), want: want, before: look.Before[want.ID()]})
	}
	for _, id := range look.Read {
		questions = append(questions, question{id: id})
	}
	var mu sync.Mutex
	err := each(ctx, questions, func(ctx context.Context, q question) error {
		l, refused, err := w.answer(ctx, q, look)
		mu.Lock()
		defer mu.Unlock()
		seen.Live[q.id] = l
		if refused != nil {
			seen.Refused[q.id] = refused
		}
		return err
	})
	forgive(look, seen.Refused)
	for id, why := range seen.Refused {
		seen.Refused[id] = errors.New(words(id, why))
	}
	return seen, err
}

// forgive takes back what is refused only because a namespace of the bundle is not there yet.
func forgive(look bundle.Look, refused map[bundle.ID]error) {
	for _, o := range look.Compare {
		if o.ID() != (bundle.ID{Kind: "Namespace", Name: o.ID().Name}) {
			continue
		}
		for id, err := range refused {
			if id.Namespace == o.ID().Name && apierrors.IsNotFound(err) {
				delete(refused, id)
			}
		}
	}
}

func (w *World) answer(ctx context.Context, q question, look bundle.Look) (l bundle.Live, refused, err error) {
	_, version, found := strings.Cut(q.want.Text("apiVersion"), "/")
	if !found {
		version = q.want.Text("apiVersion")
	}
	o, noAPI, err := w.live(ctx, q.id, version)
	switch {
	case err != nil || noAPI:
		return bundle.Live{NoAPI: noAPI}, nil, err
	case o == nil && q.want != nil && look.Preflight && q.id.Kind != "Pod":
		return bundle.Live{}, w.tryCreate(ctx, q.want), ctx.Err()
	case o == nil:
		return bundle.Live{}, nil, nil
	}
	l.Object = bundle.Object(o.Object)
	if q.want != nil && !isJob(q.id) {
		refused = w.compare(ctx, q, o, &l)
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
