package jobs

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
)

// RunSecrets reads the secrets of runs, which are Secrets of Kubernetes or tokens.
type RunSecrets struct {
	// Live reads from the API server itself: no cache has Secrets.
	Live   client.Reader
	Tokens JoinTokens
}

var _ serve.SecretSource = RunSecrets{}

// cureSecrets is the cure where the controller may not read a Secret.
const cureSecrets = "let it, by a RoleBinding of ServiceAccount job-controller of orcon-system to ClusterRole " + v1alpha1.SecretsRole

// Check implements serve.SecretSource.
func (s RunSecrets) Check(ctx context.Context, namespace string, files []run.SecretFile) error {
	for _, f := range run.Minted(files) {
		if err := s.Tokens.check(ctx, namespace, f.JoinToken); err != nil {
			return unminted(f, err)
		}
	}
	_, err := s.stored(ctx, namespace, run.Stored(files))
	return err
}

// Read implements serve.SecretSource.
func (s RunSecrets) Read(ctx context.Context, namespace string, files []run.SecretFile) (map[string][]byte, error) {
	values, err := s.stored(ctx, namespace, run.Stored(files))
	if err != nil {
		return nil, err
	}
	for _, f := range run.Minted(files) {
		token, err := s.Tokens.mint(ctx, namespace, f.JoinToken)
		if err != nil {
			return nil, unminted(f, err)
		}
		values[f.Name] = []byte(token)
	}
	return values, nil
}

// stored returns the values of files that Secrets have.
func (s RunSecrets) stored(ctx context.Context, namespace string, files []run.SecretFile) (map[string][]byte, error) {
	known, values := map[string]corev1.Secret{}, map[string][]byte{}
	for _, f := range files {
		secret, is := known[f.Secret]
		if !is {
			if err := s.Live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: f.Secret}, &secret); err != nil {
				return nil, unread(namespace, f, err)
			}
			known[f.Secret] = secret
		}
		value, has := secret.Data[f.Key]
		if !has {
			return nil, unread(namespace, f, errors.New("it has no key "+f.Key+": add it, or correct spec.secrets of the JobWorkspace"))
		}
		values[f.Name] = value
	}
	return values, nil
}

// unread returns the error of a Secret that cannot be used, with its cure.
func unread(namespace string, f run.SecretFile, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w: %s", err, cureSecrets)
	case apierrors.IsNotFound(err):
		err = fmt.Errorf("%w: create it, or correct spec.secrets of the JobWorkspace", err)
	}
	return fmt.Errorf("cannot read Secret %s/%s for file %s of a run on a RunNode: %w", namespace, f.Secret, f.Name, err)
}

// unminted returns the error of a token that cannot be made.
func unminted(f run.SecretFile, err error) error {
	return fmt.Errorf("cannot mint a token for RunNode %s, which is file %s of the run: %w", f.JoinToken, f.Name, err)
}
