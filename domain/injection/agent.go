package injection

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// AgentContainer is the name of the agent's container; a pod that has it is
// injected (INJECTION.md I6).
const AgentContainer = "relation-agent"

// HandlerContainer is the name of the container in which handlers run.
const HandlerContainer = "relation-handlers"

// CanaryContainer is the name of the container that proves that variables from files arrive, in pods without handlers.
const CanaryContainer = "relation-canary"

// CanaryVariable is the variable that shows whether the kubelet reads variables from the agent's file, where its value
// is CanaryValue (TRUST.md A5). An older kubelet sets it to nothing, as it does with all others.
const (
	CanaryVariable = "ORCON_ENV_FILES"
	CanaryValue    = "1"
)

// StaleVariable is the variable that is true in containers that have started with a copy of their data, while Orcon was
// away (TRUST.md A1).
const StaleVariable = "ORCON_STALE"

// containerNames are those of the containers that Orcon adds.
func containerNames() []string { return []string{AgentContainer, HandlerContainer, CanaryContainer} }

// Added reports whether a container of an injected pod is one that Orcon added.
func Added(container string) bool { return slices.Contains(containerNames(), container) }

// The volumes of an injected pod.
const (
	volumeBindings = "orcon-bindings"
	volumeRun      = "orcon-run"
	volumeState    = "orcon-state"
	volumeIdentity = "orcon-identity"
	volumeTools    = "orcon-tools"
	volumeTmp      = "orcon-tmp"
)

func volumeNames() []string {
	return []string{volumeBindings, volumeRun, volumeState, volumeIdentity, volumeTools, volumeTmp}
}

// localVolumes are those that would keep the autoscaler from removing a node
// (INJECTION.md I8).
func (o Options) localVolumes() []string {
	local := []string{volumeBindings, volumeRun, volumeState}
	if o.Tools {
		local = append(local, volumeTools)
	}
	if o.handlersRun() {
		local = append(local, volumeTmp)
	}
	return local
}

const (
	// nonRoot is the agent's user where the pod asks for root, with which runAsNonRoot never starts (INJECTION.md
	// I4).
	nonRoot = 65532
	// probeSeconds is how long one startup probe waits for the gate, which is
	// not a limit: another one follows (INJECTION.md I16).
	probeSeconds = 3600
	// forever is the number of startup probes that may fail.
	forever = 1<<31 - 1
)

// accountPath is where the API server's own admission mounts the pod's token in
// every container that has nothing there. Injected containers have no use for the
// API; and to add it there it would call all webhooks again for each pod.
const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// The types below are the written parts of Kubernetes' own, in its field names.
type (
	container struct {
		Name            string          `json:"name"`
		Image           string          `json:"image"`
		ImagePullPolicy string          `json:"imagePullPolicy,omitempty"`
		Command         []string        `json:"command"`
		RestartPolicy   string          `json:"restartPolicy,omitempty"`
		Env             []env           `json:"env"`
		VolumeMounts    []mount         `json:"volumeMounts"`
		Resources       *requirements   `json:"resources,omitempty"`
		SecurityContext securityContext `json:"securityContext"`
		StartupProbe    *probe          `json:"startupProbe,omitempty"`
	}
	env struct {
		Name      string     `json:"name"`
		Value     string     `json:"value,omitempty"`
		ValueFrom *envSource `json:"valueFrom,omitempty"`
	}
	envSource struct {
		FieldRef   *fieldRef   `json:"fieldRef,omitempty"`
		FileKeyRef *fileKeyRef `json:"fileKeyRef,omitempty"`
	}
	fileKeyRef struct {
		VolumeName string `json:"volumeName"`
		Path       string `json:"path"`
		Key        string `json:"key"`
		Optional   bool   `json:"optional"`
	}
	fieldRef struct {
		APIVersion string `json:"apiVersion"`
		FieldPath  string `json:"fieldPath"`
	}
	mount struct {
		Name      string `json:"name"`
		MountPath string `json:"mountPath"`
		SubPath   string `json:"subPath,omitempty"`
		ReadOnly  bool   `json:"readOnly,omitempty"`
	}
	requirements struct {
		Requests amounts `json:"requests"`
		Limits   amounts `json:"limits"`
	}
	amounts struct {
		CPU    string `json:"cpu"`
		Memory string `json:"memory"`
	}
	securityContext struct {
		AllowPrivilegeEscalation bool           `json:"allowPrivilegeEscalation"`
		Capabilities             capabilities   `json:"capabilities"`
		ReadOnlyRootFilesystem   bool           `json:"readOnlyRootFilesystem"`
		RunAsNonRoot             bool           `json:"runAsNonRoot"`
		RunAsUser                int            `json:"runAsUser,omitempty"`
		SeccompProfile           seccompProfile `json:"seccompProfile"`
	}
	capabilities struct {
		Drop []string `json:"drop"`
	}
	seccompProfile struct {
		Type string `json:"type"`
	}
	probe struct {
		Exec             execAction `json:"exec"`
		TimeoutSeconds   int        `json:"timeoutSeconds"`
		PeriodSeconds    int        `json:"periodSeconds"`
		FailureThreshold int        `json:"failureThreshold"`
	}
	execAction struct {
		Command []string `json:"command"`
	}
)

// agent returns the agent's container: a native sidecar that is the start gate
// by a startup probe that blocks (INJECTION.md I3, I16), with nothing that can
// make its pod unready (SAFETY.md I19).
func (b *builder) agent() container {
	c := container{
		Name: AgentContainer, Image: b.options.Agent.Image, ImagePullPolicy: b.options.Agent.PullPolicy,
		Command: []string{"/relation-agent"}, RestartPolicy: "Always",
		Env: b.agentEnv(),
		VolumeMounts: []mount{
			{Name: volumeBindings, MountPath: "/orcon/bindings"},
			{Name: volumeRun, MountPath: "/orcon/run"},
			{Name: volumeState, MountPath: "/orcon/state"},
			{Name: volumeIdentity, MountPath: "/orcon/identity", ReadOnly: true},
			{Name: volumeIdentity, MountPath: accountPath, ReadOnly: true},
		},
		Resources:       b.agentResources(),
		SecurityContext: agentSecurity(b.pod.Spec.SecurityContext.RunAsUser),
		StartupProbe: &probe{
			Exec:           execAction{Command: []string{"/relation-agent", "wait"}},
			TimeoutSeconds: probeSeconds, PeriodSeconds: 1, FailureThreshold: forever,
		},
	}
	if b.options.Tools {
		c.VolumeMounts = append(c.VolumeMounts, mount{Name: volumeTools, MountPath: "/orcon/tools"})
	}
	if b.options.handlersRun() {
		// The gate is on the last container (INJECTION.md I16), and that needs the tools.
		c.StartupProbe.Exec.Command = []string{"/relation-agent", "installed"}
	}
	if b.options.InitOnly {
		c.Command, c.RestartPolicy, c.StartupProbe = []string{"/relation-agent", "once"}, "", nil
	}
	return c
}

// handlers returns the container in which handlers run: a native sidecar of the
// author's image, started before the gate and without any privilege. Its command
// is the runner of the tools volume (SAFETY.md I17, I24).
func (b *builder) handlers() container {
	c := container{
		Name: HandlerContainer, Image: b.options.HandlerImage, ImagePullPolicy: b.options.Agent.PullPolicy,
		Command: b.runner(), RestartPolicy: "Always",
		Env: []env{{Name: bindingRoot, Value: b.settings.Config.BindingsRoot}, {Name: "ORCON_LOG_LEVEL", Value: b.options.Agent.LogLevel}},
		VolumeMounts: append([]mount{
			{Name: volumeBindings, MountPath: b.settings.Config.BindingsRoot, ReadOnly: true},
			{Name: volumeTmp, MountPath: "/tmp", SubPath: "tmp"},
			{Name: volumeTmp, MountPath: accountPath, SubPath: "no-token", ReadOnly: true},
		}, toolMounts(HandlerContainer)...),
		Resources:       b.agentResources(),
		SecurityContext: agentSecurity(b.pod.Spec.SecurityContext.RunAsUser),
		StartupProbe: &probe{
			Exec:           execAction{Command: []string{toolsPath + "/relation-agent", "gate"}},
			TimeoutSeconds: probeSeconds, PeriodSeconds: 1, FailureThreshold: forever,
		},
	}
	if needsCanary(b.variables, b.ungated) {
		c.Env = append(c.Env, canaryEnv())
		c.StartupProbe.Exec.Command = append(c.StartupProbe.Exec.Command, "canary")
	}
	for _, v := range b.options.HandlerVolumes {
		if !slices.ContainsFunc(b.pod.Spec.Volumes, func(own Named) bool { return own.Name == v[0] }) {
			b.warn(application.KeyHandlerVolumes, v[0], "the pod has no such volume", "name volumes of this pod")
			continue
		}
		at := path.Clean(v[1])
		if occupied(c.VolumeMounts, at) {
			b.warn(application.KeyHandlerVolumes, v[0], "something is mounted at "+at+", or below, already", "mount it elsewhere")
			continue
		}
		c.VolumeMounts = append(c.VolumeMounts, mount{Name: v[0], MountPath: at})
	}
	// An image of the author's is often one of root, which must not start here.
	if b.pod.Spec.SecurityContext.RunAsUser == nil && !b.pod.userAssigned() {
		c.SecurityContext.RunAsUser = nonRoot
	}
	return c
}

// needsCanary reports whether the pod must not start with variables that are silently empty: it takes some, and has a
// gate.
func needsCanary(variables []Variable, ungated bool) bool { return len(variables) > 0 && !ungated }

// canaryEnv is the variable of a container that starts after the file is written.
func canaryEnv() env {
	return env{Name: CanaryVariable, ValueFrom: &envSource{FileKeyRef: &fileKeyRef{volumeRun, envPath, CanaryVariable, true}}}
}

// canary returns the container that ends well if the kubelet has read its variable from the file, which is there as
// soon as the gate is open; else the pod's own containers do not start (TRUST.md A5).
func canary(agent AgentConfig, resources *requirements, security securityContext) container {
	return container{
		Name: CanaryContainer, Image: agent.Image, ImagePullPolicy: agent.PullPolicy,
		Command: []string{"/relation-agent", "canary"}, Env: []env{canaryEnv()},
		VolumeMounts:    []mount{{Name: volumeBindings, MountPath: accountPath, ReadOnly: true}}, // no token
		Resources:       resources,
		SecurityContext: security,
	}
}

// agentSecurity passes Pod Security's restricted, for a pod with a user of its own or nil (INJECTION.md I4).
func agentSecurity(user *int64) securityContext {
	security := securityContext{
		Capabilities: capabilities{Drop: []string{"ALL"}}, ReadOnlyRootFilesystem: true, RunAsNonRoot: true,
		SeccompProfile: seccompProfile{Type: "RuntimeDefault"},
	}
	if user != nil && *user == 0 {
		security.RunAsUser = nonRoot
	}
	return security
}

// runner is the command of the handlers' container: for each event it runs an
// executable of a folder, or a command as it is, without a shell (SAFETY.md I24).
func (b *builder) runner() []string {
	runner := []string{toolsPath + "/relation-agent"}
	if b.options.Handlers != "" {
		return append(runner, "handle", b.options.Handlers)
	}
	runner = append(runner, "run")
	for _, word := range b.options.OnChange.Command {
		runner = append(runner, literal(word))
	}
	return runner
}

func (b *builder) agentEnv() []env {
	downward := func(name, field string) env {
		return env{Name: name, ValueFrom: &envSource{FieldRef: &fieldRef{APIVersion: "v1", FieldPath: field}}}
	}
	name := cmp.Or(b.settings.Config.ControllerServerName, "relations-controller."+b.settings.Namespace+".svc")
	vars := []env{
		downward("POD_NAME", "metadata.name"), downward("POD_NAMESPACE", "metadata.namespace"), downward("POD_UID", "metadata.uid"),
		{Name: "ORCON_ADDRESS", Value: b.address(name)}, {Name: "ORCON_SERVER_NAME", Value: name},
	}
	if b.settings.Trust != "" {
		vars = append(vars, env{Name: "ORCON_TRUST", Value: b.settings.Trust})
	}
	vars = append(vars, env{Name: "ORCON_CONSUMES", Value: written(b.pod.Metadata.Annotations, application.KeyConsumes)})
	switch {
	case b.ungated:
		vars = append(vars, ungatedEnv())
	case b.stale != "":
		vars = append(vars, env{Name: gateVariable, Value: application.GateStale})
	}
	if fields := b.named(); fields != "" {
		vars = append(vars, env{Name: "ORCON_FIELDS", Value: fields})
	}
	if asked := written(b.pod.Metadata.Annotations, application.KeyEnv); asked != "" {
		vars = append(vars, env{Name: "ORCON_ENV", Value: asked})
	}
	if b.options.Tools {
		vars = append(vars, env{Name: "ORCON_TOOLS", Value: strings.Join(b.speakers, ",")})
	}
	vars = append(vars, b.hearing()...)
	vars = append(vars, env{Name: "ORCON_LOG_LEVEL", Value: b.options.Agent.LogLevel})
	if b.options.MetricsPort != "" {
		vars = append(vars, env{Name: "ORCON_METRICS_ADDRESS", Value: ":" + b.options.MetricsPort})
	}
	return vars
}

// written returns a list as its author wrote it; empty if it is so long that nothing of it counts.
func written(annotations map[string]string, key string) string {
	list := annotations[key]
	if len(list) > application.MaxList {
		return ""
	}
	return literal(list)
}

// named are the fields of interfaces, as tengu.io/env would ask for them.
func (b *builder) named() string {
	var all []string
	for _, endpoint := range slices.Sorted(maps.Keys(b.fields)) {
		all = append(all, namedFields(endpoint, b.fields[endpoint]))
	}
	return strings.Join(all, ";")
}

// hearing says how the agent tells the pod of changes.
func (b *builder) hearing() []env {
	var vars []env
	if o := b.options.OnChange; o.Post.Port != 0 || o.Signal != "" {
		vars = append(vars, env{Name: "ORCON_ON_CHANGE", Value: literal(b.pod.Metadata.Annotations[application.KeyOnChange])})
	}
	if b.options.Batch {
		vars = append(vars, env{Name: "ORCON_BATCH", Value: "true"})
	}
	return vars
}

// address is where the agent finds the controller. A pod that does not ask the
// cluster's DNS, as on the host network, does not know the name of a Service, so
// it gets the cluster IP.
func (b *builder) address(name string) string {
	switch {
	case b.settings.Config.ControllerAddress != "":
		return b.settings.Config.ControllerAddress
	case !b.pod.Spec.clusterNames() && b.settings.ControllerIP != "":
		return withPort(b.settings.ControllerIP)
	default:
		return withPort(name)
	}
}

// ungatedEnv makes every endpoint optional for the agent, so that the gate opens at once and still not before the file
// of variables exists, without which the kubelet starts no container (SAFETY.md I17).
func ungatedEnv() env { return env{Name: gateVariable, Value: application.GateNone} }

// gateVariable has the value of tengu.io/gate, where that is none or stale.
const gateVariable = "ORCON_GATE"

// literal keeps the kubelet from taking $(NAME) in a value for a variable.
func literal(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// agentResources returns the agent's resources; nil where the pod as a whole has resources, which it shares.
func (b *builder) agentResources() *requirements {
	if r := b.pod.Spec.Resources; r != nil && *r != (ContainerLimits{}) {
		return nil
	}
	r := b.options.Agent.Resources
	if b.pod.Spec.guaranteed() {
		r = r.guaranteed()
	}
	return &requirements{
		Requests: amounts{CPU: r.CPURequest, Memory: r.MemoryRequest},
		Limits:   amounts{CPU: r.CPULimit, Memory: r.MemoryLimit},
	}
}

// volumesJSON are the volumes of an injected pod, in the order of volumeNames.
// The memory volumes have limits, since what is in them is the agent's memory;
// the tools are not in memory (SAFETY.md I20).
//
// stale is the application whose copy of data the pod may start with; empty for none. The pod gets its own application's
// key of the ConfigMap alone. Both are optional: the kubelet serves what is there, without the controller, and the pod
// needs no access to it.
func (o Options) volumesJSON(stale string) []string {
	copied := ""
	if stale != "" {
		copied = `,{"configMap":{"name":` + quote(application.StaleCopy(stale)) + `,"optional":true,` +
			`"items":[{"key":` + quote(stale) + `,"path":"stale.json"}]}}`
	}
	volumes := []string{
		`{"name":"orcon-bindings","emptyDir":{"medium":"Memory","sizeLimit":"16Mi"}}`,
		`{"name":"orcon-run","emptyDir":{"medium":"Memory","sizeLimit":"1Mi"}}`,
		`{"name":"orcon-state","emptyDir":{}}`,
		`{"name":"orcon-identity","projected":{"defaultMode":292,"sources":[` +
			`{"serviceAccountToken":{"audience":"relations.tengu.io","expirationSeconds":3600,"path":"token"}},` +
			`{"configMap":{"name":"orcon-trust","optional":true,"items":[{"key":"ca.crt","path":"ca.crt"}]}}` + copied + `]}}`,
	}
	if o.Tools {
		volumes = append(volumes, `{"name":"orcon-tools","emptyDir":{"sizeLimit":"64Mi"}}`)
	}
	if o.handlersRun() {
		volumes = append(volumes, `{"name":"orcon-tmp","emptyDir":{"sizeLimit":"64Mi"}}`)
	}
	return volumes
}
