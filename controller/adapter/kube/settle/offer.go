package settle

import (
	"context"
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
)

// offerWriter writes Offers.
type offerWriter struct{ writer }

// admit stores the UIDs of an Offer's consumers.
func (w offerWriter) admit(ctx context.Context, namespace string, d relation.Admit) error {
	o, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.Offer{}, namespace, d.Name))
	if err = errors.Join(err, w.latest.unmoved(o)); err != nil || !there || string(o.UID) != d.UID {
		return err
	}
	if o, err = liveOf(ctx, w.writer, o); err != nil {
		return err
	}
	convert.KeepOffer(o, d.Offer)
	if err := w.client.Update(ctx, o); err != nil {
		return fmt.Errorf("cannot write offer %s: %w", o.Name, err)
	}
	w.latest.wrote(o)
	return nil
}

// answer stores the status of an Offer.
func (w offerWriter) answer(ctx context.Context, namespace string, d relation.Answer) error {
	o, there, err := get(ctx, w.reader, w.latest, object.Named(&v1alpha1.Offer{}, namespace, d.Name))
	if err != nil || !there || string(o.UID) != d.UID {
		return err
	}
	before := *o.Status.DeepCopy()
	convert.SetOffer(o, d.State, w.now())
	if err := w.client.Status().Update(ctx, o); err != nil {
		return fmt.Errorf("cannot write the status of offer %s: %w", o.Name, err)
	}
	w.latest.wrote(o)
	w.events.offer(o, before)
	return nil
}
