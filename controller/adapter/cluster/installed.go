package cluster

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Installed is a deployment whose record is in a cluster.
type Installed struct {
	Namespace, Name string
	Record          bundle.Record
	// Unreadable is why the record cannot be read; nil if it can.
	Unreadable error
}

// List returns the deployments whose records a namespace has, every namespace for "", also those whose record cannot be
// read: who may write Secrets in one namespace hides no deployment of another. A user who may not list Secrets gets a
// Forbidden error.
func List(ctx context.Context, config *rest.Config, namespace string) ([]Installed, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own fairness limits us
	c, err := client.New(config, client.Options{Scheme: clientscheme.Scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	var secrets corev1.SecretList
	if err := c.List(ctx, &secrets, client.InNamespace(namespace), client.MatchingFields{"type": RecordType}); err != nil {
		return nil, fmt.Errorf("cannot list the records of deployments: %w", err)
	}
	var all []Installed
	for _, secret := range secrets.Items {
		name, is := strings.CutPrefix(secret.Name, namePrefix)
		if !is || secret.Type != RecordType {
			continue
		}
		s, unreadable := readRecord(secret)
		all = append(all, Installed{secret.Namespace, name, s.Record, unreadable})
	}
	return all, nil
}
