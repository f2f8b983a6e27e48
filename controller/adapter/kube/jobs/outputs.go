package jobs

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
)

// cureOutputs is the cure where the controller may not write the Secret.
const cureOutputs = "let it, by a RoleBinding of ServiceAccount job-controller of orcon-system to ClusterRole " + v1alpha1.OutputsRole

// conceal writes the sensitive outputs of a report into the Secret of the Workspace, which goes with it. Outputs of an earlier
// hold change nothing.
func (r Runs) conceal(ctx context.Context, o *v1alpha1.JobRun, report serve.Report) error {
	if len(report.Sensitive) == 0 {
		return nil
	}
	name := client.ObjectKey{Namespace: o.Namespace, Name: v1alpha1.OutputsOf(o.Spec.Workspace)}
	owner := convert.OwnerOf(o)
	var before corev1.Secret
	err := r.Live.Get(ctx, name, &before)
	fence, _ := strconv.ParseInt(before.Annotations[annotationFence], 10, 64) // 0 for a new one
	switch {
	case client.IgnoreNotFound(err) != nil:
		return unwritten(name, err)
	case err == nil && !ownedBy(&before, owner.UID):
		return fmt.Errorf("cannot write sensitive outputs: Secret %s belongs to something else: delete or rename it", name)
	case fence >= report.Fence:
		return nil
	}
	data := map[string][]byte{}
	for _, one := range report.Sensitive {
		data[one.Name] = []byte(one.Text())
	}
	secret := applycorev1.Secret(name.Name, name.Namespace).WithData(data).
		WithAnnotations(map[string]string{annotationFence: strconv.FormatInt(report.Fence, 10)}).
		WithLabels(map[string]string{v1alpha1.LabelWorkspace: o.Spec.Workspace, "app.kubernetes.io/managed-by": "orcon"}).
		WithOwnerReferences(applymetav1.OwnerReference().
			WithAPIVersion(owner.APIVersion).WithKind(owner.Kind).WithName(owner.Name).WithUID(owner.UID))
	if err := r.Writer.Apply(ctx, secret, client.FieldOwner("job-controller")); err != nil {
		return unwritten(name, err)
	}
	return nil
}

// unwritten returns the error of a Secret of outputs, with its cure.
func unwritten(name client.ObjectKey, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("cannot write sensitive outputs: the controller may not write Secret %s: %s: %w", name, cureOutputs, err)
	}
	return fmt.Errorf("cannot write sensitive outputs to Secret %s: %w", name, err)
}

// ownedBy reports whether an object has an owner.
func ownedBy(o client.Object, uid types.UID) bool {
	for _, owner := range o.GetOwnerReferences() {
		if owner.UID == uid {
			return true
		}
	}
	return false
}
