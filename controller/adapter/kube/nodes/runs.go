package nodes

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// OfferedRuns finds JobRuns of offers.
type OfferedRuns struct {
	// Live reads from the API server itself.
	Live client.Reader
}

var _ controller.OfferedRuns = OfferedRuns{}

// get reads the JobRun of an offer. One that was made anew under its name is another one.
func (r OfferedRuns) get(ctx context.Context, n executor.Name) (*v1alpha1.JobRun, error) {
	var o v1alpha1.JobRun
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: n.Run}, &o)
	switch {
	case apierrors.IsNotFound(err), err == nil && string(o.UID) != n.UID:
		return nil, fmt.Errorf("JobRun %s/%s is gone: %w", n.Namespace, n.Run, controller.ErrNone)
	case err != nil:
		return nil, fmt.Errorf("cannot read JobRun %s/%s: %w", n.Namespace, n.Run, err)
	}
	return &o, nil
}

// Input implements controller.OfferedRuns.
func (r OfferedRuns) Input(ctx context.Context, n executor.Name) (run.Input, error) {
	o, err := r.get(ctx, n)
	if err != nil {
		return run.Input{}, err
	}
	input, frozen, err := convert.ToInput(o)
	if err == nil && !frozen {
		err = errors.New("its input is not frozen yet")
	}
	return input, err
}

// Identity implements controller.OfferedRuns.
func (r OfferedRuns) Identity(ctx context.Context, n executor.Name) (string, workspace.Run, error) {
	o, err := r.get(ctx, n)
	if err != nil {
		return "", workspace.Run{}, err
	}
	owner := convert.OwnerOf(o)
	if owner.UID == "" {
		return "", workspace.Run{}, fmt.Errorf("JobRun %s/%s has no JobWorkspace: %w", n.Namespace, n.Run, controller.ErrNone)
	}
	return string(owner.UID), convert.ToRun(o), nil
}
