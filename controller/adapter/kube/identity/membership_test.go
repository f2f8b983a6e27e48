package identity

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/kubetest"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// ignoring returns an application whose name another object claims as well.
func ignoring(a *v1alpha1.RelatedApplication, object string) *v1alpha1.RelatedApplication {
	a.Status.Exclusions = []v1alpha1.Exclusion{{Object: object, Reason: "NameTaken", Message: "the name is taken"}}
	return a
}

func TestMembership(t *testing.T) {
	app := func(sources ...string) *v1alpha1.RelatedApplication {
		a := object.Named(&v1alpha1.RelatedApplication{}, "shop", "web")
		a.Status.Sources = sources
		return a
	}
	rs := object.Named(object.ReplicaSet(), "shop", "web-5d9")
	kubetest.Controlled(rs, "Deployment", "web")
	finished := kubetest.PodOf("ReplicaSet", "web-5d9")
	finished.Status.Phase = corev1.PodSucceeded
	deadline := metav1.Now()
	ending := kubetest.PodOf("ReplicaSet", "web-5d9")
	ending.DeletionTimestamp = &deadline
	tests := map[string]struct {
		why         string
		pod         *corev1.Pod
		app         *v1alpha1.RelatedApplication
		uid, as, on string
		application string
		ignored     string
		lives       bool
		ends        time.Time
	}{
		"Unit":      {pod: kubetest.PodOf("ReplicaSet", "web-5d9"), application: "web", lives: true, why: "nothing is recorded yet"},
		"Recorded":  {pod: kubetest.PodOf("ReplicaSet", "web-5d9"), app: app("Deployment/web", "Service/web"), application: "web", lives: true, why: "one of its sources"},
		"NameTaken": {pod: kubetest.PodOf("StatefulSet", "web"), app: app("Deployment/web"), lives: true, why: "A1: another has the name, and why is not recorded yet"},
		"Ignored": {
			pod: kubetest.PodOf("StatefulSet", "web"), app: ignoring(app("Deployment/web"), "StatefulSet/web"),
			application: "web", ignored: "the name is taken", lives: true, why: "A1: the later claim is ignored, with the reason",
		},
		"IgnoredAlone": {
			pod: kubetest.PodOf("StatefulSet", "web"), app: ignoring(app(), "StatefulSet/web"),
			application: "web", ignored: "the name is taken", lives: true, why: "A1: a name with a dot is no application's",
		},
		"NotIgnored": {
			pod: kubetest.PodOf("ReplicaSet", "web-5d9"), app: ignoring(app("Deployment/web"), "StatefulSet/web"),
			application: "web", lives: true, why: "A1: the earlier claim is not the worse for it",
		},
		"Ending":       {pod: ending, application: "web", lives: true, ends: deadline.UTC(), why: "T2: its deadline"},
		"OtherUID":     {pod: kubetest.PodOf("ReplicaSet", "web-5d9"), uid: "uid-0", why: "S4: by UID"},
		"OtherNode":    {pod: kubetest.PodOf("ReplicaSet", "web-5d9"), on: "node-2", why: "S4: on its node"},
		"OtherAccount": {pod: kubetest.PodOf("ReplicaSet", "web-5d9"), as: "admin", why: "S4: with that account"},
		"Finished":     {pod: finished, why: "A2: gone"},
		"NoOwnerYet":   {pod: kubetest.PodOf("ReplicaSet", "unseen"), lives: true, why: "it lives all the same"},
		"NoPod":        {why: "S4: it lives in the cache"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := kubetest.Memory{}
			m.Put(rs)
			if test.pod != nil {
				m.Put(test.pod)
			}
			if test.app != nil {
				m.Put(test.app)
			}
			uid, account := "uid-1", "default"
			if test.uid != "" {
				uid = test.uid
			}
			if test.as != "" {
				account = test.as
			}
			got := (&Reviewer{reader: m}).Membership(t.Context(), domain.Identity{Namespace: "shop", Pod: "pod-1", UID: uid, Account: account, Node: test.on})
			assert.Equal(t, domain.Membership{Lives: test.lives, Deadline: test.ends, Application: test.application, Ignored: test.ignored}, got, test.why)
		})
	}
}
