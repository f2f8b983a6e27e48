package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
)

// annotationOffer is the annotation of a Lease that has the offer.
const annotationOffer = "job.orcon.tengu.io/offer"

// Offers stores offers as Leases.
type Offers struct {
	// Cache has the Leases of the namespace that have label v1alpha1.LabelNode; Live reads from the API server itself.
	Cache, Live client.Reader
	Writer      client.Writer
	Namespace   string
}

var _ controller.Offers = Offers{}

// lease returns the Lease of an offer, without its content.
func (f Offers) lease(n executor.Name) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: f.Namespace, Name: "job-offer-" + n.UID + "-" + strconv.Itoa(n.Number),
	}}
}

// pack returns the Lease of an offer.
func (f Offers) pack(o controller.OfferedAttempt) (*coordinationv1.Lease, error) {
	l := f.lease(o.Name)
	l.ResourceVersion, o.Version = o.Version, ""
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("cannot write the offer of attempt %d of Run %s/%s: %w", o.Number, o.Namespace, o.Run, err)
	}
	l.Labels = map[string]string{v1alpha1.LabelNode: o.Node, "app.kubernetes.io/part-of": "orcon"}
	l.Annotations = map[string]string{annotationOffer: string(text)}
	l.Spec = coordinationv1.LeaseSpec{HolderIdentity: &o.Node, AcquireTime: &metav1.MicroTime{Time: o.Since}}
	return l, nil
}

// unpack returns the offer of a Lease.
func unpack(l *coordinationv1.Lease) (o controller.OfferedAttempt, err error) {
	if err = json.Unmarshal([]byte(l.Annotations[annotationOffer]), &o); err != nil {
		err = fmt.Errorf("cannot read Lease %s/%s: %w: delete it, and cancel the run that it names", l.Namespace, l.Name, err)
	}
	o.Version = l.ResourceVersion
	return o, err
}

// get reads an offer.
func (f Offers) get(ctx context.Context, from client.Reader, n executor.Name) (controller.OfferedAttempt, bool, error) {
	l := f.lease(n)
	err := from.Get(ctx, client.ObjectKeyFromObject(l), l)
	if apierrors.IsNotFound(err) {
		return controller.OfferedAttempt{}, false, nil
	}
	if err != nil {
		return controller.OfferedAttempt{}, false, fmt.Errorf("cannot read Lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	o, err := unpack(l)
	return o, err == nil, err
}

// Get implements controller.OfferReader.
func (f Offers) Get(ctx context.Context, n executor.Name) (controller.OfferedAttempt, bool, error) {
	return f.get(ctx, f.Cache, n)
}

// Stored implements controller.OfferReader.
func (f Offers) Stored(ctx context.Context, n executor.Name) (controller.OfferedAttempt, bool, error) {
	return f.get(ctx, f.Live, n)
}

// list reads offers.
func (f Offers) list(ctx context.Context, from client.Reader, which ...client.ListOption) (all []controller.OfferedAttempt, err error) {
	var found coordinationv1.LeaseList
	if err := from.List(ctx, &found, append(which, client.InNamespace(f.Namespace))...); err != nil {
		return nil, fmt.Errorf("cannot list the offers to RunNodes: %w", err)
	}
	for i := range found.Items {
		o, err := unpack(&found.Items[i])
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// Of implements controller.OfferReader.
func (f Offers) Of(ctx context.Context, name string) ([]controller.OfferedAttempt, error) {
	return f.list(ctx, f.Cache, client.MatchingLabels{v1alpha1.LabelNode: name})
}

// List implements controller.OfferReader.
func (f Offers) List(ctx context.Context) ([]controller.OfferedAttempt, error) {
	return f.list(ctx, f.Live, client.HasLabels{v1alpha1.LabelNode})
}

// Make implements controller.OfferWriter.
func (f Offers) Make(ctx context.Context, o controller.OfferedAttempt) error {
	l, err := f.pack(o)
	if err != nil {
		return err
	}
	if err := f.Writer.Create(ctx, l); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("cannot offer attempt %d of Run %s/%s to RunNode %s: %w", o.Number, o.Namespace, o.Run, o.Node, err)
	}
	return nil
}

// Change implements controller.OfferWriter.
func (f Offers) Change(ctx context.Context, o controller.OfferedAttempt) error {
	l, err := f.pack(o)
	if err != nil {
		return err
	}
	if err := f.Writer.Update(ctx, l); err != nil {
		return fmt.Errorf("cannot change Lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	return nil
}

// Delete implements controller.OfferWriter.
func (f Offers) Delete(ctx context.Context, n executor.Name) error {
	l := f.lease(n)
	if err := f.Writer.Delete(ctx, l); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("cannot delete Lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	return nil
}
