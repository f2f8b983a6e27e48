package injection

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Injection lists the additions to one pod. Operations writes it as a patch.
type Injection struct {
	inserted    []json.RawMessage // init containers, in order
	at          int               // where among the pod's own
	targets     []target
	volumes     []string // in JSON
	labels      []pair
	annotations []pair
	pullSecrets []string
	// released is the gate of a copied pod, which gets nothing else; nil for none.
	released *released
}

// target lists the additions to one of the author's containers.
type target struct {
	list   string // initContainers or containers
	index  int
	env    []json.RawMessage
	mounts []mount
}

type pair struct{ key, value string }

// Record is written by the webhook into the pod where the pod itself does not show which parts are the author's and
// which were added.
type Record struct {
	// Kept are the variables that containers had already and that were not
	// overwritten (INJECTION.md I14): container to names.
	Kept map[string][]string `json:"kept,omitempty"`
	// InitContainers are those of tenguconfig.yaml that were added.
	InitContainers []string `json:"initContainers,omitempty"`
	// ImagePullSecrets are those that were added.
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
	// DefaultContainer is set where the author chose one, whatever its name.
	DefaultContainer bool `json:"defaultContainer,omitempty"`
}

type builder struct {
	settings Settings
	pod      *Shape
	options  Options
	consumes []application.Endpoint
	ungated  bool
	// stale is the application whose copy of data the pod may start with; empty for none.
	stale string
	// fields are the keys of each endpoint that its interface has.
	fields    map[string][]string
	variables []Variable

	injection Injection
	record    Record
	problems  []application.Problem
	// speakers are the containers that get the tools, in order.
	speakers []string
}

func (b *builder) build() *Injection {
	b.place()
	b.fill()
	b.insert()
	b.secrets()
	b.injection.volumes = b.options.volumesJSON(b.stale)
	b.mark()
	return &b.injection
}

// place says where the agent goes: before everything of the author's, since it is
// the gate, and after a mesh's own containers, without which it may have no
// network (SAFETY.md I18).
func (b *builder) place() {
	inits := b.pod.Spec.InitContainers
	if slices.ContainsFunc(inits, nativeProxy) {
		for i := range inits {
			if meshContainer(inits[i].Name) {
				b.injection.at = i + 1
			}
		}
	}
}

// insert adds the prototype's containers and the agent.
func (b *builder) insert() {
	inits := b.pod.Spec.InitContainers
	taken := func(name string) bool {
		named := func(c Container) bool { return c.Name == name }
		return slices.ContainsFunc(inits, named) || slices.ContainsFunc(b.pod.Spec.Containers, named)
	}
	for _, c := range b.settings.Config.InitContainers {
		if !taken(c.Name) {
			b.injection.inserted = append(b.injection.inserted, c.JSON)
			b.record.InitContainers = append(b.record.InitContainers, c.Name)
		}
	}
	if b.options.handlersRun() {
		b.speakers = append(b.speakers, HandlerContainer)
	}
	b.injection.inserted = append(b.injection.inserted, encode(b.agent()))
	if b.options.handlersRun() {
		b.injection.inserted = append(b.injection.inserted, encode(b.handlers()))
	} else if needsCanary(b.variables, b.ungated) {
		security := agentSecurity(b.pod.Spec.SecurityContext.RunAsUser)
		b.injection.inserted = append(b.injection.inserted, encode(canary(b.options.Agent, b.agentResources(), security)))
	}
}

func nativeProxy(c Container) bool { return c.RestartPolicy == "Always" && meshContainer(c.Name) }

// meshContainer knows the containers of service meshes, which get neither
// variables nor mounts (SAFETY.md P9).
func meshContainer(name string) bool {
	switch name {
	case "istio-proxy", "istio-init", "istio-validation",
		"linkerd-proxy", "linkerd-init", "linkerd-network-validator", "linkerd-debug",
		"kuma-sidecar", "kuma-init", "kuma-validation", "consul-dataplane", "consul-connect-inject-init":
		return true
	default:
		return false
	}
}

// fill gives the author's containers their variables and files. Init
// containers before the agent get none: the file of variables is not there
// yet, and the kubelet would not start them.
func (b *builder) fill() {
	b.unknown(b.options.Containers)
	files := fromFiles(b.variables, b.stale != "")
	for i := range b.pod.Spec.InitContainers[b.injection.at:] {
		b.give(files, "initContainers", b.injection.at+i, &b.pod.Spec.InitContainers[b.injection.at+i])
	}
	for i := range b.pod.Spec.Containers {
		b.give(files, "containers", i, &b.pod.Spec.Containers[i])
	}
}

// unknown warns of chosen containers that the pod does not have.
func (b *builder) unknown(chosen []string) {
	for _, name := range chosen {
		named := func(c Container) bool { return c.Name == name }
		if !slices.ContainsFunc(b.pod.Spec.Containers, named) && !slices.ContainsFunc(b.pod.Spec.InitContainers, named) {
			b.warn(application.KeyContainers, name, "the pod has no such container", "name containers of this pod")
		}
	}
}

func (b *builder) warn(key, entry, reason, cure string) {
	b.problems = append(b.problems, application.Problem{Key: key, Entry: entry, Reason: reason, Cure: cure, Warning: true})
}

func (b *builder) give(files []fileVariable, list string, index int, c *Container) {
	if !b.options.serves(c.Name) {
		return
	}
	t := target{list: list, index: index}
	t.env = make([]json.RawMessage, 0, len(files)+1)
	kept := make([]string, 0, 1)
	for _, v := range files {
		if slices.ContainsFunc(c.Env, func(e EnvVar) bool { return e.Name == v.name }) {
			kept = append(kept, v.name)
			continue
		}
		t.env = append(t.env, v.json)
	}
	if len(kept) > 0 {
		b.warn("spec."+list+"["+c.Name+"].env", strings.Join(kept, ", "),
			"the container has it already, so it is not set", "remove it to get the relation's value")
	}
	root, own := b.root(list, c)
	if own {
		kept = append(kept, bindingRoot)
	}
	switch reason := unmountable(root, c); {
	case reason != "":
		b.warn("spec."+list+"["+c.Name+"].volumeMounts", root, reason, "set "+bindingRoot+" to another path")
	case own:
		t.mounts = []mount{{Name: volumeBindings, MountPath: root, ReadOnly: true}}
	default:
		t.mounts = []mount{{Name: volumeBindings, MountPath: root, ReadOnly: true}}
		t.env = append(t.env, json.RawMessage(`{"name":"`+bindingRoot+`","value":`+quote(root)+`}`))
	}
	if len(kept) > 0 {
		if b.record.Kept == nil {
			b.record.Kept = map[string][]string{}
		}
		b.record.Kept[c.Name] = kept
	}
	b.giveTools(&t, list, c)
	if len(t.env) > 0 || len(t.mounts) > 0 {
		b.injection.targets = append(b.injection.targets, t)
	}
}

// fileVariable is a variable whose value the kubelet reads from the agent's file (SAFETY.md D4).
type fileVariable struct {
	name string
	json json.RawMessage
}

// fromFiles returns the variables that containers get from the agent's file.
func fromFiles(variables []Variable, stale bool) []fileVariable {
	all := make([]fileVariable, 0, len(variables)+1)
	for _, v := range variables {
		all = append(all, fromFile(v.Name))
	}
	if stale {
		all = append(all, fromFile(StaleVariable))
	}
	return all
}

// Where a container finds the tools, and the socket by which the agent knows who
// asks (SAFETY.md I28).
const (
	toolsPath  = "/orcon/tools"
	socketPath = "/orcon/socket"
)

func (b *builder) giveTools(t *target, list string, c *Container) {
	if !b.options.Tools {
		return
	}
	if reason := cmp.Or(unmountable(toolsPath, c), unmountable(socketPath, c)); reason != "" {
		b.warn("spec."+list+"["+c.Name+"].volumeMounts", toolsPath,
			"the container mounts something there, so it gets no tools", "mount it elsewhere")
		return
	}
	if slices.ContainsFunc(t.mounts, func(m mount) bool { return nested(m.MountPath, toolsPath) || nested(m.MountPath, socketPath) }) {
		b.warn("spec."+list+"["+c.Name+"].env", bindingRoot, "the tools have their place there, so the container gets none",
			"set "+bindingRoot+" to another path")
		return
	}
	b.speakers = append(b.speakers, c.Name)
	t.mounts = append(t.mounts, toolMounts(c.Name)...)
}

func toolMounts(container string) []mount {
	return []mount{
		{Name: volumeTools, MountPath: toolsPath, ReadOnly: true},
		{Name: volumeRun, MountPath: socketPath, SubPath: "sockets/" + container, ReadOnly: true},
	}
}

// bindingRoot is the variable of the Service Binding specification.
const bindingRoot = "SERVICE_BINDING_ROOT"

// root returns where the container's files are mounted, and whether the
// container itself says so (INJECTION.md I14).
func (b *builder) root(list string, c *Container) (path string, own bool) {
	for _, e := range c.Env {
		if e.Name != bindingRoot {
			continue
		}
		if mountable(e.Value) {
			return e.Value, true
		}
		b.warn("spec."+list+"["+c.Name+"].env", bindingRoot, "its value is not an absolute path that can be read here",
			"write it as a plain value; the files are at "+b.settings.Config.BindingsRoot)
		return b.settings.Config.BindingsRoot, true
	}
	return b.settings.Config.BindingsRoot, false
}

// envPath is the agent's file of variables in its volume.
const envPath = "env"

// fromFile returns a variable of the agent's file. Names are of [A-Z0-9_] and need no quoting.
func fromFile(name string) fileVariable {
	return fileVariable{name, json.RawMessage(`{"name":"` + name + `","valueFrom":{"fileKeyRef":{` +
		`"volumeName":"` + volumeRun + `","path":"` + envPath + `","key":"` + name + `","optional":true}}}`)}
}

// secrets adds the Secrets to pull the agent's image with (INJECTION.md I11).
func (b *builder) secrets() {
	for _, name := range b.options.Agent.PullSecrets {
		there := slices.ContainsFunc(b.pod.Spec.ImagePullSecrets, func(s Named) bool { return s.Name == name })
		if !there && !slices.Contains(b.injection.pullSecrets, name) {
			b.injection.pullSecrets = append(b.injection.pullSecrets, name)
		}
	}
	b.record.ImagePullSecrets = b.injection.pullSecrets
}

// evictKey tells the cluster autoscaler which volumes a node may lose.
const evictKey = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

// defaultKey names the container that kubectl logs, exec and cp mean without -c.
const defaultKey = "kubectl.kubernetes.io/default-container"

// firstContainer returns the first of the author's containers; "" where a mesh's are the
// only ones.
func firstContainer(pod *Shape) string {
	for i := range pod.Spec.Containers {
		if name := pod.Spec.Containers[i].Name; !meshContainer(name) {
			return name
		}
	}
	return ""
}

// mark writes what was done where people and the controller look.
func (b *builder) mark() {
	b.injection.labels = []pair{{application.KeyInjected, "true"}}
	b.injection.annotations = []pair{
		{application.KeyStatus, "injected"},
		{evictKey, merged(b.pod.Metadata.Annotations[evictKey], b.options.localVolumes())},
	}
	if b.settings.Config.ControllerAddress == "" && !b.pod.Spec.HostNetwork {
		b.injection.annotations = append(b.injection.annotations, agentPortExcluded(b.pod.Metadata.Annotations)...)
	}
	_, b.record.DefaultContainer = b.pod.Metadata.Annotations[defaultKey]
	if name := firstContainer(b.pod); name != "" && !b.record.DefaultContainer {
		b.injection.annotations = append(b.injection.annotations, pair{defaultKey, name})
	}
	if record := string(encode(b.record)); record != "{}" {
		b.injection.annotations = append(b.injection.annotations, pair{application.KeyRecord, record})
	}
}

// merged adds names of ours to a list of the author's, which stays as it is
// written (INJECTION.md I8, TRUST.md A3).
func merged(list string, names []string) string {
	have := split(list)
	for _, name := range names {
		if slices.Contains(have, name) {
			continue
		}
		if strings.TrimSpace(list) != "" {
			name = list + "," + name
		}
		list = name
	}
	return list
}
