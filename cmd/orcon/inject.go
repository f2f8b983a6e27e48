package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/schema"
)

// injectOptions are the flags of inject: what the webhook of an installation knows.
type injectOptions struct {
	file, config, trust    string
	namespace, image, ipOf string
}

func newInject() *cobra.Command {
	var o injectOptions
	c := &cobra.Command{
		Use:   "inject -f FILE",
		Short: "Show what the webhook makes of manifests, without a cluster",
		Long: `inject prints manifests as they are once the webhook has seen them in a namespace that
has opted in: pods, and the pod templates of workloads, with the agent, its volumes
and variables. Documents that nothing is done to are printed as they were written;
what their authors would be told goes to standard error. Services of the same file
may declare for the pods that they select.

It asks nobody: what an installation knows is told by flags.`,
		Example: `  orcon inject -f deployment.yaml
  kubectl get deployment web -o yaml | orcon inject -f - --config tenguconfig.yaml
  orcon inject -f deployment.yaml | diff deployment.yaml -`,
		Args: arguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c) },
	}
	fileFlag(c, &o.file)
	c.Flags().StringVar(&o.config, "config", "", "tenguconfig.yaml (default: the built-in settings)")
	c.Flags().StringVar(&o.namespace, "orcon-namespace", "orcon-system", "Orcon's own namespace")
	c.Flags().StringVar(&o.image, "agent-image", "", "the agent's image, where the configuration names none")
	c.Flags().StringVar(&o.trust, "trust", "", "PEM file by which agents know the controller")
	c.Flags().StringVar(&o.ipOf, "controller-ip", "", "cluster IP of the controller's Service, for pods that use their node's names")
	return c
}

func fileFlag(c *cobra.Command, file *string) {
	c.Flags().StringVarP(file, "filename", "f", "", "the manifest, or - for standard input")
}

// settings are those that the webhook of the installation would have.
func (o *injectOptions) settings() (injection.Settings, error) {
	interfaces, err := schema.Library()
	if err != nil {
		return injection.Settings{}, err
	}
	s := injection.Settings{
		Config: injection.DefaultConfig(), Namespace: o.namespace, ControllerIP: o.ipOf, Fields: schema.NewCatalog(interfaces...).Fields,
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
	settings, err := o.settings()
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
		for _, p := range d.Told {
			fmt.Fprintf(c.ErrOrStderr(), "%s: warning: %v\n", &about, p)
		}
		if d.Skip.Reason != "" {
			fmt.Fprintf(c.ErrOrStderr(), "%s: not injected: %s\n", &about, d.Skip.Message)
		}
		if d.Refused != nil {
			return nil, failedError{fmt.Errorf("%s would be refused: %w", &about, d.Refused)}
		}
		return after, nil
	})
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

// transform prints all documents with what do makes of their objects. Nothing is
// printed if one fails: half of a manifest is not to be applied.
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
		Short: "Take out of manifests what the webhook put in",
		Long: `uninject prints manifests without what inject, or the webhook, put into them.
Documents that are not injected are printed as they were written.`,
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
