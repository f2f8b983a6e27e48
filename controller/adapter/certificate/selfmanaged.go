package certificate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	servertls "github.com/cert-manager/cert-manager/pkg/server/tls"
	"github.com/go-logr/glogr"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// ErrNoNames says that a server has no DNS name to be certified.
var ErrNoNames = errors.New("no DNS names")

// Source gives a server its certificate.
type Source interface {
	// GetCertificate is for tls.Config.
	GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error)
	// Start keeps the certificate up to date until ctx ends.
	Start(ctx context.Context) error
	// NeedLeaderElection is false: each replica has a certificate.
	NeedLeaderElection() bool
}

// Configure returns what makes a TLS server use a source. It fits
// controller-runtime's TLSOpts.
func Configure(s Source) func(*tls.Config) {
	return func(c *tls.Config) {
		c.GetCertificate = s.GetCertificate
		c.MinVersion = max(c.MinVersion, tls.VersionTLS12)
	}
}

// SelfManagedOptions say how a replica certifies itself.
type SelfManagedOptions struct {
	// Client reads Secret orcon-ca.
	Client kubernetes.Interface
	// Namespace is Orcon's.
	Namespace string
	// DNSNames are the server's; at least one.
	DNSNames []string
	// Periods are the lifetimes, the same as the rotator's. Unset:
	// DefaultPeriods.
	Periods Periods
	// Now is the clock. Unset: time.Now.
	Now func() time.Time
}

// SelfManaged is a Source that signs the leaf of one replica in memory with
// Orcon's own authority.
type SelfManaged struct {
	source *servertls.DynamicSource
}

var _ Source = (*SelfManaged)(nil)

// NewSelfManaged returns a source that has no certificate until it is started
// and Secret orcon-ca exists. It fails with ErrPeriods or ErrNoNames.
func NewSelfManaged(o SelfManagedOptions) (*SelfManaged, error) {
	periods, err := orDefault(o.Periods)
	if err != nil {
		return nil, err
	}
	if len(o.DNSNames) == 0 {
		return nil, fmt.Errorf("cannot certify a server: %w", ErrNoNames)
	}
	return &SelfManaged{source: &servertls.DynamicSource{
		DNSNames: o.DNSNames,
		Authority: &authority{
			client:    o.Client,
			namespace: o.Namespace,
			periods:   periods,
			now:       orRealTime(o.Now),
			secret:    newWatch(o.Client, o.Namespace, SecretName, secretKind),
		},
	}}, nil
}

// GetCertificate returns the present leaf, or an error while there is none.
func (s *SelfManaged) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return s.source.GetCertificate(hello)
}

// NeedLeaderElection is false: each replica signs its own.
func (s *SelfManaged) NeedLeaderElection() bool { return false }

// Start signs, and signs anew in time, until ctx ends. It can be called once.
func (s *SelfManaged) Start(ctx context.Context) error {
	return s.source.Start(log.IntoContext(ctx, glogr.New().WithName("certificate")))
}

// ServiceNames returns the DNS names under which a Service is reached, the
// one to verify first.
func ServiceNames(service, namespace string) []string {
	name := service + "." + namespace + ".svc"
	return []string{name, name + ".cluster.local", service + "." + namespace, service}
}
