package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// abbreviations are the short names of the keys that people write most, in a
// manifest of the short form. Any other key with a "/" stands for itself.
func abbreviations() map[string]string {
	return map[string]string{
		"provides": application.KeyProvides, "consumes": application.KeyConsumes, "relations": application.KeyRelations,
		"peers": application.KeyPeers, "env": application.KeyEnv, "on-change": application.KeyOnChange, "gate": application.KeyGate,
		"retain": application.KeyRetain, "application": application.KeyApplication, "tools": application.KeyTools, "inject": application.KeyInject,
		"batch": application.KeyBatch,
	}
}

// handlersFolder is where the short form puts handlers: the folder of a scenario's
// files that is named as the application stands for it.
const handlersFolder = "/handlers"

// readShort reads one object of the short form: "Kind name", with a map of keys.
func readShort(key, value *yaml.Node) (object, error) {
	kind, name, _ := strings.Cut(key.Value, " ")
	o := object{kind: kind, name: strings.TrimSpace(name)}
	if !slices.Contains(kinds(), kind) || o.name == "" {
		return o, fmt.Errorf("line %d: %q is not a kind and a name, as Deployment web%s", key.Line, key.Value, suggestion(kind, kinds()))
	}
	o.service.Name, o.workload.Name = o.name, o.name
	o.workload.Kind, o.workload.Replicas = application.WorkloadKind(kind), 1
	o.workload.TemplateLabels = map[string]string{"app": o.name}
	if value.Tag == "!!null" {
		return o, nil
	}
	if value.Kind != yaml.MappingNode {
		return o, fmt.Errorf("line %d: what %s declares is a map", value.Line, key.Value)
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		k, v := value.Content[i], value.Content[i+1]
		if err := o.take(k.Value, v); err != nil {
			return o, fmt.Errorf("line %d: %w", k.Line, err)
		}
	}
	return o, nil
}

// take reads one key of the short form.
func (o *object) take(key string, value *yaml.Node) error {
	switch key {
	case "replicas", "port":
		n, err := strconv.Atoi(value.Value)
		if err != nil {
			return fmt.Errorf("%s is a number, not %q", key, value.Value)
		}
		if key == "replicas" {
			o.workload.Replicas = n
		} else {
			o.service.Ports = append(o.service.Ports, application.Port{Number: n})
		}
	case "externalName":
		o.service.ExternalName = value.Value
	case "selects":
		o.service.Selector = map[string]string{"app": value.Value}
	case "labels":
		if err := value.Decode(&o.workload.TemplateLabels); err != nil {
			return fmt.Errorf("labels are a map: %w", err)
		}
		o.service.Labels = o.workload.TemplateLabels
	case "handlers":
		o.onTemplate(application.KeyHandlers, handlersFolder)
		o.onTemplate(application.KeyHandlerImage, value.Value)
	default:
		return o.annotate(key, value)
	}
	return nil
}

// annotate puts an annotation where people put it: the injector's own keys on the
// pod template, which alone may say them, all others on the object.
func (o *object) annotate(key string, value *yaml.Node) error {
	endpoint, isData := strings.CutPrefix(key, "data.")
	switch long, known := abbreviations()[key]; {
	case known:
		key = long
	case strings.Contains(key, "/"):
	case isData:
		key = application.PrefixData + endpoint
	default:
		words := append(sortedKeys(abbreviations()), "replicas", "port", "externalName", "selects", "labels", "handlers", "data.ENDPOINT")
		return fmt.Errorf("no key %q%s", key, suggestion(key, words))
	}
	text := value.Value
	if value.Kind != yaml.ScalarNode {
		content, err := yaml.Marshal(value)
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", key, err)
		}
		text = string(content)
	}
	if strings.HasPrefix(key, "injector.") || application.OfPod(key, text) {
		o.onTemplate(key, text)
		return nil
	}
	o.service.Annotations = with(o.service.Annotations, key, text)
	o.workload.Annotations = with(o.workload.Annotations, key, text)
	return nil
}

func (o *object) onTemplate(key, value string) {
	o.workload.TemplateAnnotations = with(o.workload.TemplateAnnotations, key, value)
}
