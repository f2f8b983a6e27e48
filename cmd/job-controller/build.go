package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/networks"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/build"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/supply"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/destination"
)

// addBuilder adds what keeps JobTemplates that are built.
func (c *controller) addBuilder() error {
	contents, err := supply.Isolate(c.contents)
	if err != nil {
		return err
	}
	contents.Destinations = func(ctx context.Context) (destination.Rules, error) {
		all, err := networks.Read(ctx, c.manager.GetAPIReader())
		return destination.Rules{Cluster: all}, err
	}
	r := &build.Reconciler{
		Client: c.manager.GetClient(), Now: time.Now,
		Workshop: build.Registry{
			Contents: contents, Store: c.blobs, Prefix: c.registry,
			Credentials: func() (bundle.Credentials, error) { return readCredentials(c.credentials) },
		},
	}
	return r.SetupWithManager(c.manager)
}

// readCredentials reads the files of a folder; "" is none.
func readCredentials(folder string) (bundle.Credentials, error) {
	if folder == "" {
		return bundle.Credentials{}, nil
	}
	data := map[string]string{}
	for _, name := range []string{"username", "password", "token", "ca.crt"} {
		text, err := os.ReadFile(filepath.Join(folder, name)) //nolint:gosec // the administrator names it
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return bundle.Credentials{}, fmt.Errorf("cannot read the credentials: %w", err)
		}
		data[name] = string(text)
	}
	return bundle.ParseCredentials(data)
}
