package jobs

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// Minter makes tokens by which machines join as RunNodes.
type Minter interface {
	// Mintable returns why no token can be made for a RunNode.
	Mintable(ctx context.Context, name string) error
	// Mint returns a token for a RunNode.
	Mint(ctx context.Context, name string) (string, error)
}

// JoinTokens has tokens for the runs of a namespace, if the controller is permitted to mint them there. Only a person who may
// mint them in the whole cluster can permit that, so that users who may edit the namespace cannot.
type JoinTokens struct {
	// Reviews creates reviews of the permissions of the controller.
	Reviews client.Writer
	Minter  Minter
}

// check returns why the runs of a namespace get no token for a RunNode.
func (t JoinTokens) check(ctx context.Context, namespace, name string) error {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: "create", Group: people.Group, Version: people.Version, Resource: people.Nodes, Subresource: people.Tokens,
			Name: name,
		},
	}}
	if err := t.Reviews.Create(ctx, review); err != nil {
		return fmt.Errorf("cannot find out whether it is permitted: %w", err)
	}
	if !review.Status.Allowed {
		return fmt.Errorf("ServiceAccount job-controller of orcon-system may not create %s/%s of API group %s for runs of namespace %s: "+
			"a cluster administrator permits it by kubectl create rolebinding %s -n %s --clusterrole=%[5]s "+
			"--serviceaccount=orcon-system:job-controller",
			people.Nodes, people.Tokens, people.Group, namespace, v1alpha1.TokensRole, namespace)
	}
	return t.Minter.Mintable(ctx, name)
}

// mint returns a new token.
func (t JoinTokens) mint(ctx context.Context, namespace, name string) (string, error) {
	if err := t.check(ctx, namespace, name); err != nil {
		return "", err
	}
	return t.Minter.Mint(ctx, name)
}
