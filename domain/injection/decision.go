package injection

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// Settings are the inputs of an injection besides the pod: the same for every pod of an installation.
type Settings struct {
	// Config is tenguconfig.yaml.
	Config Config
	// Namespace is Orcon's own.
	Namespace string
	// Trust is the PEM bundle by which agents know the controller; may be empty.
	Trust string
	// ControllerIP is the cluster IP of the controller's Service, for pods that
	// do not use the cluster's DNS; may be empty.
	ControllerIP string
	// Unsupported says why nothing can be injected in this cluster; empty if
	// it can (SAFETY.md D13).
	Unsupported string
	// Fields are those that become variables; nil for none.
	Fields Fields
}

// Decision is the answer for one pod: exactly one of Injection, Skip and
// Refused is set.
type Decision struct {
	// Injection lists the additions to the pod.
	Injection *Injection
	// Skip says why it gets nothing.
	Skip Skip
	// Refused says why it must not start as it is.
	Refused error
	// Told lists problems that its author is warned of although the pod is admitted.
	Told []application.Problem
	// Declared is the pod's declaration, as far as it is right; empty where none was read.
	Declared application.Declaration
}

// Skip is why a pod is not injected: never silent (INJECTION.md I1). The zero
// Skip is none.
type Skip struct {
	// Reason is one word, for a condition or a metric.
	Reason SkipReason
	// Message is one sentence with the cure.
	Message string
}

// SkipReason is one word for a Skip.
type SkipReason string

// The reasons not to inject a pod.
const (
	AlreadyInjected SkipReason = "AlreadyInjected"
	Undeclared      SkipReason = "Undeclared"
	OptedOut        SkipReason = "OptedOut"
	MirrorPod       SkipReason = "MirrorPod"
	WindowsPod      SkipReason = "WindowsPod"
	OrconItself     SkipReason = "OrconItself"
	OldCluster      SkipReason = "OldCluster"
	VirtualNode     SkipReason = application.ReasonVirtualNode
)

// mirrorKey is on pods that a kubelet made from a file.
const mirrorKey = "kubernetes.io/config.mirror"

// For decides what a pod of an opted-in namespace gets. It is a function of
// the pod and the settings alone (SAFETY.md I21).
//
// A faulty declaration of a pod that a person made refuses it (SAFETY.md I27). For a pod that a controller made it
// becomes a warning, and what is right works: refusing would stop a workload that was admitted long ago from ever
// starting again. If nothing is right, the pod would start bare, and that is refused.
func For(settings Settings, namespace string, pod *Shape) Decision {
	if copied(pod) {
		if injection := release(pod); injection != nil {
			return Decision{Injection: injection, Told: []application.Problem{{
				Key: application.KeyGate, Warning: true,
				Reason: "this copy of an injected pod starts without waiting and without data, since it does not belong to the application",
				Cure:   "to leave its agent out, use kubectl debug --copy-to with --keep-init-containers=false",
			}}}
		}
	}
	if skip := skipped(settings, namespace, pod); skip.Reason != "" {
		if refused := required(pod, skip); refused != nil {
			return Decision{Refused: refused}
		}
		return Decision{Skip: skip}
	}
	options, problems := ParseOptions(pod, settings.Config.Agent)
	if options.Out {
		return Decision{Skip: Skip{OptedOut, "the pod opts out by " + application.KeyInject + ": false"}}
	}
	declared, wrong := application.Parse(pod.Metadata.Labels, pod.Metadata.Annotations)
	consumes := requirers(declared.Endpoints)
	fields := settings.Fields.Of(consumes)
	variables, left := Variables(consumes, fields, declared.Env)
	problems = append(append(problems, wrong...), left...)
	_, made := pod.Metadata.Controller()
	if refused := application.Refusals(problems); refused != nil && (!made || bare(pod.Metadata.Annotations, declared.Endpoints, &options)) {
		return Decision{Refused: refused, Declared: declared}
	}
	if err := clash(pod); err != nil {
		return Decision{Refused: err, Declared: declared}
	}
	b := builder{settings: settings, pod: pod, options: options, consumes: consumes, ungated: declared.Ungated,
		fields: fields, variables: variables}
	if declared.Stale {
		b.stale = applicationOf(pod)
	}
	injection := b.build()
	problems = append(problems, b.problems...)
	if made {
		problems = slices.DeleteFunc(problems, func(p application.Problem) bool { return p.Warning })
	}
	return Decision{Injection: injection, Told: problems, Declared: declared}
}

// bare reports whether a pod with these annotations would start with nothing that it asks for: no endpoint but those that it
// provides, and neither tools nor news of changes, if it consumes nothing.
func bare(annotations map[string]string, endpoints []application.Endpoint, options *Options) bool {
	if slices.ContainsFunc(endpoints, func(e application.Endpoint) bool { return e.Role != application.Provider }) {
		return false
	}
	return has(annotations, application.KeyConsumes) || !options.Tools && !options.OnChange.said()
}

// required returns why a pod that must have an agent is refused, if it would get none (TRUST.md A11); nil if it may
// start without one. A mirror pod starts whatever is answered.
func required(pod *Shape, skip Skip) error {
	if pod.Metadata.Annotations[application.KeyInject] != application.InjectRequired ||
		slices.Contains([]SkipReason{AlreadyInjected, MirrorPod, OrconItself, OptedOut}, skip.Reason) {
		return nil
	}
	return application.Problem{
		Key: application.KeyInject, Entry: application.InjectRequired, Reason: "the pod would start without an agent: " + skip.Message,
	}
}

func skipped(settings Settings, namespace string, pod *Shape) Skip {
	switch {
	case slices.ContainsFunc(pod.Spec.InitContainers, isAgent):
		return Skip{AlreadyInjected, "the pod has the container " + AgentContainer + " already"}
	case pod.Metadata.Annotations[mirrorKey] != "":
		return Skip{MirrorPod, "it is a mirror of a static pod, which only its kubelet can change"}
	case namespace != "" && (namespace == settings.Namespace || SystemNamespace(namespace)):
		return Skip{OrconItself, "pods of namespace " + namespace + " are never injected"}
	case !speaks(pod.Metadata.Annotations):
		return Skip{Undeclared, "the pod has no annotation " + application.KeyConsumes + "; write it on the workload or its pod template"}
	case pod.Metadata.Labels[application.KeyInject] == "false":
		return Skip{OptedOut, "the pod opts out by " + application.KeyInject + ": false"}
	case pod.Spec.windows():
		return Skip{WindowsPod, "it is for Windows nodes, for which there is no agent"}
	case pod.Spec.virtual():
		return Skip{VirtualNode, "it is for virtual nodes, which start neither native sidecars nor variables from files"}
	case settings.Unsupported != "":
		return Skip{OldCluster, settings.Unsupported}
	default:
		return Skip{}
	}
}

// speaks reports whether a pod has to do with relations itself: it consumes, has
// peers, gets the tools, or hears of changes. What merely provides needs no agent (RELATIONS.md,
// Declarations).
func speaks(annotations map[string]string) bool {
	tools, asks := annotations[application.KeyTools]
	return has(annotations, application.KeyConsumes) || has(annotations, application.KeyPeers) ||
		asks && tools != "false" || has(annotations, application.KeyHandlers) ||
		application.OfPod(application.KeyOnChange, annotations[application.KeyOnChange])
}

func has(m map[string]string, key string) bool {
	_, ok := m[key]
	return ok
}

func isAgent(c Container) bool { return c.Name == AgentContainer }

// SystemNamespace reports whether a cluster cannot start without a namespace, so that Orcon never acts
// in it, whatever its labels.
func SystemNamespace(name string) bool {
	return name == "kube-system" || name == "kube-node-lease" || name == "kube-public"
}

func requirers(endpoints []application.Endpoint) []application.Endpoint {
	return slices.DeleteFunc(slices.Clone(endpoints), func(e application.Endpoint) bool { return e.Role != application.Requirer })
}

// ErrTaken says that the pod uses a name that the injection needs.
var ErrTaken = errors.New("name taken")

// clash refuses a pod that the API server would refuse anyway, with a reason that leads to the author's own line; and
// mounts of Orcon's volumes, since one of them holds the agent's token (SAFETY.md I28, S4).
func clash(pod *Shape) error {
	inits, containers := pod.Spec.InitContainers, pod.Spec.Containers
	if err := cmp.Or(clashingName("initContainers", inits), clashingName("containers", containers)); err != nil {
		return err
	}
	for i, v := range pod.Spec.Volumes {
		if slices.Contains(volumeNames(), v.Name) {
			return taken(fmt.Sprintf("spec.volumes[%d].name", i), v.Name, "choose another name")
		}
	}
	return cmp.Or(clashingMount("initContainers", inits), clashingMount("containers", containers))
}

func clashingName(list string, containers []Container) error {
	for i := range containers {
		if name := containers[i].Name; Added(name) {
			return taken(fmt.Sprintf("spec.%s[%d].name", list, i), name, "choose another name")
		}
	}
	return nil
}

func clashingMount(list string, containers []Container) error {
	for i := range containers {
		for j, m := range containers[i].VolumeMounts {
			if slices.Contains(volumeNames(), m.Name) {
				return taken(fmt.Sprintf("spec.%s[%d].volumeMounts[%d].name", list, i, j), m.Name,
					"take it out: containers get the files at $"+bindingRoot)
			}
		}
	}
	return nil
}

func taken(field, name, cure string) error {
	return fmt.Errorf("%s: %q: %w: the name is reserved for Orcon; %s", field, name, ErrTaken, cure)
}

// Preview returns warnings for the author of a pod template before a controller makes pods of it, whose warnings have
// no reader (INJECTION.md I1). It never refuses: syntax is judged where it is written.
func Preview(settings Settings, namespace string, pod *Shape) []application.Problem {
	skip := skipped(settings, namespace, pod)
	switch {
	case skip.Reason != "" && required(pod, skip) != nil:
		return []application.Problem{{Key: application.KeyInject, Entry: application.InjectRequired, Warning: true,
			Reason: "the pods will be refused: " + skip.Message}}
	case !speaks(pod.Metadata.Annotations):
		return nil
	case pod.Metadata.Annotations[application.KeyInject] == "false":
		return []application.Problem{notInjected("the pods opt out by " + application.KeyInject + ": false, although they declare what they consume")}
	case skip.Reason == AlreadyInjected:
		return nil
	case skip.Reason != "":
		return []application.Problem{notInjected(skip.Message)}
	}
	if err := clash(pod); err != nil {
		return []application.Problem{notInjected("the pods will be refused: " + err.Error())}
	}
	b := builder{settings: settings, pod: pod}
	b.options, _ = ParseOptions(pod, settings.Config.Agent)
	declared, _ := application.Parse(nil, pod.Metadata.Annotations)
	b.consumes = requirers(declared.Endpoints)
	b.fields = settings.Fields.Of(b.consumes)
	b.variables, _ = Variables(b.consumes, b.fields, declared.Env)
	if declared.Stale {
		b.stale = applicationOf(pod)
	}
	b.build()
	return b.problems
}

func notInjected(reason string) application.Problem {
	return application.Problem{Key: application.KeyConsumes, Reason: "not injected: " + reason, Warning: true}
}
