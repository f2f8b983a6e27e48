package commits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// trial returns an executor for one write, which the API server judges and does not store. The object that was read
// stays as it is. A bag is tried without its record, which is Orcon's own and costs more than all the rest of it.
func (e *executor) trial(write transaction.Request) *executor {
	dry := *e.Commits
	dry.Writer, dry.Contents = client.NewDryRunClient(e.Writer), untouched{}
	only := &executor{Commits: &dry, namespace: e.namespace}
	switch w := write.(type) {
	case transaction.WriteBag:
		b := e.bags[w.Bag.Name()].DeepCopy()
		b.State.Record = nil
		only.bags = map[string]*v1alpha1.Databag{b.Name: b}
	case transaction.WriteSecret:
		only.secrets = map[string]*v1alpha1.RelatedSecret{w.ID: e.secrets[w.ID].DeepCopy()}
	}
	return only
}

// untouched is the store of contents for a write that is only tried.
type untouched struct{}

func (untouched) Store(context.Context, string, string, map[string][]byte) (secret.Place, error) {
	return secret.Place{}, errors.New("cannot store a content: its write is only tried")
}

func (untouched) Mark(context.Context, string, []secret.Place) error { return nil }

func (untouched) Settle(context.Context, string, []secret.Place, []secret.Place) {}

// refused returns the error of a request, as a refusal if it is final.
func refused(request transaction.Request, err error) error {
	subject := ""
	switch r := request.(type) {
	case transaction.Try:
		return refused(r.Write, err)
	case transaction.WriteBag:
		subject = fmt.Sprintf("the databag of %s:%s", r.Bag.Address().Owner, r.Bag.Endpoint)
	case transaction.WriteSecret:
		subject = "secret " + r.ID
	case transaction.Post, transaction.Empty:
		subject = "the unit's outbox"
	case transaction.ReadOutbox, transaction.ReadBag, transaction.ReadSecret, transaction.Each:
	}
	if err == nil || subject == "" || !final(err) {
		return err
	}
	return &conversation.Error{
		Kind: conversation.Invalid, Message: "the API server refuses " + subject + ": " + words(err),
		Cure: "write something else, or correct the policy or quota that refuses it",
	}
}

// final reports whether the API server refuses a write for what it is.
func final(err error) bool {
	return !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) &&
		(apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err))
}

// words returns why the API server refuses a write. Its own words may quote the values of fields: of those, the fields
// are named and what is wrong with them (TRUST.md R5).
func words(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return err.Error()
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "" {
			fields = append(fields, cause.Field+" "+wrong(cause.Type))
		}
	}
	if len(fields) == 0 {
		return status.Status().Message
	}
	slices.Sort(fields)
	return strings.Join(slices.Compact(fields), ", ")
}

// wrong returns what is wrong with a field.
func wrong(why metav1.CauseType) string {
	switch field.ErrorType(why) {
	case field.ErrorTypeRequired:
		return "is missing"
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		return "is too long"
	case field.ErrorTypeForbidden:
		return "is not allowed"
	default:
		return "has an invalid value"
	}
}

// reported returns why a transaction is not stored. If it is committed, and its delivery is refused, its outbox is marked.
func (c *Commits) reported(ctx context.Context, committed transaction.Commit, outbox *v1alpha1.Databag, err error) error {
	if committed.ID == "" || conversation.RefusalOf(err) == "" {
		return err
	}
	return errors.Join(err, c.report(ctx, outbox, err.Error()))
}

// report marks an outbox with why its transaction is not delivered, or was dropped; empty for no reason.
func (c *Commits) report(ctx context.Context, outbox *v1alpha1.Databag, why string) error {
	if why == "" {
		return nil
	}
	marked := outbox.DeepCopy()
	if convert.SetRefusal(marked, why, c.Now()); equality.Semantic.DeepEqual(marked.Status, outbox.Status) {
		return nil
	}
	if err := c.Writer.Status().Update(ctx, marked); err != nil {
		return fmt.Errorf("cannot report that a transaction is refused: %w", err)
	}
	return nil
}
