package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/golang/glog"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/sealed"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/nodes"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
)

// remote are the flags of RunNodes.
type remote struct {
	// nodeAddress is the URL by which RunNodes reach nodePort; "" serves none.
	nodeAddress string
	nodePort    int
}

// define adds the flags.
func (r *remote) define(flags *flag.FlagSet) {
	flags.StringVar(&r.nodeAddress, "nodeAddress", "",
		"URL by which RunNodes, which are outside of the cluster, reach -nodePort: https://HOST:PORT; unset serves none")
	flags.IntVar(&r.nodePort, "nodePort", 9443, "port of the API of RunNodes")
}

// check returns what is wrong with the flags.
func (r *remote) check() error {
	u, err := url.Parse(r.nodeAddress)
	if r.nodeAddress != "" && (err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Path != "") {
		return fmt.Errorf("-nodeAddress %q is not usable: write https://HOST:PORT", r.nodeAddress)
	}
	return nil
}

// host returns the name by which RunNodes reach the controller.
func (r *remote) host() string {
	u, err := url.Parse(r.nodeAddress)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// offered has the cache hold the Leases that are offers, and no other one.
func offered(namespace string) (map[client.Object]cache.ByObject, error) {
	of, err := labels.NewRequirement(v1alpha1.LabelNode, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot select offers: %w", err)
	}
	which := cache.Config{LabelSelector: labels.NewSelector().Add(*of)}
	return map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{namespace: which}}}, nil
}

// newNodes returns the server of RunNodes.
func (c *controller) newNodes(to *recipient) *node.Server {
	cached, live, writer := c.manager.GetCache(), c.manager.GetAPIReader(), c.manager.GetClient()
	return &node.Server{
		Nodes:   nodes.Nodes{Cache: cached, Live: live, Writer: writer, Clock: time.Now},
		Offers:  nodes.Offers{Cache: cached, Live: live, Writer: writer, Namespace: c.namespace},
		Runs:    nodes.OfferedRuns{Live: live},
		Address: c.nodeAddress, Recipient: to.key,
		Clock: time.Now,
		Authority: &node.Authority{
			Keys: nodes.AuthoritySecret{Live: live, Writer: writer, Namespace: c.namespace}, Host: c.host(), Clock: time.Now,
		},
	}
}

// tokens makes tokens in the words of the people's API.
type tokens struct{ *node.Server }

// Mint implements people.Tokens.
func (t tokens) Mint(ctx context.Context, name string) (string, error) {
	word, err := t.Server.Mint(ctx, name)
	if errors.Is(err, node.ErrNone) {
		err = fmt.Errorf("%w: %w", people.ErrNotFound, err)
	}
	return word, err
}

const (
	// watchEvery is how often RunNodes are looked at.
	watchEvery = 2 * time.Second
	// maxHead is how large the head of a request may be, in bytes.
	maxHead = 16 << 10
)

// addNodes adds what serves RunNodes, if there is an address for them.
func (c *controller) addNodes(ctx context.Context) error {
	if c.nodeAddress == "" {
		return nil
	}
	keys := nodes.AuthoritySecret{Live: c.manager.GetAPIReader(), Writer: c.manager.GetClient(), Namespace: c.namespace}
	err := keys.Make(ctx, func() (certificate, key []byte, err error) { return node.NewKeys(time.Now()) })
	if err != nil {
		return fmt.Errorf("cannot serve RunNodes: %w", err)
	}
	if err := c.recipient.learn(ctx); err != nil {
		glog.Warningf("nodes keep what waits for the controller in plain: %v", err)
	}
	survey := node.Survey{Nodes: c.nodes.Nodes, Offers: c.nodes.Offers, Clock: time.Now}
	path, handler := c.nodes.Handler()
	mux := http.NewServeMux()
	mux.Handle(path, handler)
	mux.Handle(runner.Path, node.Envelopes{Server: c.nodes, Seals: c.blobs, Next: c.keepers(node.Callers{Server: c.nodes}).Handler()})
	return errors.Join(c.manager.Add(every(watchEvery, survey.Look)), c.manager.Add(c.recipient),
		c.manager.Add(&api{http.Server{
			Addr: fmt.Sprintf(":%d", c.nodePort), Handler: mux,
			ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHead, ConnState: limited(maxConnections),
			// Agents that join have no certificate; those of others are verified for each call.
			TLSConfig: &tls.Config{
				MinVersion: tls.VersionTLS13, GetCertificate: c.nodes.Authority.GetCertificate, ClientAuth: tls.RequestClientCert,
			},
		}}))
}

// recipient is the public key to which agents encrypt what they keep for the controller.
type recipient struct {
	store *sealed.Store
	last  atomic.Pointer[string]
}

// key returns the public key; "" for none.
func (r *recipient) key() string {
	if key := r.last.Load(); key != nil {
		return *key
	}
	return ""
}

// NeedLeaderElection is false: each replica serves nodes.
func (r *recipient) NeedLeaderElection() bool { return false }

// Start reads the public key again and again: it may be replaced at any time.
func (r *recipient) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if err := r.learn(ctx); err != nil {
			glog.Warningf("nodes do not get another key to encrypt to: %v", err)
		}
	}, time.Minute)
	return nil
}

// learn reads the public key.
func (r *recipient) learn(ctx context.Context) error {
	key, err := r.store.Recipient(ctx)
	if err == nil {
		r.last.Store(&key)
	}
	return err
}

// keepers returns the jobs API for callers.
func (c *controller) keepers(callers serve.Callers) *serve.API {
	workspaces, runs := c.stored()
	limits := serve.DefaultLimits()
	limits.Folder = c.received
	return &serve.API{
		Workspaces: workspaces, Runs: runs, Renewals: c.renewals, Callers: callers, Store: c.blobs, Limits: limits, Clock: time.Now,
		Secrets: newSecrets(c.manager, c.nodes),
	}
}

// newSecrets returns the secrets of runs.
func newSecrets(m manager.Manager, nodes *node.Server) jobs.RunSecrets {
	return jobs.RunSecrets{Live: m.GetAPIReader(), Tokens: jobs.JoinTokens{Reviews: m.GetClient(), Minter: node.Minter{Server: nodes}}}
}
