package registryv1

import (
	"crypto/sha256"
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
		Resources []string `json:"resources"`
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

// target is the port of the container, by its number or its name.
func (w webhook) target() any {
	if w.Target == nil {
		return w.port()
	}
	if number, ok := w.Target.(float64); ok {
		return int64(number)
	}
	return w.Target
}

// serves reports whether a deployment answers webhooks.
func (o *operator) serves(deployment string) bool {
	return slices.ContainsFunc(o.Spec.Webhooks, func(w webhook) bool { return w.Deployment == deployment })
}

// The names of the objects that a deployment with webhooks needs.
func serviceOf(deployment string) string {
	return joined(strings.ReplaceAll(deployment, ".", "-"), "service")
}
func secretOf(deployment string) string { return joined(serviceOf(deployment), "cert") }
func issuerOf(deployment string) string { return joined(secretOf(deployment), "selfsigned-issuer") }

// joined returns a name with an ending, at most 63 characters: a longer one is cut, and told apart by a hash.
func joined(base, end string) string {
	const longest, digits = 63, 8
	if len(base)+1+len(end) <= longest {
		return base + "-" + end
	}
	sum := sha256.Sum256([]byte(base))
	return fmt.Sprintf("%s-%x-%s", strings.TrimRight(base[:longest-digits-len(end)-2], "-."), sum[:digits/2], end)
}

// longestCommonName is how long the common name of a certificate may be (RFC 5280).
const longestCommonName = 64

// certificates are those of deployments with webhooks, which cert-manager makes.
func (o *operator) certificates() []bundle.Object {
	var all []bundle.Object
	for _, d := range o.Spec.Install.Spec.Deployments {
		if !o.serves(d.Name) {
			continue
		}
		name, issuer, host := secretOf(d.Name), issuerOf(d.Name), serviceOf(d.Name)+"."+o.namespace
		spec := map[string]any{
			"secretName": name, "usages": []any{"server auth"}, "issuerRef": map[string]any{"name": issuer},
			"dnsNames": []any{host, host + ".svc", host + ".svc.cluster.local"},
			"duration": "17520h0m0s", "renewBefore": "24h0m0s", // two years, and a day
		}
		if len(host) <= longestCommonName {
			spec["commonName"] = host
		}
		all = append(all,
			made("cert-manager.io/v1", "Issuer", o.namespace, issuer, map[string]any{"spec": map[string]any{"selfSigned": map[string]any{}}}),
			made("cert-manager.io/v1", "Certificate", o.namespace, name, map[string]any{"spec": spec}))
	}
	return all
}

// services are where the API server finds the webhooks, one for each deployment.
func (o *operator) services() []bundle.Object {
	var all []bundle.Object
	for _, d := range o.Spec.Install.Spec.Deployments {
		targets := map[int64]any{}
		for _, w := range o.Spec.Webhooks {
			if w.Deployment == d.Name {
				targets[w.port()] = w.target()
			}
		}
		var ports []any
		for _, port := range slices.Sorted(maps.Keys(targets)) {
			ports = append(ports, map[string]any{"name": fmt.Sprint(port), "port": port, "targetPort": targets[port]})
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
		hook := map[string]any{"name": strings.TrimSuffix(w.Name, "-"), "clientConfig": o.client(w)}
		for _, field := range []string{"admissionReviewVersions", "failurePolicy", "matchPolicy", "objectSelector", "reinvocationPolicy", "rules", "sideEffects", "timeoutSeconds"} {
			if value, ok := w.raw[field]; ok && (w.Type == mutating || field != "reinvocationPolicy") {
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
			if w.Path == "" {
				w.Path = "/"
			}
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
