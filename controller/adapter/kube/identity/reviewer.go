package identity

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/identity"
)

// Audience is the audience of an agent's token.
const Audience = "relations.tengu.io"

const (
	// refusedFor is how long a refused token is refused without another review; at most maxRefused are remembered.
	refusedFor = 10 * time.Second
	maxRefused = 4096
	// unknownRate is how many tokens of pods that the caches do not have are reviewed in a second, and unknownBurst how
	// many at once.
	unknownRate, unknownBurst = 20, 100
	// waitFor is how long such a token waits for its review.
	waitFor = time.Second
	// reviewWithin bounds one review.
	reviewWithin = 10 * time.Second
)

// Reviewer identifies the pods that call.
type Reviewer struct {
	// reader reads from the informers.
	reader client.Reader
	// writer has the API server review tokens.
	writer  client.Client
	keys    keys
	refused *cache.LRUExpireCache
	unknown *rate.Limiter
}

// NewReviewer returns a Reviewer that reads pods from the informers, has the API server review tokens, and fetches its
// keys.
func NewReviewer(informers client.Reader, writer client.Client, published rest.Interface) *Reviewer {
	return &Reviewer{
		reader: informers, writer: writer, keys: keys{client: published, now: time.Now},
		refused: cache.NewLRUExpireCache(maxRefused), unknown: rate.NewLimiter(unknownRate, unknownBurst),
	}
}

// Claim returns the pod that the token names by its signature, without a request to the API server but for its keys; the
// zero Identity where these do not tell. The error wraps domain.ErrToken as that of Review.
func (r *Reviewer) Claim(ctx context.Context, token string) (domain.Identity, error) {
	c, proven, err := r.keys.check(ctx, token)
	switch {
	case err != nil:
		refusals.Inc()
		return domain.Identity{}, err
	case !proven:
		return domain.Identity{}, nil
	}
	return c.identity(), nil
}

// Review returns the pod that the token names. The error wraps domain.ErrToken if signature, issuer, audience or
// expiry are invalid, or if the token is bound to no pod (SAFETY.md S4). The API server reviews only what may be good
// (TRUST.md U3): first the tokens of pods in the informers and those that renew, which are of a pod that was proven
// before; others wait for their turn, and the error wraps domain.ErrBusy if that takes too long.
func (r *Reviewer) Review(ctx context.Context, token string, renews bool) (domain.Identity, error) {
	c, proven, err := r.keys.check(ctx, token)
	if err != nil {
		refusals.Inc()
		return domain.Identity{}, err
	}
	sum := sha256.Sum256([]byte(token))
	if before, known := r.refused.Get(sum); known {
		refusals.Inc()
		return domain.Identity{}, before.(error) //nolint:forcetypeassert // nothing else is put there
	}
	first := renews || proven && r.lives(ctx, c.identity())
	if err := r.turn(ctx, first); err != nil {
		return domain.Identity{}, err
	}
	id, err := r.review(ctx, token)
	if errors.Is(err, domain.ErrToken) {
		r.refused.Add(sum, err, refusedFor)
	}
	id.Expires = c.identity().Expires
	return id, err
}

// turn waits until a token may be reviewed; one that goes first does not wait.
func (r *Reviewer) turn(ctx context.Context, first bool) error {
	if first {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, waitFor)
	defer stop()
	if r.unknown.Wait(ctx) != nil {
		return domain.ErrBusy
	}
	return nil
}

// review has the API server review a token.
func (r *Reviewer) review(ctx context.Context, token string) (domain.Identity, error) {
	ctx, stop := context.WithTimeout(ctx, reviewWithin)
	defer stop()
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{Audience}}}
	reviews.Inc()
	if err := r.writer.Create(ctx, review); err != nil {
		return domain.Identity{}, fmt.Errorf("cannot review a token: %w", err)
	}
	status := review.Status
	if !status.Authenticated || !slices.Contains(status.Audiences, Audience) {
		return domain.Identity{}, fmt.Errorf("%w: %s", domain.ErrToken, cmp.Or(status.Error, "it is not for audience "+Audience))
	}
	account, ok := strings.CutPrefix(status.User.Username, "system:serviceaccount:")
	namespace, name, found := strings.Cut(account, ":")
	id := domain.Identity{
		Namespace: namespace, Account: name,
		Pod: extra(status.User, "pod-name"), UID: extra(status.User, "pod-uid"), Node: extra(status.User, "node-name"),
	}
	if !ok || !found || id.Pod == "" || id.UID == "" {
		return domain.Identity{}, fmt.Errorf("%w: it is bound to no pod", domain.ErrToken)
	}
	return id, nil
}

func extra(user authenticationv1.UserInfo, key string) string {
	if values := user.Extra["authentication.kubernetes.io/"+key]; len(values) == 1 {
		return values[0]
	}
	return ""
}
