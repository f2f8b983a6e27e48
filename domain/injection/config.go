package injection

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Config holds the settings of tenguconfig.yaml for every injection (PROTOTYPE.md):
//
//	initContainers: []            # the prototype's: injected as written, before the agent
//	agent:
//	  image: localhost/orcon/relation-agent:dev
//	  imagePullPolicy: IfNotPresent
//	  imagePullSecrets: []        # added to the pod's own
//	  logLevel: 0                 # 0 to 9
//	  resources:
//	    requests: {cpu: 10m, memory: 32Mi}
//	    limits: {cpu: 200m, memory: 64Mi}
//	controller:
//	  address: https://relations-controller.orcon-system.svc:9466
//	  serverName: relations-controller.orcon-system.svc
//	bindingsRoot: /bindings       # where containers find their files
//
// The values above are the defaults; those of controller follow Orcon's own
// namespace.
type Config struct {
	// InitContainers are containers as JSON, injected as written.
	InitContainers []InitContainer
	// Agent is the relation agent's container.
	Agent AgentConfig
	// ControllerAddress is where agents find the controller; empty for its
	// Service.
	ControllerAddress string
	// ControllerServerName is the name in the controller's certificate; empty
	// for its Service's.
	ControllerServerName string
	// BindingsRoot is where containers find their files.
	BindingsRoot string
}

// InitContainer is one of the prototype's containers.
type InitContainer struct {
	// Name is the container's.
	Name string
	// JSON is all of it.
	JSON json.RawMessage
}

// AgentConfig holds the agent's settings unless its pod has others.
type AgentConfig struct {
	// Image is the agent's image.
	Image string
	// PullPolicy is Always, IfNotPresent or Never; empty for Kubernetes' choice.
	PullPolicy string
	// PullSecrets are added to the pod's own.
	PullSecrets []string
	// LogLevel is the agent's -v.
	LogLevel string
	// Resources are its requests and limits.
	Resources Resources
}

// DefaultImage is the agent's image where nothing is said.
const DefaultImage = "localhost/orcon/relation-agent:dev"

// DefaultConfig is the Config of an empty tenguconfig.yaml.
func DefaultConfig() Config {
	return Config{
		Agent: AgentConfig{
			Image: DefaultImage, LogLevel: "0",
			Resources: Resources{CPURequest: "10m", CPULimit: "200m", MemoryRequest: "32Mi", MemoryLimit: "64Mi"},
		},
		BindingsRoot: "/bindings",
	}
}

// ErrConfig says that tenguconfig.yaml cannot be used.
var ErrConfig = errors.New("wrong configuration")

// ParseConfig reads tenguconfig.yaml. It is strict: a field it does not know is
// a fault, for a typing error that is silently ignored is found in production.
// The error names every faulty field at once and wraps ErrConfig.
func ParseConfig(text []byte) (Config, error) {
	config := DefaultConfig()
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return config, fmt.Errorf("%w: it is not YAML: %s", ErrConfig, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if len(document.Content) == 0 {
		return config, nil
	}
	r := &configReader{}
	r.section("", document.Content[0], map[string]field{
		"initContainers": func(path string, n *yaml.Node) { config.InitContainers = r.containers(path, n) },
		"agent":          func(path string, n *yaml.Node) { r.agent(path, n, &config.Agent) },
		"controller": func(path string, n *yaml.Node) {
			r.section(path, n, map[string]field{
				"address":    r.text(&config.ControllerAddress, httpsAddress, "an address such as https://relations-controller.orcon-system.svc"),
				"serverName": r.text(&config.ControllerServerName, dnsName, "a DNS name"),
			})
		},
		"bindingsRoot": r.text(&config.BindingsRoot, mountable, "an absolute path other than /"),
	})
	if problem := config.Agent.Resources.check(); problem != "" {
		r.refuse("agent.resources", problem)
	}
	return config, errors.Join(r.failed...)
}

// field reads one field's value.
type field func(path string, n *yaml.Node)

type configReader struct{ failed []error }

func (r *configReader) refuse(path, reason string) {
	r.failed = append(r.failed, fmt.Errorf("%w: %s: %s", ErrConfig, strings.TrimPrefix(path, "."), reason))
}

// section reads a map whose fields are known.
func (r *configReader) section(path string, n *yaml.Node, fields map[string]field) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		r.refuse(path, "it is not a map of fields")
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i].Value, n.Content[i+1]
		read, known := fields[name]
		switch {
		case !known:
			r.refuse(path+"."+name, fmt.Sprintf("there is no such field (line %d)", n.Content[i].Line))
		case seen[name]:
			r.refuse(path+"."+name, "it is there twice")
		case !isNull(value):
			read(path+"."+name, value)
		}
		seen[name] = true
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// text reads a field into target if it fits.
func (r *configReader) text(target *string, fits func(string) bool, want string) field {
	return func(path string, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || !fits(n.Value) {
			r.refuse(path, fmt.Sprintf("%q is not %s", n.Value, want))
			return
		}
		*target = n.Value
	}
}

func (r *configReader) agent(path string, n *yaml.Node, a *AgentConfig) {
	quantities := func(cpu, memory *string) field {
		return func(path string, n *yaml.Node) {
			r.section(path, n, map[string]field{
				"cpu":    r.text(cpu, isQuantity, "a quantity such as 10m"),
				"memory": r.text(memory, isQuantity, "a quantity such as 32Mi"),
			})
		}
	}
	r.section(path, n, map[string]field{
		"image":            r.text(&a.Image, isImage, "the reference of an image"),
		"imagePullPolicy":  r.text(&a.PullPolicy, isPullPolicy, "Always, IfNotPresent or Never"),
		"imagePullSecrets": func(path string, n *yaml.Node) { a.PullSecrets = r.names(path, n) },
		"logLevel":         r.text(&a.LogLevel, isLogLevel, "a whole number from 0 to 9"),
		"resources": func(path string, n *yaml.Node) {
			r.section(path, n, map[string]field{
				"requests": quantities(&a.Resources.CPURequest, &a.Resources.MemoryRequest),
				"limits":   quantities(&a.Resources.CPULimit, &a.Resources.MemoryLimit),
			})
		},
	})
}

func (r *configReader) names(path string, n *yaml.Node) []string {
	if n.Kind != yaml.SequenceNode {
		r.refuse(path, "it is not a list of names")
		return nil
	}
	var names []string
	for i, item := range n.Content {
		if item.Kind != yaml.ScalarNode || !dnsName(item.Value) {
			r.refuse(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("%q is not the name of a Secret", item.Value))
			continue
		}
		names = append(names, item.Value)
	}
	return names
}

// containers keeps each container as it is written: the prototype's users know
// fields that this program does not.
func (r *configReader) containers(path string, n *yaml.Node) []InitContainer {
	if n.Kind != yaml.SequenceNode {
		r.refuse(path, "it is not a list of containers")
		return nil
	}
	var containers []InitContainer
	taken := map[string]bool{AgentContainer: true, HandlerContainer: true, CanaryContainer: true}
	for i, item := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		var fields map[string]any
		if err := item.Decode(&fields); err != nil || item.Kind != yaml.MappingNode {
			r.refuse(at, "it is not a container")
			continue
		}
		name, _ := fields["name"].(string)
		image, _ := fields["image"].(string)
		encoded, err := json.Marshal(fields)
		switch {
		case !dnsLabel(name):
			r.refuse(at+".name", fmt.Sprintf("%q is not the name of a container", name))
		case taken[name]:
			r.refuse(at+".name", fmt.Sprintf("%q is taken", name))
		case image == "":
			r.refuse(at+".image", "it is missing")
		case err != nil:
			r.refuse(at, "it cannot be written as JSON")
		default:
			containers = append(containers, InitContainer{Name: name, JSON: encoded})
		}
		taken[name] = true
	}
	return containers
}

var (
	label        = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)
	subdomain    = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$`)
	httpsURL     = regexp.MustCompile(`^https://[A-Za-z0-9.\[\]:-]+$`)
	imagePattern = regexp.MustCompile(`^[a-zA-Z0-9]([a-zA-Z0-9._/:-]*[a-zA-Z0-9])?(@sha256:[0-9a-f]{64})?$`)
)

func dnsLabel(s string) bool     { return label.MatchString(s) }
func dnsName(s string) bool      { return subdomain.MatchString(s) && !strings.Contains(s, "..") }
func httpsAddress(s string) bool { return httpsURL.MatchString(s) }
func isImage(s string) bool {
	return len(s) <= 500 && imagePattern.MatchString(s) && !strings.Contains(s, "//")
}

func isPullPolicy(s string) bool { return s == "Always" || s == "IfNotPresent" || s == "Never" }

func isLogLevel(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 0 && n <= 9
}
