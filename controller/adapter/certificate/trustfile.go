package certificate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
)

// ErrNoTrust says that a file holds no certificate to trust.
var ErrNoTrust = errors.New("no certificate to trust")

// TrustFileOptions say what a [TrustFile] works on.
type TrustFileOptions struct {
	// Client writes; its rate limit should be none.
	Client kubernetes.Interface
	// Namespace is Orcon's.
	Namespace string
	// Namespaces are those that opted in.
	Namespaces Namespaces
	// File holds the bundle, PEM.
	File string
}

// TrustFile publishes a bundle from a file that another program maintains. It runs in the elected leader only.
type TrustFile struct {
	publisher *publisher
	file      string
	loop      *loop
}

// NewTrustFile returns a publisher that has not begun. It fails with
// ErrNoTrust, or because the file cannot be read.
func NewTrustFile(o TrustFileOptions) (*TrustFile, error) {
	t := &TrustFile{
		publisher: newPublisher(o.Client, o.Namespace, "", o.Namespaces),
		file:      o.File,
		loop:      newLoop("trust publisher"),
	}
	if _, err := t.read(); err != nil {
		return nil, err
	}
	o.Namespaces.Notify(t.loop.nudge)
	return t, nil
}

// read returns the certificates in the file, and nothing else of it.
func (t *TrustFile) read() ([]byte, error) {
	text, err := os.ReadFile(t.file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the trusted authorities: %w", err)
	}
	bundle := Bundle(ParseBundle(text)...)
	if len(bundle) == 0 {
		return nil, fmt.Errorf("cannot publish %s: %w", t.file, ErrNoTrust)
	}
	return bundle, nil
}

// NeedLeaderElection says that only the elected leader publishes.
func (t *TrustFile) NeedLeaderElection() bool { return true }

// Start publishes until ctx ends. It can be called once.
func (t *TrustFile) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	followed := make(chan error, 1)
	go func() {
		defer cancel()
		followed <- follow(ctx, []string{t.file}, t.loop.nudge)
	}()
	err := t.loop.run(ctx, t.publisher.watches(), t.pass)
	cancel()
	return errors.Join(err, <-followed)
}

// pass publishes what the file says now. A file that is not good leaves what
// was published.
func (t *TrustFile) pass(ctx context.Context) (time.Duration, error) {
	bundle, err := t.read()
	if err != nil {
		return 0, err
	}
	places, err := t.publisher.places()
	if err != nil {
		return 0, err
	}
	return lookAgain, t.publisher.publish(ctx, places, bundle)
}
