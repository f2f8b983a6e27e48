package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/archive/state"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobsapi"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/contract"
)

// keeping is a keeper, and how it calls the jobs API.
type keeping struct {
	*keeper.Keeper

	client *jobsapi.Client
	// trust is the file of the certificates that the jobs API is trusted by.
	trust string
}

// runKeeper keeps the state of a run and returns 0 if its end is recorded.
func runKeeper(ctx context.Context, args []string, out io.Writer) (int, error) {
	k, err := parseKeeper(args, out)
	if err != nil {
		return misused(err)
	}
	transport, err := trusting(k.trust)
	if err != nil {
		return contract.Misused, err
	}
	k.client.HTTP = &http.Client{Transport: transport}
	terminated, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	k.Terminate = terminated.Done()
	switch err := k.Run(ctx); {
	case errors.Is(err, keeper.ErrConflict):
		return contract.Refused, err
	case err != nil:
		return contract.Unrecorded, err
	}
	return contract.Success, nil
}

// parseKeeper returns the keeper of a command line.
func parseKeeper(args []string, out io.Writer) (*keeping, error) {
	flags := flagsOf("keeper", "", out)
	k := &keeping{Keeper: &keeper.Keeper{Clock: keeper.BootTime}, client: &jobsapi.Client{Clock: keeper.BootTime}}
	defineRun(flags, k.Keeper, k.client, &k.trust)
	defineState(flags, k.Keeper)
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if err := required(flags, "run", "place", "address"); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	k.client.Run = k.Claimant.Run
	k.Ledger, k.Blobs, k.Content, k.Chunks = k.client, k.client, k.client, k.client
	if k.Settings.Stored != "" {
		k.Secrets = jobsapi.Tokens{Client: k.client}
	}
	return k, nil
}

// defineRun defines the flags of the run and of the jobs API.
func defineRun(flags *flag.FlagSet, k *keeper.Keeper, c *jobsapi.Client, trust *string) {
	flags.StringVar(&k.Claimant.Run, "run", "", "`UID` of the Run")
	flags.IntVar(&k.Claimant.Attempt, "attempt", 1, "`number` of the attempt")
	flags.StringVar(&k.Claimant.Place, "place", "", "`UID` of the pod, or name of the node")
	flags.StringVar(&c.Address, "address", "", "`URL` of the jobs API")
	flags.StringVar(trust, "trust", "", "`file` of the certificates that the jobs API is trusted by; those of the system by default")
	flags.StringVar(&c.TokenFile, "token", "/orcon/identity/token", "`file` of the run's token, read for each call")
	flags.DurationVar(&c.Timeout, "timeout", 30*time.Second, "`time` that a call without content may take")
	flags.DurationVar(&k.Settings.Renew, "renew", 10*time.Second, "`time` between renewals")
	flags.DurationVar(&k.Settings.Retry, "retry", 10*time.Second, "longest `time` before a call is repeated that failed")
	flags.DurationVar(&k.Settings.Drain, "drain", 30*time.Second, "`time` that an ended run may take for the rest of its output")
}

// defineState defines the flags of the folders and the state.
func defineState(flags *flag.FlagSet, k *keeper.Keeper) {
	k.Exchange = "/orcon/exchange"
	flags.Func("exchange", "`folder` that keeper and shim share (default /orcon/exchange)", func(text string) error {
		k.Exchange = exchange.Folder(text)
		return nil
	})
	flags.StringVar(&k.Settings.State, "state", contract.State, "`folder` of the state")
	flags.StringVar(&k.Settings.Logs, "logs", contract.Logs, "`folder` of the template's log files")
	flags.StringVar(&k.Settings.Work, "work", contract.Work, "working `folder` of the template, for content that is copied there")
	flags.StringVar(&k.Settings.Secrets, "secrets", contract.Secrets, "`folder` of the template's secrets, which no log may have")
	flags.StringVar(&k.Settings.Stored, "stored", "", "`folder` of secrets that the pod has; others are fetched (default: it has all)")
	flags.StringVar(&k.Settings.Scratch, "scratch", "/orcon/scratch", "`folder` of the keeper's own")
	flags.Int64Var(&k.Settings.Limit, "limit", 64<<20, "`bytes` that the state may have as an archive")
	flags.DurationVar(&k.Settings.Checkpoint, "checkpoint", 30*time.Second, "`time` between checkpoints")
	flags.StringVar(&k.Settings.Backend, "backend", "", "`address` on loopback where Terraform's state is served; none by default")
	var patterns []string
	flags.Func("exclude", "`pattern` of files to leave out of the state; may be repeated", func(text string) (err error) {
		patterns = append(patterns, text)
		k.Settings.Exclude, err = state.ParseExclude(patterns)
		return err
	})
}

// The times after which a connection is given up that carries nothing, as where the node of its controller has lost its power.
// Several connections are tried before a run counts as lost.
const (
	pingAfter  = 10 * time.Second
	pingAnswer = 10 * time.Second
	dial       = 5 * time.Second
)

// trusting returns a transport that trusts the certificates of a file, which each connection reads anew: an authority may
// be replaced while a run goes on. "" is for those of the system.
func trusting(file string) (*http.Transport, error) {
	t := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, ResponseHeaderTimeout: 5 * time.Minute,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13},
		HTTP2:           &http.HTTP2Config{SendPingTimeout: pingAfter, PingTimeout: pingAnswer},
		DialContext:     (&net.Dialer{Timeout: dial}).DialContext,
	}
	if file == "" {
		return t, nil
	}
	var err error
	if t.TLSClientConfig.RootCAs, err = trusted(file); err != nil { // a proxy's connections keep these
		return nil, err
	}
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		roots, err := trusted(file)
		if err != nil {
			return nil, err
		}
		d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dial}, Config: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}}}
		return d.DialContext(ctx, network, address)
	}
	return t, nil
}

// trusted reads certificates.
func trusted(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return nil, fmt.Errorf("cannot read the trusted certificates: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("cannot read the trusted certificates: %s has none: it must be PEM", file)
	}
	return roots, nil
}
