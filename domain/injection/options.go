package injection

import (
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Options are what a pod's own annotations say of its injection. They are read
// from the pod and from nowhere else (SAFETY.md I23).
type Options struct {
	// Out is set where the pod opts out.
	Out bool
	// InitOnly asks for a plain init container instead of a sidecar.
	InitOnly bool
	// Tools is set where containers get the tools too.
	Tools bool
	// Handlers is the folder of executables that handle events; empty for none.
	// HandlerImage is what they run in, HandlerVolumes which of the pod's volumes it
	// mounts, by name and path.
	Handlers, HandlerImage string
	HandlerVolumes         [][2]string
	// Containers get variables and files; nil for all of them.
	Containers []string
	// Agent is the installation's, with what the pod chose.
	Agent AgentConfig
}

// ParseOptions reads the injector.tengu.io annotations of a pod over the
// installation's choice. What is wrong is a problem and leaves that choice.
func ParseOptions(annotations map[string]string, agent AgentConfig) (Options, []application.Problem) {
	o := optionReader{annotations: annotations, Options: Options{Agent: agent}}
	o.take(application.KeyInject, func(s string) bool { return s == "true" || s == "false" }, "it is neither true nor false", "write false to opt out", func(s string) { o.Out = s == "false" })
	o.take(application.KeyMode, func(s string) bool { return s == "sidecar" || s == "init" }, "it is neither sidecar nor init", "write init for a pod that needs no updates", func(s string) { o.InitOnly = s == "init" })
	o.take(application.KeyTools, func(s string) bool { return s == "true" || s == "false" }, "it is neither true nor false", "write true for the tools", func(s string) { o.Tools = s == "true" })
	o.take(application.KeyContainers, areNames(dnsLabel), "it is not a list of containers' names", "write names separated by single commas", func(s string) { o.Containers = split(s) })
	o.take(application.KeyImage, isImage, "it is not the reference of an image", "write for example registry.example.org/relation-agent:v1", func(s string) { o.Agent.Image = s })
	o.take(application.KeyPullSecrets, areNames(dnsName), "it is not a list of Secrets' names", "write names separated by single commas", o.addSecrets)
	o.take(application.KeyLogLevel, isLogLevel, "it is not a whole number from 0 to 9", "write for example 2", func(s string) { o.Agent.LogLevel = s })
	o.take(application.KeyHandlers, mountable, "it is not the path of a folder in the handlers' container", "write for example /handlers", func(s string) { o.Handlers, o.Tools = s, true })
	o.take(application.KeyHandlerImage, isImage, "it is not the reference of an image", "write for example registry.example.org/db-handlers:v1", func(s string) { o.HandlerImage = s })
	o.take(application.KeyHandlerVolumes, areVolumes, "it is not a list of volumes and where to mount them", "write name=/path, separated by single commas", func(s string) { o.HandlerVolumes = volumes(s) })
	o.resources(agent.Resources)
	o.together()
	return o.Options, o.problems
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

// addSecrets copies the list: the installation's is shared by all pods.
func (o *optionReader) addSecrets(s string) {
	all := append([]string{}, o.Agent.PullSecrets...)
	o.Agent.PullSecrets = append(all, split(s)...)
}

// together finds what no option can know by itself.
func (o *optionReader) together() {
	refuse := func(key, reason, cure string) {
		o.problems = append(o.problems, application.Problem{Key: key, Entry: o.annotations[key], Reason: reason, Cure: cure})
		o.Handlers = ""
	}
	switch {
	case o.Handlers != "" && o.HandlerImage == "":
		refuse(application.KeyHandlers, "nothing says in which image they run", "add "+application.KeyHandlerImage)
	case o.Handlers == "" && o.HandlerImage != "" && o.annotations[application.KeyHandlers] == "":
		refuse(application.KeyHandlerImage, "nothing says which folder the handlers are in", "add "+application.KeyHandlers)
	case o.Handlers != "" && o.InitOnly:
		refuse(application.KeyHandlers, "a pod in mode init has nobody to hear of events", "take "+application.KeyMode+" out")
	}
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
		o.problems = append(o.problems, application.Problem{Key: last, Entry: o.annotations[last], Reason: reason, Cure: "set request and limit together"})
		*r = installed
	}
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
