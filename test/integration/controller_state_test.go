package integration

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Ids, identities, the numbers of units and the terms of leaders outlive every status: a backup without
// statuses has them (TRUST.md T5, SAFETY.md D10).
func TestNumbersOutliveStatuses(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	declared := consumes("one,two", "one-endpoint")
	declared[application.KeyRetain] = "0s"
	web := w.consumer("web", declared)
	w.create(w.provider("one-endpoint", "one.tengu.io"), w.provider("two-endpoint", "two.tengu.io"), web)
	w.becomes("one-endpoint", "Complete")
	require.NoError(t, w.admin.Delete(w.ctx, w.podOf("web"), client.GracePeriodSeconds(0)))
	w.eventually("its pod is replaced", func() bool { return len(podsByNumber(w.app("web"))) == 1 && podsByNumber(w.app("web"))[1] != "" })
	w.change(web, func() { web.Spec.Template.Annotations[application.KeyRelations] = "two-endpoint" })
	w.eventually("relation 1 ends", func() bool { return w.relations()["one-endpoint"].Name == "" })
	w.becomes("two-endpoint", "Complete")
	w.eventually("a pod of the new template", func() bool { return len(podsByNumber(w.app("web"))) == 2 })
	speaker := w.speaker(c, "web", "10.9.1.2")
	hears(t, speaker.stream, "its unit", func(s *wire.Snapshot) bool { return s.GetUnit().GetKnown() })
	term := w.leads(speaker)
	relation, pods := w.relations()["two-endpoint"], podsByNumber(w.app("web"))
	require.EqualValues(t, 2, relation.State.ID)

	app := w.app("web")
	for _, o := range []client.Object{&app, &relation} {
		require.NoError(t, w.admin.Status().Patch(w.ctx, o.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(`{"status":null}`))))
	}
	w.becomes("two-endpoint", "Complete")
	w.eventually("the status of the application", func() bool { return reason(w.app("web").Status.Conditions, "Ready") == "!WaitingForRelations" })
	assert.Equal(t, relation.State, w.relations()["two-endpoint"].State)
	assert.Equal(t, pods, podsByNumber(w.app("web")))
	assert.Greater(t, w.leads(speaker), term, "a term is never led in twice")
}

// Only the controller writes what it keeps of a Relation: an editor of the namespace could open it to itself.
func TestStateOfARelationIsTheControllers(t *testing.T) {
	w := newControllerWorld(t)
	editor := w.editor("alice")
	forged := w.manual("web", "db")
	forged.State.ID = 7
	err := editor.Create(w.ctx, forged)
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.Contains(t, err.Error(), "only the controller writes the state of a Relation")
	made := w.manual("web", "db")
	require.NoError(t, editor.Create(w.ctx, made))
	before := made.DeepCopy()
	made.State.Identity = "another"
	require.True(t, apierrors.IsForbidden(editor.Patch(w.ctx, made, client.MergeFrom(before))))
	require.NoError(t, w.admin.Patch(w.ctx, made, client.MergeFrom(before)), "a backup is restored by an administrator")
}

// editor returns a client for a user who may edit the namespace.
func (w *controllerWorld) editor(name string) client.Client {
	w.t.Helper()
	w.allow(name, "orcon-edit")
	cfg := w.cluster.Config(w.t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: name}
	editor, err := client.New(cfg, client.Options{Scheme: w.scheme})
	require.NoError(w.t, err)
	return editor
}

// podsByNumber returns the UIDs of the pods of an application's living units, by the numbers of the units.
func podsByNumber(a v1alpha1.RelatedApplication) map[int64]string {
	pods := map[int64]string{}
	for _, u := range a.State.Units {
		if u.DepartureReason == "" {
			pods[u.Number] = u.PodUID
		}
	}
	return pods
}

// A record that is lost alone comes back with the numbers of the units that have written, and their bags stay (TRUST.md T5).
func TestNumbersOutliveTheirRecord(t *testing.T) {
	w := newControllerWorld(t)
	c := w.controller(-1)
	web := w.consumer("web", consumes("one", "one-endpoint"))
	web.Spec.Replicas = new(int32(2))
	w.create(w.provider("one-endpoint", "one.tengu.io"), web)
	w.becomes("one-endpoint", "Complete")
	first := w.podsOf("web", 2)[0]
	require.NoError(t, w.admin.Delete(w.ctx, &first, client.GracePeriodSeconds(0)))
	w.eventually("its pod is replaced", func() bool { return podsByNumber(w.app("web"))[2] != "" })
	for i, pod := range w.podsOf("web", 2) {
		s := w.speakerOf(c, &pod, fmt.Sprintf("10.9.1.%d", i+1))
		relation := one(hears(t, s.stream, "its relation", func(s *wire.Snapshot) bool { return one(s) != nil && s.GetUnit().GetKnown() }))
		require.NoError(t, s.commit(w.ctx, 0, change(relation.GetUid(), false, "said", pod.Name)))
	}
	pods := podsByNumber(w.app("web"))
	require.Len(t, pods, 2)

	lost := w.app("web")
	require.NoError(t, w.admin.Delete(w.ctx, &lost))
	w.eventually("its record is there again", func() bool { return len(podsByNumber(w.app("web"))) == 2 })
	assert.Equal(t, pods, podsByNumber(w.app("web")))
	assert.NotEqual(t, lost.UID, w.app("web").UID)
	var bags v1alpha1.DatabagList
	require.NoError(t, w.admin.List(w.ctx, &bags, client.InNamespace(w.namespace)))
	wrote := map[int64]string{}
	for _, b := range bags.Items {
		if number, err := strconv.ParseInt(b.Spec.Unit, 10, 64); err == nil && b.State.Data["said"] != "" {
			wrote[number] = b.State.PodUID
		}
	}
	assert.Equal(t, pods, wrote, "their bags stay")
}
