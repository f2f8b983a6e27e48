package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// picture is all that Orcon wrote in a namespace, without what is different in
// each: UIDs, revisions, times, and numbers, of which gaps are fine.
func (w *controllerWorld) picture() string {
	var (
		relations   v1alpha1.RelationList
		apps        v1alpha1.RelatedApplicationList
		bags        v1alpha1.DatabagList
		deployments appsv1.DeploymentList
		lines       []string
	)
	for _, list := range []client.ObjectList{&relations, &apps, &bags, &deployments} {
		require.NoError(w.t, w.admin.List(w.ctx, list, client.InNamespace(w.namespace)))
	}
	note := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, r := range relations.Items {
		note("relation %s to %s id:%t held:%t end:%s finalizers:%v deleted:%t", r.Status.Requirer, r.Status.Provider, r.State.ID > 0, r.Status.HoldTime != nil, r.Status.EndReason, r.Finalizers, r.DeletionTimestamp != nil)
		for _, c := range r.Status.Conditions {
			note("relation %s to %s %s=%s %s %s", r.Status.Requirer, r.Status.Provider, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, a := range apps.Items {
		live, restarts, versions := 0, 0, 0
		for _, u := range a.State.Units {
			if u.DepartureReason == "" {
				live++
			}
		}
		if a.State.Restarts != nil {
			restarts, versions = len(a.State.Restarts.Times), len(a.State.Restarts.Versions)
		}
		note("application %s sources:%v endpoints:%v waiting:%v live:%d restarts:%d versions:%d", a.Name, a.Status.Sources, a.Status.Endpoints, a.Status.Waits, live, restarts, versions)
		for _, c := range a.Status.Conditions {
			note("application %s %s=%s %s %s", a.Name, c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, b := range bags.Items {
		data, err := json.Marshal(b.State.Data)
		require.NoError(w.t, err)
		note("databag %s of %s:%s %s %s conditions:%d", b.Name, b.Spec.Application, b.Spec.Endpoint, data, b.State.Version, len(b.Status.Conditions))
	}
	for _, d := range deployments.Items {
		note("deployment %s generation:%d restarted:%t", d.Name, d.Generation, d.Spec.Template.Annotations[application.KeyDataVersion] != "")
	}
	slices.Sort(lines)
	text, err := json.MarshalIndent(lines, "", " ")
	require.NoError(w.t, err)
	return string(text)
}

// chapter is a change that a person makes, and what is then waited for.
type chapter struct {
	change func(w *controllerWorld)
	done   func(w *controllerWorld) bool
}

// life is a story that makes, changes, restarts, holds and ends.
func life() []chapter {
	return []chapter{{
		change: func(w *controllerWorld) {
			declared := consumes("sse,db", "sse-endpoint,db-endpoint")
			declared[application.KeyOnChange], declared[application.KeyRetain] = "restart", "0s"
			w.create(w.provider("sse-endpoint", "sse.tengu.io"), w.provider("db-endpoint", "db.tengu.io"), w.consumer("sleep", declared))
		},
		done: func(w *controllerWorld) bool {
			a := w.app("sleep")
			return len(w.relations()) == 2 && w.settled() && len(a.State.Units) == 1 && a.State.Restarts != nil && len(a.State.Restarts.Versions) == 2
		},
	}, {
		change: func(w *controllerWorld) {
			db := w.provider("db-endpoint", "")
			w.change(db, func() { db.Spec.ExternalName = "db2.tengu.io" })
		},
		done: func(w *controllerWorld) bool {
			a := w.app("sleep")
			return w.bag("db-endpoint").State.Data["host"] == "db2.tengu.io" && a.State.Restarts != nil && len(a.State.Restarts.Times) == 1
		},
	}, {
		change: func(w *controllerWorld) {
			sleep := w.consumer("sleep", nil)
			w.change(sleep, func() {
				sleep.Spec.Replicas = new(int32) // without units an ended relation is dead at once
				sleep.Spec.Template.Annotations[application.KeyConsumes] = "sse"
				sleep.Spec.Template.Annotations[application.KeyRelations] = "sse-endpoint"
			})
		},
		done: func(w *controllerWorld) bool {
			return len(w.relations()) == 1 && w.settled() && w.bag("db-endpoint").State.Version != ""
		},
	}}
}

// live runs the story with a controller that dies at a write and is followed by
// one that does not. It returns the last picture, and whether the first died.
func (w *controllerWorld) live(writes int64, want string) (picture string, died bool) {
	w.t.Helper()
	c := w.controller(writes)
	next := func() {
		select {
		case <-c.done:
			if !died {
				died = true
				c = w.controller(-1)
			}
		default:
		}
	}
	for _, chapter := range life() {
		chapter.change(w)
		w.eventually(fmt.Sprintf("the story with a death at write %d", writes), func() bool { next(); return chapter.done(w) })
	}
	if want == "" {
		w.marker("settled")
		picture = w.picture()
		w.eventually("nothing moves any more", func() bool {
			before := picture
			w.marker("settled-again")
			picture = w.picture()
			return picture == before
		})
	} else {
		w.eventually(fmt.Sprintf("the same picture after a death at write %d", writes), func() bool { next(); picture = w.picture(); return picture == want })
	}
	c.stop()
	return picture, died
}

// The controller, killed between any two of its writes, converges after its
// restart to the same objects.
func TestControllerKilledBetweenAnyTwoWrites(t *testing.T) {
	w := newControllerWorld(t)
	want, _ := w.live(-1, "")
	t.Log(want)
	writes := int64(0)
	for died := true; died; writes++ {
		w := newControllerWorld(t)
		var got string
		got, died = w.live(writes, want)
		if !assert.Equal(t, want, got, "death at write %d", writes) {
			return
		}
	}
	t.Logf("the story is %d writes", writes-1)
	assert.Greater(t, writes, int64(10), "or it is no story")
}
