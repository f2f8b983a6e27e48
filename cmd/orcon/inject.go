package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// injectOptions are the flags of inject: the settings of an installation's webhook.
type injectOptions struct {
	file, config, trust    string
	namespace, image, ipOf string
}

func newInject() *cobra.Command {
	var o injectOptions
	c := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Show how the webhook changes manifests, without a cluster",
		Long: `inject prints manifests as the webhook would change them in a namespace that has opted in: it adds
the agent, its volumes and variables to pods and to the pod templates of workloads. Other documents
are printed as they were written. Warnings go to standard error. Services of the same file may
declare endpoints for the pods that they select.

It uses no cluster; flags give the settings of an installation. It knows only the built-in
interfaces, and warns of versions that they lack, although a cluster may have them.

Exit codes: 0 printed, 1 the webhook would refuse an object, 2 the command failed.`,
		Example: `  orcon inject -f deployment.yaml
  kubectl get deployment web -o yaml | orcon inject -f - --config tenguconfig.yaml
  orcon inject -f deployment.yaml | diff deployment.yaml -`,
		Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	fileFlag(c, &o.file)
	c.Flags().StringVar(&o.config, "config", "", "tenguconfig.yaml (default: the built-in settings)")
	c.Flags().StringVar(&o.namespace, "orcon-namespace", "orcon-system", "Orcon's own namespace")
	c.Flags().StringVar(&o.image, "agent-image", "", "the agent's image, if the configuration names none")
	c.Flags().StringVar(&o.trust, "trust", "", "PEM file of the authorities by which agents verify the controller")
	c.Flags().StringVar(&o.ipOf, "controller-ip", "", "cluster IP of the controller's Service, for pods that do not use the cluster's DNS")
	return c
}

func fileFlag(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "filename", "f", "", "the manifest, or - for standard input")
}

// settings returns the settings that the webhook of an installation has that knows these interfaces.
func (o *injectOptions) settings(known schema.Catalog) (s injection.Settings, err error) {
	s = injection.Settings{
		Config: injection.DefaultConfig(), Namespace: o.namespace, ControllerIP: o.ipOf, Fields: known.Fields,
	}
	if o.config != "" {
		text, err := os.ReadFile(o.config)
		if err != nil {
			return s, fmt.Errorf("cannot read the configuration: %w", err)
		}
		if s.Config, err = injection.ParseConfig(text); err != nil {
			return s, fmt.Errorf("cannot use the configuration %s: %w", o.config, err)
		}
	}
	if o.image != "" && s.Config.Agent.Image == injection.DefaultImage {
		s.Config.Agent.Image = o.image
	}
	if o.trust != "" {
		text, err := os.ReadFile(o.trust)
		if err != nil {
			return s, fmt.Errorf("cannot read the trust bundle: %w", err)
		}
		s.Trust = string(text)
	}
	return s, nil
}

func (o *injectOptions) run(c *cobra.Command) error {
	interfaces, err := schema.Library()
	if err != nil {
		return err
	}
	known := schema.NewCatalog(interfaces...)
	settings, err := o.settings(known)
	if err != nil {
		return err
	}
	all, err := readManifests(c, o.file)
	if err != nil {
		return err
	}
	services, err := servicesIn(all)
	if err != nil {
		return err
	}
	return transform(c, all, func(text []byte) ([]byte, error) {
		var about object
		if err := json.Unmarshal(text, &about); err != nil {
			return nil, fmt.Errorf("cannot read an object: %w", err)
		}
		after, d, err := injection.Inject(settings, text, services[about.Metadata.Namespace])
		if err != nil {
			return nil, err
		}
		for _, f := range known.Remarks(d.Declared, schema.Warn) {
			d.Told = append(d.Told, f.Problem)
		}
		note(c.ErrOrStderr(), &about, d)
		if d.Refused != nil {
			return nil, failedError{fmt.Errorf("%s would be refused: %w", &about, d.Refused)}
		}
		return after, nil
	})
}

// note writes the warnings of an object, and why it is not injected.
func note(out io.Writer, about *object, d injection.Decision) {
	for _, p := range d.Told {
		fmt.Fprintf(out, "%s: warning: %v\n", about, p)
	}
	if d.Skip.Reason != "" {
		fmt.Fprintf(out, "%s: not injected: %s\n", about, d.Skip.Message)
	}
}

// servicesIn returns the Services of the documents, by namespace.
func servicesIn(all []manifest) (map[string][]injection.Service, error) {
	services := map[string][]injection.Service{}
	for _, m := range all {
		_, err := items(m.json, func(text []byte) ([]byte, error) {
			var o object
			if err := json.Unmarshal(text, &o); err != nil {
				return nil, fmt.Errorf("cannot read an object: %w", err)
			}
			if s, ok := o.service(); ok {
				services[o.Metadata.Namespace] = append(services[o.Metadata.Namespace], s)
			}
			return text, nil
		})
		if err != nil {
			return nil, err
		}
	}
	return services, nil
}

// transform prints all documents with their objects changed by do. It prints nothing if one fails, so
// that half of a manifest is never applied.
func transform(c *cobra.Command, all []manifest, do func([]byte) ([]byte, error)) error {
	var failed []error
	after := make([][]byte, len(all))
	for i, m := range all {
		text, err := items(m.json, do)
		failed = append(failed, err)
		after[i] = text
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	for i, m := range all {
		if err := writeManifest(c.OutOrStdout(), m, after[i], i == 0); err != nil {
			return err
		}
	}
	return nil
}

func newUninject() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "uninject -f FILE",
		Short: "Remove from manifests what the webhook added",
		Long: `uninject prints manifests without what inject or the webhook added to them. Documents that are not
injected are printed as they were written.

Exit codes: 0 printed, 2 the command failed.`,
		Example: `  kubectl get pod web-0 -o yaml | orcon uninject -f -
  orcon inject -f web.yaml | orcon uninject -f -`,
		Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := readManifests(c, file)
			if err != nil {
				return err
			}
			return transform(c, all, injection.Uninject)
		},
	}
	fileFlag(c, &file)
	return c
}
