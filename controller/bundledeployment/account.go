package bundledeployment

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/cluster"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/crdify"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/bundle"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// World is the cluster as the account of a deployment sees it.
type World interface {
	bundle.Cluster
	Inputs

	// Lacks returns the keys that workloads of a plan read and that nothing has, and what could
	// not be read.
	Lacks(ctx context.Context, p domain.Plan) (lacks []domain.Lack, unread []domain.ID, err error)
	// Namespaced reports whether the objects of a kind are in namespaces; known is false where
	// the cluster does not have the kind.
	Namespaced(group, kind string) (namespaced, known bool, err error)
}

// Inputs are the objects of the deployment's namespace that its content is made of.
type Inputs interface {
	// Text returns the value of a key of a ConfigMap or Secret.
	Text(ctx context.Context, kind, name, key string) ([]byte, error)
	// Credentials returns what a Secret says about a server.
	Credentials(ctx context.Context, secret string) (domain.Credentials, error)
	// Files returns the content of ConfigMaps.
	Files(ctx context.Context, configMaps []string) (domain.Tree, error)
}

// Store is the stored memory of one deployment.
type Store interface {
	bundle.Store

	// Contents returns the names of the Secrets that a revision consists of; none where it is not
	// stored.
	Contents(revision int) []string
	// Stage stores what a revision consists of, before the record that names it, and returns the names
	// of the Secrets.
	Stage(ctx context.Context, p domain.Plan) ([]string, error)
}

// Access identifies an account and its deployment.
type Access struct {
	// Account is the user name of the ServiceAccount, and Owner the deployment as namespace/name.
	Account, Owner string
	Ignores        []domain.Ignore
	Probes         cluster.Probes
	// Secretive reports that the objects are made with values of Secrets.
	Secretive bool
}

// Impersonate returns how accounts reach a cluster: the configuration's own user acts for them, in namespaces
// that let it (TRUST.md R1).
func Impersonate(config *rest.Config, mapper meta.RESTMapper) func(Access) (World, Store, error) {
	return func(a Access) (World, Store, error) {
		shipped, err := policy.Shipped()
		if err != nil {
			return nil, nil, err
		}
		config := rest.CopyConfig(config)
		config.Impersonate = rest.ImpersonationConfig{UserName: a.Account}
		world, err := cluster.As(config, mapper, a.Owner)
		if err != nil {
			return nil, nil, err
		}
		world.Library, world.Definitions, world.Ignores, world.Probes, world.Secretive = shipped, crdify.Judge{}, a.Ignores, a.Probes, a.Secretive
		return world, cluster.NewStore(world), nil
	}
}
