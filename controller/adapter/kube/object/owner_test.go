package object_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
)

// SAFETY.md A1: the topmost known controller.
func TestOwners(t *testing.T) {
	m := kubetest.Memory{}
	rs := object.Named(object.ReplicaSet(), "shop", "web-5d9")
	kubetest.Controlled(rs, "Deployment", "web")
	lone := object.Named(object.ReplicaSet(), "shop", "lone")
	job := object.Named(&batchv1.Job{}, "shop", "nightly-123")
	kubetest.Controlled(job, "CronJob", "nightly")
	m.Put(rs, lone, job, object.Named(&batchv1.Job{}, "shop", "once"))
	tests := map[string]struct {
		why   string
		pod   *corev1.Pod
		want  string
		known bool
	}{
		"Deployment":     {pod: kubetest.PodOf("ReplicaSet", "web-5d9"), want: "Deployment/web", known: true, why: "through its ReplicaSet"},
		"CronJob":        {pod: kubetest.PodOf("Job", "nightly-123"), want: "CronJob/nightly", known: true, why: "through its Job"},
		"ReplicaSet":     {pod: kubetest.PodOf("ReplicaSet", "lone"), want: "ReplicaSet/lone", known: true, why: "without an owner"},
		"Job":            {pod: kubetest.PodOf("Job", "once"), want: "Job/once", known: true, why: "without an owner"},
		"StatefulSet":    {pod: kubetest.PodOf("StatefulSet", "db"), want: "StatefulSet/db", known: true, why: "the direct owner"},
		"Foreign":        {pod: kubetest.PodOf("Rollout", "canary"), want: "Rollout/canary", known: true, why: "a kind that is not known here"},
		"Bare":           {pod: kubetest.PodOf("", ""), want: "Pod/pod-1", known: true, why: "its own"},
		"UnseenSet":      {pod: kubetest.PodOf("ReplicaSet", "young-1"), why: "to guess would make an application of a ReplicaSet"},
		"UnseenCreation": {pod: kubetest.PodOf("Job", "young-2"), why: "the same for a CronJob's Job"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			owner, known := object.Owners{Reader: m}.Of(t.Context(), test.pod)
			assert.Equal(t, test.known, known, test.why)
			if known {
				assert.Equal(t, test.want, owner.Source(), test.why)
				assert.Equal(t, owner.Name, owner.Application)
			}
		})
	}
	renamed := kubetest.PodOf("StatefulSet", "db")
	renamed.Annotations = map[string]string{"tengu.io/application": "data"}
	owner, _ := object.Owners{Reader: m}.Of(t.Context(), renamed)
	assert.Equal(t, "data", owner.Application, "the annotation wins (A1)")
}

// While the owner between cannot be read, the pod's application is not known.
func TestOwnersInAnOutage(t *testing.T) {
	owners := object.Owners{Reader: kubetest.Silent{Failed: kubetest.ErrGone}}
	for kind, known := range map[string]bool{"ReplicaSet": false, "Job": false, "StatefulSet": true, "": true} {
		_, is := owners.Of(t.Context(), kubetest.PodOf(kind, "web"))
		assert.Equal(t, known, is, kind)
	}
}
