package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/golang/glog"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/fleet"
	webhook "gitlab.ilabt.imec.be/tengu/orcon/webhook/fleet"
)

// addWebhook serves the webhooks of IntegrationSets on every replica; port 0 serves none.
func addWebhook(m manager.Manager, port int, connect func(account, owner string) (fleet.Inputs, error)) error {
	if port == 0 {
		return nil
	}
	sets := &fleet.Waker{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Connect: connect, Now: time.Now,
		Failed: func(set types.NamespacedName, err error) { glog.Errorf("cannot wake IntegrationSet %s: %v", set, err) },
	}
	return m.Add(&manager.Server{Name: "webhook", Server: &http.Server{
		Addr: fmt.Sprintf(":%d", port), Handler: webhook.New(sets, webhook.Delay),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 64 << 10,
	}})
}
