// Program certmanager runs cert-manager's own controllers, from its Go module,
// on a cluster of a test: self-signed and CA issuers, Certificates, and the CA
// injector for webhook configurations. It has no webhook of its own and no
// leader election; a test runs one.
//
//	certmanager --kubeconfig FILE [--install-crds]
//	certmanager controller|cainjector|webhook|startupapicheck ARG...
//
// It ends when standard input ends or at SIGINT or SIGTERM, and prints one
// line, "ready", once its caches are filled. With the name of an image of
// cert-manager it runs in its place, in a cluster, with the arguments of its chart.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/cert-manager/cert-manager/pkg/logs"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	if len(os.Args) > 1 {
		if run := images()[os.Args[1]]; run != nil {
			end(deployed(run))
			return
		}
	}
	// A set of its own: controller-runtime has a flag of this name in the common one.
	flags := flag.NewFlagSet("certmanager", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", os.Getenv("KUBECONFIG"), "the cluster's kubeconfig")
	install := flags.Bool("install-crds", false, "install or update cert-manager's CRDs first")
	follow := flags.Bool("follow-stdin", true, "end when standard input ends")
	_ = flags.Parse(os.Args[1:])
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if *follow {
		go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	}
	logs.InitLogs()
	end(run(ctx, *kubeconfig, *install))
}

// deployed runs what an image of cert-manager runs.
func deployed(run func(ctx context.Context, args []string) error) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	logs.InitLogs()
	return run(ctx, os.Args[2:])
}

// end writes the logs, and exits with an error if there is one.
func end(err error) {
	logs.FlushLogs()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run runs everything until ctx ends.
func run(ctx context.Context, kubeconfig string, install bool) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot use kubeconfig %q: %w", kubeconfig, err)
	}
	config.QPS = -1
	if install {
		if err := installCRDs(ctx, config); err != nil {
			return err
		}
	}
	injector, err := newInjector(ctx, config)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return injector.Start(ctx) })
	group.Go(func() error {
		return runControllers(ctx, kubeconfig, "cert-manager", func() {
			if injector.GetCache().WaitForCacheSync(ctx) {
				fmt.Println("ready")
			}
		})
	})
	return group.Wait()
}
