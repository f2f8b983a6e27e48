package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// maxToken is the size of the largest token that is read, in bytes.
const maxToken = 8 << 10

// claims holds the claims of a token that the API server has bound to a pod.
type claims struct {
	jwt.Claims

	Kubernetes struct {
		Namespace      string `json:"namespace"`
		Pod            named  `json:"pod"`
		ServiceAccount named  `json:"serviceaccount"`
		Node           named  `json:"node"`
	} `json:"kubernetes.io"`
}

// named is an object in the claims.
type named struct {
	Name string `json:"name"`
	UID  string `json:"uid"`
}

// identity returns the pod that the claims name.
func (c *claims) identity() domain.Identity {
	id := domain.Identity{
		Namespace: c.Kubernetes.Namespace, Account: c.Kubernetes.ServiceAccount.Name,
		Pod: c.Kubernetes.Pod.Name, UID: c.Kubernetes.Pod.UID, Node: c.Kubernetes.Node.Name,
	}
	if c.Expiry != nil {
		id.Expires = c.Expiry.Time()
	}
	return id
}

// check checks a token without a request to the API server, but for its keys (TRUST.md U3). It reports as proven that
// the API server has issued the token for this audience and that it has not expired. A token that may be good for all
// that is known is not proven, without an error: there are no keys, or it has an issuer that is not the published one,
// as it happens while the issuer is changed.
func (k *keys) check(ctx context.Context, token string) (c claims, proven bool, err error) {
	if len(token) > maxToken {
		return c, false, fmt.Errorf("%w: it is longer than %d bytes", domain.ErrToken, maxToken)
	}
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512})
	if err != nil {
		return c, false, fmt.Errorf("%w: it is not a signed token", domain.ErrToken)
	}
	if err := parsed.UnsafeClaimsWithoutVerification(&c); err != nil || c.Expiry == nil {
		return c, false, fmt.Errorf("%w: its claims cannot be read", domain.ErrToken)
	}
	if err := c.ValidateWithLeeway(jwt.Expected{AnyAudience: jwt.Audience{Audience}, Time: k.now()}, time.Minute); err != nil {
		return c, false, fmt.Errorf("%w: %v", domain.ErrToken, err) //nolint:errorlint // the cause is of no use to a caller
	}
	known := k.having(ctx, parsed.Headers[0].KeyID)
	if known == nil {
		return c, false, nil
	}
	if key := known.key(parsed.Headers[0].KeyID); key == nil || parsed.Claims(key) != nil {
		return c, false, fmt.Errorf("%w: the API server has not signed it", domain.ErrToken)
	}
	return c, c.Issuer == known.Issuer, nil
}
