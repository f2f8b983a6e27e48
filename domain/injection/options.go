package injection

import (
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Options are a pod's own settings for its injection, by annotations. They are read from the pod and from nowhere
// else (SAFETY.md I23).
type Options struct {
	// Out is set where the pod opts out.
	Out bool
	// InitOnly asks for a plain init container instead of a sidecar.
	InitOnly bool
	// Tools is set where containers get the tools too.
	Tools bool
	// Handlers is the folder of executables that handle events; empty for none. HandlerImage is the image of their
	// container, HandlerVolumes the pod's volumes that it mounts, by name and path.
	Handlers, HandlerImage string
	HandlerVolumes         [][2]string
	// OnChange is how the pod hears of a change without such a folder.
	OnChange OnChange
	// Batch is set where handlers hear of a whole first join as one event.
	Batch bool
	// MetricsPort is the port at which the agent serves metrics; empty for none.
	MetricsPort string
	// Containers get variables and files; nil for all of them.
	Containers []string
	// Agent is the installation's, with what the pod chose.
	Agent AgentConfig
}

// ParseOptions reads what a pod's annotations say of its injection, over the
// installation's choice. What is wrong is a problem and leaves that choice.
func ParseOptions(pod *Shape, agent AgentConfig) (Options, []application.Problem) {
	o := optionReader{annotations: pod.Metadata.Annotations, Options: Options{Agent: agent}}
	o.take(application.KeyInject, isInject, "it is neither true, false nor required", "write false to opt out",
		func(s string) { o.Out = s == "false" })
	o.take(application.KeyMode, func(s string) bool { return s == "sidecar" || s == "init" },
		"it is neither sidecar nor init", "write init for a pod that needs no updates",
		func(s string) { o.InitOnly = s == "init" })
	o.take(application.KeyTools, isBool, "it is neither true nor false", "write true for the tools", func(s string) { o.Tools = s == "true" })
	o.takeList(application.KeyContainers, areNames(dnsLabel), "it is not a list of containers' names",
		"write names separated by single commas", func(s string) { o.Containers = split(s) })
	o.take(application.KeyImage, isImage, "it is not the reference of an image",
		"write for example registry.example.org/relation-agent:v1", func(s string) { o.Agent.Image = s })
	o.takeList(application.KeyPullSecrets, areNames(dnsName), "it is not a list of Secrets' names",
		"write names separated by single commas", o.addSecrets)
	o.take(application.KeyLogLevel, isLogLevel, "it is not a whole number from 0 to 9", "write for example 2",
		func(s string) { o.Agent.LogLevel = s })
	o.take(application.KeyMetricsPort, isOpenPort, "it is not a whole number from 1024 to 65535", "write for example 9465",
		func(s string) { o.MetricsPort = s })
	o.take(application.KeyHandlers, mountable, "it is not the path of a folder in the handlers' container",
		"write for example /handlers", func(s string) { o.Handlers = s })
	o.take(application.KeyHandlerImage, isImage, "it is not the reference of an image",
		"write for example registry.example.org/db-handlers:v1", func(s string) { o.HandlerImage = s })
	o.takeList(application.KeyHandlerVolumes, areVolumes, "it is not a list of volumes and where to mount them",
		"write name=/path, separated by single commas", func(s string) { o.HandlerVolumes = volumes(s) })
	o.take(application.KeyBatch, isBool, "it is neither true nor false",
		"write true for one event of a whole first join", func(s string) { o.Batch = s == "true" })
	o.onChange()
	o.resources(agent.Resources)
	o.metrics(&pod.Spec)
	o.together(&pod.Spec)
	o.Tools = o.Tools || o.handlersRun()
	return o.Options, o.problems
}

// handlersRun reports whether handlers run in a container of their own.
func (o *Options) handlersRun() bool { return o.Handlers != "" || o.OnChange.Command != nil }

// serves reports whether the author wants a container served.
func (o *Options) serves(container string) bool {
	if o.Containers == nil {
		return !meshContainer(container)
	}
	return slices.Contains(o.Containers, container)
}

type optionReader struct {
	Options
	annotations map[string]string
	problems    []application.Problem
}

func (o *optionReader) take(key string, fits func(string) bool, reason, cure string, use func(string)) {
	value, there := o.annotations[key]
	switch {
	case !there:
	case fits(value):
		use(value)
	default:
		o.problems = append(o.problems, application.Problem{Key: key, Entry: value, Reason: reason, Cure: cure})
	}
}

// takeList is take for a list, which is not read if it is too long.
func (o *optionReader) takeList(key string, fits func(string) bool, reason, cure string, use func(string)) {
	if tooMany := application.CheckEntries(key, strings.Count(o.annotations[key], ",")+1); tooMany != nil {
		o.problems = append(o.problems, *tooMany)
		return
	}
	o.take(key, fits, reason, cure, use)
}

// addSecrets copies the list: the installation's is shared by all pods.
func (o *optionReader) addSecrets(s string) {
	all := append([]string{}, o.Agent.PullSecrets...)
	o.Agent.PullSecrets = append(all, split(s)...)
}

func (o *optionReader) onChange() {
	onChange, problem := ParseOnChange(o.annotations[application.KeyOnChange])
	if problem != nil {
		o.problems = append(o.problems, *problem)
	}
	o.OnChange = onChange
}

// metrics refuses a port that the agent cannot have.
func (o *optionReader) metrics(spec *Spec) {
	if o.MetricsPort == "" {
		return
	}
	reason, cure := "", "choose another port"
	switch taken := spec.listens(o.MetricsPort); {
	case o.InitOnly:
		reason, cure = "a pod in mode init has no container that serves metrics", "take "+application.KeyMode+" out"
	case taken != "":
		reason = "container " + taken + " has it"
	case o.MetricsPort == strconv.Itoa(o.OnChange.Post.Port):
		reason = "the pod receives its events there"
	}
	if reason != "" {
		o.problems = append(o.problems, application.Problem{
			Key: application.KeyMetricsPort, Entry: o.MetricsPort, Reason: reason, Cure: cure,
		})
		o.MetricsPort = ""
	}
}

// listens returns the container that declares a TCP port; empty for none.
func (s *Spec) listens(port string) string {
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		for _, p := range c.Ports {
			if strconv.FormatInt(p.ContainerPort, 10) == port && (p.Protocol == "" || p.Protocol == "TCP") {
				return c.Name
			}
		}
	}
	return ""
}

// together finds the faults of several options together. A pod with such a fault receives no events.
func (o *optionReader) together(spec *Spec) {
	if key, reason, cure := o.conflict(spec); reason != "" {
		o.problems = append(o.problems, application.Problem{Key: key, Entry: o.annotations[key], Reason: reason, Cure: cure})
		o.Handlers, o.OnChange, o.Batch = "", OnChange{}, false
	}
}

func (o *optionReader) conflict(spec *Spec) (key, reason, cure string) {
	key = application.KeyOnChange
	if o.Handlers != "" {
		key = application.KeyHandlers
	}
	command := strings.HasPrefix(o.annotations[application.KeyOnChange], application.OnChangeExec)
	switch {
	case o.Handlers != "" && o.OnChange.said():
		return application.KeyOnChange, application.KeyHandlers + " hears of each change already", "keep one of them"
	case o.handlersRun() && o.HandlerImage == "":
		return key, "nothing says in which image they run", "add " + application.KeyHandlerImage
	case o.HandlerImage != "" && o.annotations[application.KeyHandlers] == "" && !command:
		return application.KeyHandlerImage, "nothing says which folder the handlers are in", "add " + application.KeyHandlers + ", or take it out"
	case o.InitOnly && (o.Handlers != "" || o.OnChange.said()):
		return key, "a pod in mode init has no container that receives events", "take " + application.KeyMode + " out"
	case o.Batch && !o.handlersRun() && o.OnChange.Post.Port == 0:
		return application.KeyBatch, "nothing in the pod hears of events", "add " + application.KeyHandlers + ", or " + application.KeyOnChange + " with http: or exec:"
	case o.OnChange.Signal != "":
		reason, cure = o.unfitForSignal(spec)
	}
	return key, reason, cure
}

func (o *optionReader) resources(installed Resources) {
	r := &o.Agent.Resources
	last := ""
	for _, of := range []struct {
		key    string
		target *string
		cure   string
	}{
		{application.KeyCPURequest, &r.CPURequest, "write for example 10m"},
		{application.KeyCPULimit, &r.CPULimit, "write for example 200m"},
		{application.KeyMemoryRequest, &r.MemoryRequest, "write for example 32Mi"},
		{application.KeyMemoryLimit, &r.MemoryLimit, "write for example 64Mi"},
	} {
		o.take(of.key, isQuantity, "it is not a quantity", of.cure, func(s string) { *of.target, last = s, of.key })
	}
	if last == "" {
		return
	}
	if reason := r.check(); reason != "" {
		o.problems = append(o.problems, application.Problem{Key: last, Entry: o.annotations[last], Reason: reason,
			Cure: "set request and limit together"})
		*r = installed
	}
}

func isBool(s string) bool { return s == "true" || s == "false" }

func isInject(s string) bool { return isBool(s) || s == application.InjectRequired }

// isOpenPort reports whether s is a port that a process without rights may open.
func isOpenPort(s string) bool {
	n, err := strconv.Atoi(s)
	return err == nil && n >= 1024 && n <= 65535 && s == strconv.Itoa(n)
}

func areNames(fits func(string) bool) func(string) bool {
	return func(list string) bool {
		for name := range strings.SplitSeq(list, ",") {
			if !fits(strings.TrimSpace(name)) {
				return false
			}
		}
		return true
	}
}

func areVolumes(list string) bool {
	for _, v := range volumes(list) {
		if !dnsLabel(v[0]) || !mountable(v[1]) {
			return false
		}
	}
	return true
}

func volumes(list string) [][2]string {
	var all [][2]string
	for _, entry := range split(list) {
		name, path, _ := strings.Cut(entry, "=")
		all = append(all, [2]string{name, path})
	}
	return all
}

func split(list string) []string {
	names := strings.Split(list, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return names
}
