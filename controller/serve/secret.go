package serve

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/agent"
	v1alpha1 "gitlab.ilabt.imec.be/tengu/orcon/controller/api/relations/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/serve/limit"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/secret"
)

// refuse maps a refusal, or why something failed, to an answer of the API.
func refuse(err error) error { return limit.Refuse(err, codeOf(err)) }

// drafts reads the writes of secrets in a transaction. A grant is to the other side of a living relation of
// the unit's application.
func (c *conversation) drafts(t *telling, req *v1alpha1.CommitRequest) ([]secret.Draft, error) {
	if len(req.GetSecrets()) > maxChanges {
		return nil, connect.NewError(connect.CodeInvalidArgument,
			fmt.Errorf("a transaction writes at most %d secrets, this one %d", maxChanges, len(req.GetSecrets())))
	}
	var drafts []secret.Draft
	for _, w := range req.GetSecrets() {
		draft := convert.ToDraft(w)
		if draft.Kind == secret.Grant {
			access, err := c.access(t, w.GetAccess())
			if err != nil {
				return nil, err
			}
			draft.Access = access
		}
		drafts = append(drafts, draft)
	}
	return drafts, nil
}

// access returns a grant as the cluster has it, whatever application the unit named.
func (c *conversation) access(t *telling, to *v1alpha1.SecretAccess) (secret.Access, error) {
	r, err := t.writable(to.GetRelation())
	if err != nil {
		return secret.Access{}, err
	}
	access := secret.Access{Relation: r.UID, Name: r.Name, Application: r.Shown.Remote, Unit: to.GetUnit()}
	if home := r.Requirer.Namespace; home != c.identity.Namespace {
		access.Namespace = home
	}
	return access, nil
}

// GetSecret returns what the calling pod's unit reads of a secret.
func (s *Server) GetSecret(ctx context.Context, req *connect.Request[v1alpha1.GetSecretRequest]) (
	*connect.Response[v1alpha1.GetSecretResponse], error) {
	c, t, u, err := s.unit(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	read, err := s.Secrets.Secret(ctx, c.visitors(t, u), req.Msg.GetId(), convert.ToQuery(req.Msg))
	if err != nil {
		return nil, refuse(err)
	}
	return connect.NewResponse(convert.ForReading(read)), nil
}

// visitors returns the unit as it requests secrets: in its own namespace, then in those of its other
// relations, in order of name. A suspended relation counts: what was granted for it is not gone.
func (c *conversation) visitors(t *telling, u unit) []secret.Visitor {
	number := strconv.FormatInt(u.number, 10)
	all := []secret.Visitor{{Unit: secret.Unit{Application: c.Application, Number: number}, Namespace: c.identity.Namespace}}
	for _, uid := range slices.Sorted(maps.Keys(t.relations)) {
		r := t.relations[uid]
		if !r.Opened() {
			continue
		}
		i := slices.IndexFunc(all, func(v secret.Visitor) bool { return v.Namespace == r.Shown.There.Namespace })
		if i < 0 {
			i = len(all)
			all = append(all, secret.Visitor{Unit: secret.Unit{Application: r.Self(), Number: number}, Namespace: r.Shown.There.Namespace})
		}
		if !r.Ended() {
			all[i].Related = append(all[i].Related, r.Shown.There.Application)
			all[i].Ties = append(all[i].Ties, secret.Tie{
				Relation: uid, Name: r.Name, Home: r.Requirer.Namespace, Application: r.Shown.There.Application, Endpoint: r.Shown.There.Endpoint,
			})
		}
	}
	slices.SortFunc(all[1:], func(a, b secret.Visitor) int { return strings.Compare(a.Namespace, b.Namespace) })
	return all
}

// ListSecrets returns the secrets that the calling pod's unit may manage.
func (s *Server) ListSecrets(ctx context.Context, req *connect.Request[v1alpha1.ListSecretsRequest]) (
	*connect.Response[v1alpha1.ListSecretsResponse], error) {
	c, _, u, err := s.unit(ctx)
	if err != nil {
		return nil, err
	}
	defer c.leave()
	all, err := s.Secrets.Secrets(ctx, c.identity.Namespace, c.Application, int(u.number), c.identity.UID)
	if err != nil {
		return nil, refuse(err)
	}
	response := &v1alpha1.ListSecretsResponse{}
	for _, one := range all {
		response.Secrets = append(response.Secrets, convert.ForOwned(one))
	}
	return connect.NewResponse(response), nil
}

// unit returns the unit that calls. The caller of unit calls leave.
func (s *Server) unit(ctx context.Context) (*conversation, *telling, unit, error) {
	return s.unitAt(ctx, nil)
}

// unitAt is unit once this replica has seen what the agent has (SAFETY.md V4).
func (s *Server) unitAt(ctx context.Context, revisions map[string]uint64) (*conversation, *telling, unit, error) {
	c, err := s.caller(ctx)
	if err != nil {
		return nil, nil, unit{}, err
	}
	if err := c.waitFor(ctx, revisions); err != nil {
		c.leave()
		return nil, nil, unit{}, err
	}
	t, err := c.telling(ctx)
	if err != nil {
		c.leave()
		return nil, nil, unit{}, err
	}
	u := t.unit(c.identity.UID)
	if !u.known {
		c.leave()
		return nil, nil, u, connect.NewError(connect.CodeUnavailable, fmt.Errorf("pod %s has no number yet", c.identity.Pod))
	}
	return c, t, u, nil
}
