package identity

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// Audience is the audience of an agent's token.
const Audience = "relations.tengu.io"

// Reviewer identifies the pods that call.
type Reviewer struct {
	// Reader reads from the informers.
	Reader client.Reader
	// Writer has the API server review tokens.
	Writer client.Client
}

// Review returns the pod that the token names. The error wraps domain.ErrToken if signature, issuer, audience or
// expiry are invalid, or if the token is bound to no pod (SAFETY.md S4).
func (r Reviewer) Review(ctx context.Context, token string) (domain.Identity, error) {
	if token == "" {
		return domain.Identity{}, fmt.Errorf("%w: there is none", domain.ErrToken)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}}}
	if err := r.Writer.Create(ctx, review); err != nil {
		return domain.Identity{}, fmt.Errorf("cannot review a token: %w", err)
	}
	status := review.Status
	if !status.Authenticated || !slices.Contains(status.Audiences, Audience) {
		return domain.Identity{}, fmt.Errorf("%w: %s", domain.ErrToken, cmp.Or(status.Error, "it is not for audience "+Audience))
	}
	account, ok := strings.CutPrefix(status.User.Username, "system:serviceaccount:")
	namespace, name, found := strings.Cut(account, ":")
	id := domain.Identity{Namespace: namespace, Account: name, Pod: extra(status.User, "pod-name"), UID: extra(status.User, "pod-uid")}
	if !ok || !found || id.Pod == "" || id.UID == "" {
		return domain.Identity{}, fmt.Errorf("%w: it is bound to no pod", domain.ErrToken)
	}
	expires, err := expiry(token)
	id.Expires = expires
	return id, err
}

func extra(user authenticationv1.UserInfo, key string) string {
	if values := user.Extra["authentication.kubernetes.io/"+key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// expiry returns the end of a token that the API server has found valid.
func expiry(token string) (time.Time, error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, fmt.Errorf("%w: it is not a JWT", domain.ErrToken)
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, fmt.Errorf("%w: %v", domain.ErrToken, err) //nolint:errorlint // the cause is of no use to a caller
	}
	var claims struct {
		Expires int64 `json:"exp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil || claims.Expires == 0 {
		return time.Time{}, fmt.Errorf("%w: it has no expiry", domain.ErrToken)
	}
	return time.Unix(claims.Expires, 0), nil
}
