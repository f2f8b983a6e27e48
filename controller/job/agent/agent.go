package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"github.com/golang/glog"
	"google.golang.org/protobuf/proto"

	wire "gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/node/v1alpha1/nodev1alpha1connect"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/conformance"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/node"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/retry"
)

// Agent carries out what is offered to a node.
type Agent struct {
	Connection *Connection
	Executor   executor.Executor
	Clock      func() time.Time
	// Proof returns what this machine has found of the runner contract; the zero value for nothing.
	Proof func() conformance.Proof
	// Longest is the longest pause before a call is repeated that failed.
	Longest time.Duration

	// attempts are those of the last answer, revision is its own, and standing what the node was then.
	attempts []*wire.Attempt
	revision string
	standing string
	// renewals picks the failed renewals that are logged.
	renewals retry.Log
}

// client returns a client of the node API.
func (a *Agent) client() nodev1alpha1connect.NodeServiceClient {
	return nodev1alpha1connect.NewNodeServiceClient(&http.Client{Transport: a.Connection}, a.Connection.Identity().Address)
}

// Join joins by an invitation, unless the identity has a certificate. It is repeated until it succeeds, is refused, or the
// context ends.
func Join(ctx context.Context, c *Connection, i *Identity, by node.Invitation, longest time.Duration) error {
	if i.Joined() {
		return c.Use(i)
	}
	if err := c.Use(i, by.Authorities...); err != nil {
		return err
	}
	request, err := i.request()
	if err != nil {
		return err
	}
	client := nodev1alpha1connect.NewNodeServiceClient(&http.Client{Transport: c}, i.Address)
	retries := Retries{Longest: longest}
	for {
		answer, err := client.Join(ctx, connect.NewRequest(&wire.JoinRequest{Node: i.Node, Token: by.Secret, Request: request}))
		switch {
		case err == nil:
			next, err := i.with(answer.Msg.GetCertificate())
			if err != nil {
				return err
			}
			return c.Use(next)
		case Refused(err) || ctx.Err() != nil:
			return fmt.Errorf("cannot join as RunNode %s: %w", i.Node, err)
		}
		retries.Wait(ctx, fmt.Errorf("cannot join as RunNode %s: %w", i.Node, err))
	}
}

// Refused reports whether an error is a refusal of the controller, rather than one of the way to it.
func Refused(err error) bool { return connect.CodeOf(err) == connect.CodePermissionDenied }

// Run calls the controller until the context ends.
func (a *Agent) Run(ctx context.Context) error {
	retries := Retries{Longest: a.Longest}
	for ctx.Err() == nil {
		err := a.renew(ctx)
		if err == nil {
			err = a.sync(ctx)
		}
		if err == nil || ctx.Err() != nil {
			retries = Retries{Longest: a.Longest}
			continue
		}
		retries.Wait(ctx, err)
	}
	return nil
}

// renew renews the certificate when a third of its time is left, or when it has ended.
func (a *Agent) renew(ctx context.Context) error {
	i := a.Connection.Identity()
	end, err := ends(i.Certificate)
	if err != nil || node.RenewIn(end, a.Clock()) > 0 {
		return err
	}
	request, err := i.request()
	if err != nil {
		return err
	}
	answer, err := a.client().Renew(ctx, connect.NewRequest(&wire.RenewRequest{Request: request}))
	if err != nil {
		err = fmt.Errorf("cannot renew the certificate of RunNode %s, which ends at %s: %w", i.Node, end.UTC().Format(time.RFC3339), err)
		if a.Clock().Before(end) {
			a.warn(err) // it is still good
			return nil
		}
		return err
	}
	next, err := i.with(answer.Msg.GetCertificate())
	if err != nil {
		return err
	}
	glog.Infof("the certificate of RunNode %s is renewed", i.Node)
	return a.Connection.Use(next)
}

// warn logs why the certificate cannot be renewed, unless that was logged within a minute.
func (a *Agent) warn(err error) {
	var logged bool
	if a.renewals, logged = a.renewals.Failed(err.Error(), a.Clock()); logged {
		glog.Warning(err)
	}
}

// look is how often the attempts are looked at while a call waits.
const look = 250 * time.Millisecond

// sync calls once. A call that waits is ended when there is something to report.
func (a *Agent) sync(ctx context.Context) error {
	news, err := a.news(ctx, a.attempts)
	if err != nil {
		return err
	}
	request := proto.CloneOf(news)
	request.Revision = a.revision
	waiting, end := context.WithCancel(ctx)
	defer end()
	go a.interrupt(waiting, a.attempts, news, end)
	answer, err := a.client().Sync(waiting, connect.NewRequest(request))
	if err != nil && waiting.Err() != nil {
		return nil // there is something to report
	}
	if err != nil {
		a.revision = ""
		return fmt.Errorf("cannot call the controller: %w", err)
	}
	return a.receive(ctx, answer.Msg)
}

// news returns what is to be reported about this machine and the attempts of the last answer.
func (a *Agent) news(ctx context.Context, attempts []*wire.Attempt) (*wire.SyncRequest, error) {
	news := &wire.SyncRequest{Contract: run.Contract, Reports: a.reports(ctx, attempts)}
	found := a.Proof()
	if found.Subject == "" {
		news.Untested = found.Obstacle
		return news, nil
	}
	report, err := json.Marshal(found.Report)
	if err != nil {
		return nil, fmt.Errorf("cannot report what this machine has proved: %w", err)
	}
	news.Proof = &wire.Proof{Subject: found.Subject, Report: report}
	return news, nil
}

// interrupt ends a call when there is other news than it has sent.
func (a *Agent) interrupt(ctx context.Context, attempts []*wire.Attempt, sent *wire.SyncRequest, end context.CancelFunc) {
	ticks := time.NewTicker(look)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		if now, err := a.news(ctx, attempts); err == nil && !proto.Equal(now, sent) {
			end()
			return
		}
	}
}

// receive does what an answer requests.
func (a *Agent) receive(ctx context.Context, m *wire.SyncResponse) error {
	if m.GetStanding() != a.standing {
		a.standing = m.GetStanding()
		glog.Infof("RunNode %s is %s", a.Connection.Identity().Node, a.standing)
	}
	i := a.Connection.Identity()
	next, err := i.trusting(m)
	if err == nil && next != i {
		err = a.Connection.Use(next)
	}
	if err != nil {
		return err
	}
	var failed []error
	for _, one := range m.GetAttempts() {
		failed = append(failed, a.carry(ctx, one))
	}
	a.attempts, a.revision = m.GetAttempts(), ""
	if err := errors.Join(failed...); err != nil {
		return err // what failed is tried again, by the next answer
	}
	a.revision = m.GetRevision()
	return nil
}
