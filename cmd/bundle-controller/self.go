package main

import (
	"cmp"
	"context"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/integrationset"
)

// ownToken is the cure of a pod in which a chart hides what the cluster mounts for the account.
const ownToken = "where the chart of a fleet mounts a token alone for the account, give its parameter KUBE_SA_TOKEN_MOUNT_PATH another " +
	"folder, such as /var/run/secrets/qontract, in spec.chart.parameters of the set that deploys this controller"

// verifiable returns an error in a pod without the certificate authority of the cluster, whose API server nothing could
// prove.
func verifiable(c *rest.Config) error {
	if c.BearerTokenFile == "" || c.CAFile != "" || len(c.CAData) > 0 || c.Insecure {
		return nil
	}
	return fmt.Errorf("cannot verify the API server: no ca.crt is beside the token of the account: %s", ownToken)
}

// self returns the integration as which this process runs, and its ServiceAccount as namespace:name. Its own images are
// those of its pod; outside of a pod there are none, so that every workload under its name counts as another program.
func self(ctx context.Context, reader client.Reader, s settings) (integrationset.Self, string, error) {
	account := s.namespace + ":" + name
	if s.integration == "" {
		return integrationset.Self{}, account, nil
	}
	self := integrationset.Self{Integration: s.integration, Namespace: cmp.Or(installation.OwnNamespace(), s.namespace)}
	host, err := os.Hostname()
	if err != nil {
		return self, account, fmt.Errorf("cannot find the own pod: %w", err)
	}
	var pod corev1.Pod
	err = reader.Get(ctx, client.ObjectKey{Namespace: self.Namespace, Name: host}, &pod)
	switch {
	case apierrors.IsNotFound(err):
		return self, account, nil
	case err != nil:
		return self, account, fmt.Errorf("cannot read the own pod, whose image tells this controller from another program that runs as %s: %w: "+
			"let its ServiceAccount get pods in namespace %s", s.integration, err, self.Namespace)
	}
	for _, c := range pod.Spec.Containers {
		self.Images = append(self.Images, c.Image)
	}
	return self, self.Namespace + ":" + pod.Spec.ServiceAccountName, nil
}
