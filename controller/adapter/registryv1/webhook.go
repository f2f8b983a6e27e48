package registryv1

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// The kinds of webhooks.
const (
	validating = "ValidatingAdmissionWebhook"
	mutating   = "MutatingAdmissionWebhook"
	conversion = "ConversionWebhook"
)

// injectKey asks cert-manager to say who signed a webhook's certificate.
const injectKey = "cert-manager.io/inject-ca-from"

// webhook is a question that the operator answers for the API server.
type webhook struct {
	Type       string   `json:"type"`
	Name       string   `json:"generateName"`
	Deployment string   `json:"deploymentName"`
	Port       int64    `json:"containerPort"`
	Target     any      `json:"targetPort"`
	Path       string   `json:"webhookPath"`
	Converted  []string `json:"conversionCRDs"`
	Rules      []struct {
		APIGroups []string `json:"apiGroups"`
	} `json:"rules"`
	// raw is all of it, as it was written.
	raw map[string]any
}

// port is where the Service listens.
func (w webhook) port() int64 {
	if w.Port == 0 {
		return 443
	}
	return w.Port
}

// serves reports whether a deployment answers webhooks.
func (o *operator) serves(deployment string) bool {
	return slices.ContainsFunc(o.Spec.Webhooks, func(w webhook) bool { return w.Deployment == deployment })
}

// The names of what a deployment with webhooks needs.
func serviceOf(deployment string) string {
	return strings.ReplaceAll(deployment, ".", "-") + "-service"
}
func secretOf(deployment string) string { return serviceOf(deployment) + "-cert" }

// certificates are those of deployments with webhooks, which cert-manager makes.
func (o *operator) certificates() []bundle.Object {
	var all []bundle.Object
	for _, d := range o.Spec.Install.Spec.Deployments {
		if !o.serves(d.Name) {
			continue
		}
		name, host := secretOf(d.Name), serviceOf(d.Name)+"."+o.namespace
		all = append(all,
			made("cert-manager.io/v1", "Issuer", o.namespace, name, map[string]any{"spec": map[string]any{"selfSigned": map[string]any{}}}),
			made("cert-manager.io/v1", "Certificate", o.namespace, name, map[string]any{"spec": map[string]any{
				"secretName": name, "usages": []any{"server auth"}, "dnsNames": []any{host + ".svc", host + ".svc.cluster.local"},
				"issuerRef": map[string]any{"name": name},
			}}))
	}
	return all
}

// services are where the API server finds the webhooks, one for each deployment.
func (o *operator) services() []bundle.Object {
	var all []bundle.Object
	for _, d := range o.Spec.Install.Spec.Deployments {
		var ports []any
		seen := map[int64]bool{}
		for _, w := range o.Spec.Webhooks {
			if w.Deployment != d.Name || seen[w.port()] {
				continue
			}
			seen[w.port()] = true
			target := w.Target
			if target == nil {
				target = w.port()
			} else if number, ok := target.(float64); ok {
				target = int64(number)
			}
			ports = append(ports, map[string]any{"name": fmt.Sprint(w.port()), "port": w.port(), "targetPort": target})
		}
		if ports != nil {
			selector, _ := at(d.Spec, "selector")["matchLabels"].(map[string]any)
			all = append(all, made("v1", "Service", o.namespace, serviceOf(d.Name), map[string]any{"spec": map[string]any{"ports": ports, "selector": selector}}))
		}
	}
	return all
}

// webhooks are the configurations of admission, each with one webhook.
func (o *operator) webhooks() []bundle.Object {
	kinds := map[string]string{validating: "ValidatingWebhookConfiguration", mutating: "MutatingWebhookConfiguration"}
	var all []bundle.Object
	for _, w := range o.Spec.Webhooks {
		kind, ok := kinds[w.Type]
		if !ok {
			continue
		}
		hook := map[string]any{"name": w.Name, "clientConfig": o.client(w)}
		for _, field := range []string{"admissionReviewVersions", "failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds"} {
			if value, ok := w.raw[field]; ok {
				hook[field] = value
			}
		}
		if !o.everywhere() {
			targets := make([]any, len(o.targets))
			for i, t := range o.targets {
				targets[i] = t
			}
			hook["namespaceSelector"] = map[string]any{"matchExpressions": []any{map[string]any{"key": "kubernetes.io/metadata.name", "operator": "In", "values": targets}}}
		}
		object := made("admissionregistration.k8s.io/v1", kind, "", generated(o.namespace+"-"+w.Name, nil), map[string]any{"webhooks": []any{hook}})
		all = append(all, o.injected(object, w))
	}
	return all
}

// client says where the API server finds a webhook.
func (o *operator) client(w webhook) map[string]any {
	service := map[string]any{"name": serviceOf(w.Deployment), "namespace": o.namespace, "port": w.port()}
	if w.Path != "" {
		service["path"] = w.Path
	}
	return map[string]any{"service": service}
}

// injected returns a copy of an object that gets the authority of a webhook.
func (o *operator) injected(object bundle.Object, w webhook) bundle.Object {
	object = maps.Clone(object)
	metadata := at(object, "metadata")
	annotations := at(metadata, "annotations")
	annotations[injectKey] = o.namespace + "/" + secretOf(w.Deployment)
	metadata["annotations"] = annotations
	object["metadata"] = metadata
	return object
}

// converted are the definitions, with the webhooks that convert their objects.
func (o *operator) converted() []bundle.Object {
	all := slices.Clone(o.definitions)
	for _, w := range o.Spec.Webhooks {
		for i, definition := range all {
			if w.Type != conversion || !slices.Contains(w.Converted, definition.ID().Name) {
				continue
			}
			definition = o.injected(definition, w)
			spec := at(definition, "spec")
			spec["conversion"] = map[string]any{"strategy": "Webhook", "webhook": map[string]any{
				"clientConfig": o.client(w), "conversionReviewVersions": w.raw["admissionReviewVersions"],
			}}
			definition["spec"] = spec
			all[i] = definition
		}
	}
	return all
}
