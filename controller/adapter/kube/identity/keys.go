package identity

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang/glog"
	"k8s.io/client-go/rest"
)

const (
	// fetchEvery is the shortest time between two fetches of the published keys.
	fetchEvery = 10 * time.Second
	// fetchWithin bounds one fetch.
	fetchWithin = 5 * time.Second
)

// published holds the issuer and the keys that the API server publishes.
type published struct {
	Issuer string `json:"issuer"`

	keys jose.JSONWebKeySet
}

// keys are the published keys of the API server. They are fetched when a token names one that is not known.
type keys struct {
	client rest.Interface
	now    func() time.Time

	known   atomic.Pointer[published]
	mu      sync.Mutex // serializes fetches
	fetched time.Time
}

// having returns what is published, fetched anew if that may add a key with that ID; nil if nothing was ever fetched.
func (k *keys) having(ctx context.Context, id string) *published {
	if p := k.known.Load(); p.key(id) != nil {
		return p
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.known.Load(); p.key(id) != nil || k.now().Sub(k.fetched) < fetchEvery {
		return p
	}
	k.fetched = k.now()
	if p, err := k.fetch(ctx); err == nil {
		k.known.Store(p)
	} else {
		glog.Warningf("cannot check tokens before their review: %v", err)
	}
	return k.known.Load()
}

// key returns the key with that ID; nil if it is not among them.
func (p *published) key(id string) *jose.JSONWebKey {
	if p == nil {
		return nil
	}
	if found := p.keys.Key(id); len(found) > 0 {
		return &found[0]
	}
	return nil
}

// fetch fetches what the API server publishes. A caller that gives up does not end it: others wait for it too.
func (k *keys) fetch(ctx context.Context) (*published, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), fetchWithin)
	defer stop()
	var p published
	if err := k.read(ctx, "/.well-known/openid-configuration", &p); err != nil {
		return nil, err
	}
	return &p, k.read(ctx, "/openid/v1/jwks", &p.keys)
}

func (k *keys) read(ctx context.Context, path string, into any) error {
	text, err := k.client.Get().AbsPath(path).DoRaw(ctx)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", path, err)
	}
	return nil
}
