package application

// The keys that people write on their objects, as the prototype had them
// (PROTOTYPE.md) and as RELATIONS.md lists them.
const (
	// KeyProvides names endpoints that a Service provides: a label with one
	// name, or an annotation with a list.
	KeyProvides = "tengu.io/provides"
	// KeyConsumes lists the endpoints that a workload requires.
	KeyConsumes = "tengu.io/consumes"
	// KeyRelations lists the applications to relate to.
	KeyRelations = "tengu.io/relations"
	// KeyPeers lists endpoints between the units of one application.
	KeyPeers = "tengu.io/peers"
	// KeyEnv asks for further keys of a databag as environment variables.
	KeyEnv = "tengu.io/env"
	// KeyOnChange says what a change of data does to running pods.
	KeyOnChange = "tengu.io/on-change"
	// KeyGate says whether containers wait for their relations.
	KeyGate = "tengu.io/gate"
	// KeyRetain says how long a relation outlives its declaration.
	KeyRetain = "tengu.io/retain"
	// KeyApplication names the application of a pod.
	KeyApplication = "tengu.io/application"
	// KeyRelationships is the prototype's label: accepted, not needed.
	KeyRelationships = "tengu.io/relationships"
	// KeyInjected is the label that the webhook puts on injected pods.
	KeyInjected = "tengu.io/injected"
	// KeyInject is the annotation or label that opts a pod out.
	KeyInject = "injector.tengu.io/inject"
	// KeyStatus is the annotation that the webhook puts on injected pods.
	KeyStatus = "injector.tengu.io/status"
	// PrefixData, before an endpoint's name, holds its static databag.
	PrefixData = "data.tengu.io/"
	// PrefixSecret, before an endpoint's name, names a Secret to grant.
	PrefixSecret = "secret.tengu.io/"
	// LabelOptIn, on a namespace, with the value OptedIn, opts it in.
	LabelOptIn = "tengu-injector"
	// OptedIn is the value of LabelOptIn.
	OptedIn = "enabled"
)
