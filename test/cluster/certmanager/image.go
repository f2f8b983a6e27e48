package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/cert-manager/cert-manager/internal/webhook"
	"github.com/cert-manager/cert-manager/pkg/util/cmapichecker"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// images maps the names of cert-manager's images to what their containers run: with the arguments of its chart, in a
// cluster.
func images() map[string]func(ctx context.Context, args []string) error {
	return map[string]func(ctx context.Context, args []string) error{
		"controller": runController, "cainjector": runInjector, "webhook": runWebhook, "startupapicheck": checkAPI,
	}
}

// known parses the flags of a set, and ignores others.
func known(flags *pflag.FlagSet, args []string) error {
	flags.ParseErrorsAllowlist.UnknownFlags = true
	return flags.Parse(args)
}

// runController runs the controllers, and answers the chart's liveness probe.
func runController(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("controller", pflag.ContinueOnError)
	namespace := flags.String("cluster-resource-namespace", "", "namespace of the Secrets of ClusterIssuers")
	if err := known(flags, args); err != nil {
		return err
	}
	live := http.NewServeMux()
	live.HandleFunc("/livez", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: ":9403", Handler: live, ReadHeaderTimeout: time.Second}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return runControllers(ctx, "", *namespace, func() {}) })
	group.Go(server.ListenAndServe)
	group.Go(func() error { <-ctx.Done(); return server.Close() })
	return group.Wait()
}

// runInjector runs the CA injector.
func runInjector(ctx context.Context, _ []string) error {
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	injector, err := newInjector(ctx, config)
	if err != nil {
		return err
	}
	return injector.Start(ctx)
}

// runWebhook runs the webhook server.
func runWebhook(ctx context.Context, args []string) error {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return err
	}
	flags := pflag.NewFlagSet("webhook", pflag.ContinueOnError)
	options.AddConfigFlags(flags, config)
	if err := known(flags, args); err != nil {
		return err
	}
	server, err := webhook.NewCertManagerWebhookServer(klog.Background(), *config)
	if err != nil {
		return err
	}
	return server.Run(ctx)
}

// checkAPI waits until both webhooks answer.
func checkAPI(ctx context.Context, args []string) error {
	flags := pflag.NewFlagSet("startupapicheck", pflag.ContinueOnError)
	patience := flags.Duration("wait", 0, "how long it may take")
	if err := known(flags, args); err != nil {
		return err
	}
	config, err := rest.InClusterConfig()
	if err != nil {
		return err
	}
	checker, err := cmapichecker.New(config, os.Getenv("POD_NAMESPACE"))
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, time.Second, *patience, true, func(ctx context.Context) (bool, error) {
		if err := checker.Check(ctx); err != nil {
			fmt.Println("not ready:", err)
			return false, nil
		}
		fmt.Println("The cert-manager API is ready")
		return true, nil
	})
}
