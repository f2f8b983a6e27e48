package application

// The keys that people write on their objects, as the prototype had them
// (PROTOTYPE.md) and as RELATIONS.md lists them.
const (
	// KeyProvides names endpoints that a Service provides: a label with one name, or an annotation with a list.
	KeyProvides = "tengu.io/provides"
	// KeyConsumes lists the endpoints that a workload requires.
	KeyConsumes = "tengu.io/consumes"
	// KeyRelations lists the applications to relate to.
	KeyRelations = "tengu.io/relations"
	// KeyPeers lists endpoints between the units of one application.
	KeyPeers = "tengu.io/peers"
	// KeyEnv asks for further keys of a databag as environment variables.
	KeyEnv = "tengu.io/env"
	// KeyOnChange says what a change of data does to running pods: an OnChange, or on
	// a pod one of the beginnings beside it with what follows.
	KeyOnChange = "tengu.io/on-change"
	// KeyGate says whether containers wait for their relations.
	KeyGate = "tengu.io/gate"
	// GateNone is the value of KeyGate for containers that start without waiting.
	GateNone = "none"
	// GateStale is the value of KeyGate for containers that start with a copy of their data while Orcon is away.
	GateStale = "stale"
	// KeyRetain says how long a relation outlives its declaration.
	KeyRetain = "tengu.io/retain"
	// KeyApplication names the application of a pod.
	KeyApplication = "tengu.io/application"
	// KeyRelationships is the prototype's label: accepted, not needed.
	KeyRelationships = "tengu.io/relationships"
	// KeyInjected is the label that the webhook puts on injected pods.
	KeyInjected = "tengu.io/injected"
	// KeyDataVersion, on a pod template, is the version of the data that its pods started with, in restart mode.
	KeyDataVersion = "injector.tengu.io/data-version"
	// KeyInject is the annotation or label that opts a pod out, if false. As an annotation it may be InjectRequired.
	KeyInject = "injector.tengu.io/inject"
	// InjectRequired is the value of KeyInject for pods that must not start without an agent.
	InjectRequired = "required"
	// KeyStatus is the annotation that the webhook puts on injected pods.
	KeyStatus = "injector.tengu.io/status"
	// KeyMode is sidecar, the default, or init for a pod that needs no updates.
	KeyMode = "injector.tengu.io/mode"
	// KeyContainers lists the containers that get variables and files; unset for all of them.
	KeyContainers = "injector.tengu.io/containers"
	// KeyImage is the agent's image.
	KeyImage = "injector.tengu.io/image"
	// KeyPullSecrets lists Secrets to pull the agent's image with.
	KeyPullSecrets = "injector.tengu.io/image-pull-secrets"
	// KeyLogLevel is the agent's -v, 0 to 9.
	KeyLogLevel = "injector.tengu.io/log-level"
	// KeyMetricsPort is the port of the pod at which its agent serves metrics; unset for none.
	KeyMetricsPort = "injector.tengu.io/metrics-port"
	// KeyCPURequest sets the agent's request for the processor.
	KeyCPURequest = "injector.tengu.io/cpu-request"
	// KeyCPULimit is the most that the agent gets of the processor.
	KeyCPULimit = "injector.tengu.io/cpu-limit"
	// KeyMemoryRequest sets the agent's request for memory.
	KeyMemoryRequest = "injector.tengu.io/memory-request"
	// KeyMemoryLimit is the most that the agent gets of the memory.
	KeyMemoryLimit = "injector.tengu.io/memory-limit"
	// KeyHandlers names the folder of executables that handle events, called as Juju
	// names hooks: db-relation-changed. They run in a container of KeyHandlerImage.
	KeyHandlers = "tengu.io/handlers"
	// KeyHandlerImage is the image of the container in which handlers run.
	KeyHandlerImage = "injector.tengu.io/handler-image"
	// KeyHandlerVolumes lists the pod's volumes that the handlers' container mounts: name=path.
	KeyHandlerVolumes = "injector.tengu.io/handler-volumes"
	// KeyBatch, if true, has a pod's handlers hear of a whole first join as one event.
	KeyBatch = "tengu.io/batch"
	// KeyTools gives the pod's containers the tools by which they speak in their relations, if true; unset for none.
	KeyTools = "injector.tengu.io/tools"
	// KeyRecord is the annotation in which the webhook writes what it kept and
	// added, where the pod itself does not show it.
	KeyRecord = "injector.tengu.io/record"
	// KeyCopied is the annotation in which the webhook lists the keys that it copied to a pod template.
	KeyCopied = "injector.tengu.io/copied"
	// prefixInjector begins the keys that say how a pod is injected.
	prefixInjector = "injector.tengu.io/"
	// PrefixData, before an endpoint's name, holds its static databag.
	PrefixData = "data.tengu.io/"
	// PrefixSecret, before an endpoint's name, names a Secret of the namespace that is granted to the applications
	// related by it, if that Secret consents (SAFETY.md S1).
	PrefixSecret = "secret.tengu.io/"
	// LabelOptIn, on a namespace, with the value OptedIn, opts it in.
	LabelOptIn = "tengu-injector"
	// OptedIn is the value of LabelOptIn.
	OptedIn = "enabled"
	// LabelSchema, on a namespace, sets the policy for data that does not fit its interface: warn (the default),
	// enforce or off.
	LabelSchema = "tengu.io/schema"
)

// OptIn returns the command that opts a namespace in, whatever its label is now.
func OptIn(namespace string) string {
	return "kubectl label namespace " + namespace + " " + LabelOptIn + "=" + OptedIn + " --overwrite"
}
