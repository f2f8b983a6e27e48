package secrets

import (
	"context"
	"fmt"

	"github.com/golang/glog"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// readGranted returns the content of a Secret that a relation grants, with the Secret and all consents as they
// are now (SAFETY.md S1). It is not copied.
func (c *Secrets) readGranted(
	ctx context.Context, namespace string, ties []secret.Tie, id string, query secret.Query,
) (secret.Reading, error) {
	if query.Label != "" {
		return secret.Reading{}, secret.NoLabel(id)
	}
	for _, tie := range ties {
		g, granted, err := c.grantedBy(ctx, namespace, tie)
		if err != nil {
			return secret.Reading{}, err
		}
		if !granted {
			continue
		}
		source, content, err := object.SecretSource(ctx, c.Reader, namespace, g.Secret)
		if err != nil {
			glog.Warningf("%v", err) // its name is not for who asks (SAFETY.md M7)
			return secret.Reading{}, fmt.Errorf("cannot read secret %s: the API server did not answer", id)
		}
		if reason, _ := source.Refusal(tie.Application, tie.Endpoint, ""); reason == "" {
			return secret.Reading{ID: id, Revision: g.Revision, Content: content}, nil
		}
	}
	return secret.Reading{}, secret.NotGranted(id, ties[0].Application)
}

// grantedBy returns the grant of the other end of a relation, with relation, Offers and record as they are now.
func (c *Secrets) grantedBy(ctx context.Context, namespace string, tie secret.Tie) (relation.Grant, bool, error) {
	r, err := c.granted(ctx, namespace, secret.Access{Relation: tie.Relation, Name: tie.Name, Namespace: tie.Home})
	if err != nil || r.UID == "" || r.Ended() {
		return relation.Grant{}, false, err
	}
	var app v1alpha1.RelatedApplication
	if err := c.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: tie.Application}, &app); client.IgnoreNotFound(err) != nil {
		return relation.Grant{}, false, fmt.Errorf("cannot read application %s: %w", tie.Application, err)
	}
	grants, err := convert.ToGrants(&app)
	if err != nil {
		return relation.Grant{}, false, err
	}
	g, granted := r.Granted(relation.End{Namespace: namespace, Application: tie.Application, Endpoint: tie.Endpoint}, grants)
	return g, granted, nil
}
