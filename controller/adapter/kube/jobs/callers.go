package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/util/flowcontrol"
	"sigs.k8s.io/controller-runtime/pkg/client"

	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

const (
	// knownFor is how long a token that was found good counts as good; at most maxKnown are remembered. A pod that is gone
	// can do no more by it than what its claim permits, which is judged at each request.
	knownFor = time.Minute
	maxKnown = 4096
	// maxToken is the size of the largest token that is reviewed, in bytes.
	maxToken = 8 << 10
	// refusedFor is how long a token that was refused is refused without another review.
	refusedFor = 10 * time.Second
	// reviewRate is how many tokens of one address are reviewed in a second, and reviewBurst how many at once; tokens that are
	// known cost nothing. Of maxAddresses it is remembered, for idleAddress after the last review.
	reviewRate, reviewBurst = 10, 50
	maxAddresses            = 4096
	idleAddress             = time.Minute
)

// Callers identifies the keepers of pods by their tokens, which the API server binds to their pods.
type Callers struct {
	objects Objects
	writer  client.Client
	// known and refused have what came of tokens lately, by their digests, and addresses the limits of their senders.
	known, refused, addresses *cache.LRUExpireCache
	// admitting is held while the limit of an address is found or made.
	admitting sync.Mutex
}

var _ serve.Callers = (*Callers)(nil)

// NewCallers returns Callers that read pods from the API server itself and have it review tokens.
func NewCallers(objects Objects, writer client.Client) *Callers {
	return &Callers{
		objects: objects, writer: writer, known: cache.NewLRUExpireCache(maxKnown), refused: cache.NewLRUExpireCache(maxKnown),
		addresses: cache.NewLRUExpireCache(maxAddresses),
	}
}

// Identify implements serve.Callers. The claimant is the pod; its labels name the Run, which must be in its namespace.
// Users who can make pods in a namespace can have any program read and change its states: labels protect no more.
func (c *Callers) Identify(r *http.Request) (serve.Caller, error) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer || token == "" || len(token) > maxToken {
		return serve.Caller{}, forbidden("the request has no bearer token, or it is too long")
	}
	sum := sha256.Sum256([]byte(token))
	if known, ok := c.known.Get(sum); ok {
		return known.(serve.Caller), nil //nolint:forcetypeassert // nothing else is put there
	}
	if before, known := c.refused.Get(sum); known {
		return serve.Caller{}, before.(error) //nolint:forcetypeassert // nothing else is put there
	}
	if !c.admits(r.RemoteAddr) {
		return serve.Caller{}, fmt.Errorf("cannot find out who calls: %w", errFlood)
	}
	p, err := c.review(r.Context(), token)
	var caller serve.Caller
	if err == nil {
		caller, err = c.caller(r.Context(), p)
	}
	switch {
	case err == nil:
		c.known.Add(sum, caller, knownFor)
	case errors.Is(err, serve.ErrForbidden):
		c.refused.Add(sum, err, refusedFor)
	}
	return caller, err
}

// errFlood is the error where too many tokens come from one address.
var errFlood = errors.New("too many tokens come from this address at once")

// admits reports whether the API server may be asked about a token of an address (TRUST.md U3): strangers at other addresses
// do not delay it.
func (c *Callers) admits(address string) bool {
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	c.admitting.Lock()
	defer c.admitting.Unlock()
	limit := flowcontrol.NewTokenBucketRateLimiter(reviewRate, reviewBurst)
	if known, ok := c.addresses.Get(address); ok {
		limit = known.(flowcontrol.RateLimiter) //nolint:forcetypeassert // nothing else is put there
	}
	c.addresses.Add(address, limit, idleAddress)
	return limit.TryAccept()
}

// bearer is the pod that a token names.
type bearer struct {
	client.ObjectKey

	uid string
}

// review has the API server review a token.
func (c *Callers) review(ctx context.Context, token string) (bearer, error) {
	review := &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{v1alpha1.Audience}},
	}
	if err := c.writer.Create(ctx, review); err != nil {
		return bearer{}, fmt.Errorf("cannot review a token: %w", err)
	}
	status := review.Status
	if !status.Authenticated || !slices.Contains(status.Audiences, v1alpha1.Audience) {
		return bearer{}, forbidden(cmp.Or(status.Error, "it is not for audience "+v1alpha1.Audience))
	}
	account, is := strings.CutPrefix(status.User.Username, "system:serviceaccount:")
	namespace, _, found := strings.Cut(account, ":")
	p := bearer{client.ObjectKey{Namespace: namespace, Name: extra(status.User, "pod-name")}, extra(status.User, "pod-uid")}
	if !is || !found || p.Name == "" || p.uid == "" {
		return bearer{}, forbidden("it is bound to no pod")
	}
	return p, nil
}

// extra returns the only value of a claim; "" for none.
func extra(user authenticationv1.UserInfo, key string) string {
	if values := user.Extra["authentication.kubernetes.io/"+key]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// caller returns the keeper of a pod.
func (c *Callers) caller(ctx context.Context, at bearer) (serve.Caller, error) {
	var p corev1.Pod
	if err := c.get(ctx, at.ObjectKey, &p); err != nil {
		return serve.Caller{}, err
	}
	if string(p.UID) != at.uid {
		return serve.Caller{}, forbidden("its pod has gone, and another one has its name")
	}
	r, err := c.run(ctx, client.ObjectKey{Namespace: at.Namespace, Name: p.Labels[v1alpha1.LabelRun]}, p.Labels[v1alpha1.LabelRunUID])
	if err != nil {
		return serve.Caller{}, err
	}
	w, err := c.workspace(ctx, r)
	if err != nil {
		return serve.Caller{}, err
	}
	return serve.Caller{
		Workspace: string(w.UID), Run: convert.ToRun(r), Claimant: workspace.Claimant{ID: at.uid, Where: p.Spec.NodeName},
	}, nil
}

// run returns a JobRun, from the cache if that has the one with the UID.
func (c *Callers) run(ctx context.Context, key client.ObjectKey, uid string) (*v1alpha1.JobRun, error) {
	r := &v1alpha1.JobRun{}
	if err := c.objects.Cache.Get(ctx, key, r); err == nil && string(r.UID) == uid {
		return r, nil
	}
	r = &v1alpha1.JobRun{}
	if err := c.get(ctx, key, r); err != nil {
		return nil, err
	}
	if string(r.UID) != uid {
		return nil, forbidden("its JobRun has gone, and another one has its name")
	}
	return r, nil
}

// workspace returns the JobWorkspace of a JobRun, from the cache if that has the one that owns it.
func (c *Callers) workspace(ctx context.Context, r *v1alpha1.JobRun) (*v1alpha1.JobWorkspace, error) {
	key, w := client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.Workspace}, &v1alpha1.JobWorkspace{}
	if err := c.objects.Cache.Get(ctx, key, w); err == nil && w.UID == convert.OwnerOf(r).UID {
		return w, nil
	}
	w = &v1alpha1.JobWorkspace{}
	return w, c.get(ctx, key, w)
}

// get reads an object from the API server itself; that it is not there makes a token useless.
func (c *Callers) get(ctx context.Context, key client.ObjectKey, into client.Object) error {
	if key.Name == "" {
		return forbidden("its pod is not that of a run: label " + v1alpha1.LabelRun + " is missing")
	}
	err := c.objects.Live.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		return forbidden(err.Error())
	}
	if err != nil {
		return fmt.Errorf("cannot find out who calls: %w", err)
	}
	return nil
}

func forbidden(why string) error {
	return fmt.Errorf("cannot find out who calls: %w: %s", serve.ErrForbidden, why)
}
