package aggregation

import (
	"context"
	"time"

	"github.com/golang/glog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
)

// Journal records deeds as Events of their objects, and as lines of the log, which stay longer.
type Journal struct{ Events events.EventRecorder }

// Record implements people.Journal.
func (j Journal) Record(_ context.Context, d people.Deed) {
	note := d.Person.Name + " " + d.What
	if d.Because != "" {
		note += ", because: " + d.Because
	}
	note += " at " + d.At.UTC().Format(time.RFC3339)
	kind := "JobWorkspace"
	if d.Resource == wire.Templates {
		kind = "JobTemplate"
	}
	glog.Infof("%s %s/%s: %s: %q", kind, d.Namespace, d.Name, d.Kind, note)
	about := &corev1.ObjectReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Namespace: d.Namespace, Name: d.Name, UID: types.UID(d.UID),
	}
	object.WriteEvent(j.Events, about, corev1.EventTypeNormal, "Decide", string(d.Kind), note)
}
