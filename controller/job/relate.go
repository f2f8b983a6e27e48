package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// relating makes the outputs of a Workspace the data of a relation (JOBS.md J19).
type relating struct{ *look }

const (
	// reasonUnrelated is the reason of an Event that tells why outputs are not the data of a relation.
	reasonUnrelated = "OutputsNotRelated"
	// relateAgain is after how long that is tried again.
	relateAgain = time.Minute
	// relateAnew is after how long a Service is annotated again: it may have been made anew meanwhile.
	relateAnew = 5 * time.Minute
)

// annotations are those of an object that are set; nil removes one.
type annotations map[string]*string

// relate annotates the Service that the Workspace names with the outputs of the last run, if that has succeeded, and has
// some. Nothing waits for it: what cannot be written is an Event, and is tried again.
func (l relating) relate(ctx context.Context) error {
	to, last := l.o.Spec.Outputs, l.w.Last
	if to == nil || last.Fence == 0 || !last.Exit.Success() {
		return nil
	}
	version := fmt.Sprintf("%s/%s %d", to.Service, to.Endpoint, last.Fence)
	if left := l.memory.relatedAt + relateAnew - l.Clock(); l.memory.related == version && left > 0 {
		l.within(left)
		return nil
	}
	o := &v1alpha1.JobRun{}
	switch err := l.Reader.Get(ctx, types.NamespacedName{Namespace: l.name.Namespace, Name: last.Run.Name}, o); {
	case apierrors.IsNotFound(err): // its outputs are gone with it, and those that are related stay
	case err != nil:
		return fmt.Errorf("cannot read the outputs of JobRun %s: %w", last.Run.Name, err)
	case string(o.UID) == last.Run.UID:
		if err := l.show(ctx, o, *to); err != nil {
			l.within(relateAgain)
			l.unrelated(err)
			return nil
		}
	}
	l.memory.related, l.memory.relatedAt, l.memory.unrelated = version, l.Clock(), ""
	l.within(relateAnew)
	return nil
}

// show writes the outputs of a Run. Those of one that destroys are none; one without outputs changes nothing.
func (l relating) show(ctx context.Context, o *v1alpha1.JobRun, to v1alpha1.JobOutputs) error {
	dataKey, secretKey, name := application.PrefixData+to.Endpoint, application.PrefixSecret+to.Endpoint, v1alpha1.OutputsOf(l.name.Name)
	all := annotations{dataKey: nil, secretKey: nil}
	switch {
	case o.Spec.Action == run.Destroy:
	case o.State == nil || o.State.Report == nil || o.State.Report.Outputs == nil:
		return nil
	default:
		values, sensitive, err := contract.Data(string(o.State.Report.Outputs.Raw))
		if err != nil {
			return err
		}
		text, err := json.Marshal(values)
		if err != nil {
			return err
		}
		all[dataKey] = new(string(text))
		if !sensitive {
			break
		}
		all[secretKey] = &name
		grant := annotations{secret.KeyGrantTo: new(to.Service + ":" + to.Endpoint)}
		if err := l.annotate(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, "Secret", grant); err != nil {
			return err
		}
	}
	return l.annotate(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: to.Service}}, "Service", all)
}

// annotate sets annotations of an object of the namespace.
func (l relating) annotate(ctx context.Context, o client.Object, kind string, all annotations) error {
	o.SetNamespace(l.name.Namespace)
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": all}})
	if err == nil {
		err = l.Client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
	}
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("cannot annotate %s %s: let the controller, by a RoleBinding of ServiceAccount job-controller of orcon-system "+
			"to ClusterRole %s: %w", kind, o.GetName(), v1alpha1.OutputsRole, err)
	case err != nil:
		return fmt.Errorf("cannot annotate %s %s: %w", kind, o.GetName(), err)
	}
	return nil
}

// unrelated writes an Event where the reason is another one.
func (l relating) unrelated(err error) {
	if l.Events == nil || l.memory.unrelated == err.Error() {
		return
	}
	l.memory.unrelated = err.Error()
	object.WriteEvent(l.Events, l.o, corev1.EventTypeWarning, "Relate", reasonUnrelated, err.Error())
}
