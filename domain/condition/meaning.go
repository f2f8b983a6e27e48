package condition

import "slices"

// Meaning explains one reason of a condition, for the reference of conditions.
type Meaning struct {
	Type   Type
	Reason string
	// Means describes the state, and Cure what a person does; Cure is empty where nothing
	// is needed.
	Means, Cure string
}

// Sentence explains one condition type.
type Sentence struct {
	Type Type
	// Of lists the kinds that have the condition.
	Of    string
	Means string
}

const (
	allKinds       = "all"
	bothKinds      = "Relation, RelatedApplication"
	ofRelations    = "Relation"
	ofApplications = "RelatedApplication"
	ofInterfaces   = "Interface"
	ofProviders    = "RelatedApplication, Offer"
)

// Sentences returns what each condition of the relation kinds tells while it is true, in
// the order in which kubectl describe is best read.
func Sentences() []Sentence {
	return []Sentence{
		{Ready, allKinds, "the object does what it is for: a Relation gives its requirer the data that it waits for and no handler fails; " +
			"an application has the data of every required endpoint, an agent in each pod that needs one, and no failing handler"},
		{Reconciling, allKinds, "Ready may become true without a person; the message is complete, while Ready shortens it"},
		{Stalled, allKinds, "a person must act: before, Ready does not become true, or a part does not work although Ready is true; " +
			"the message is complete, or names the condition that has the details"},
		{Held, bothKinds, "a Relation lives on without its declaration, or over a limit; it ends after its retain time unless it is declared"},
		{Suspended, ofProviders,
			"RelatedApplication: relations with other namespaces wait for an Offer that covers them; Offer: it waits for its renewal"},
		{RestartsPaused, ofApplications, "data changed, and the pods are not restarted for it now"},
		{NotInjected, ofApplications, "a pod that needs an agent has none"},
		{AgentFailed, ofApplications, "a container that Orcon added to a pod, such as relation-agent, does not run or does not do its work"},
		{AgentOutdated, ofApplications, "the agent of a pod is too old to receive the pod's data, so that no change reaches the pod"},
		{LeftOut, ofApplications, "an object declares something for this application and is ignored"},
		{GateCycle, ofApplications, "applications wait for each other's data, so that none of them starts"},
		{EnvRefused, ofApplications, "data of a relation cannot become an environment variable"},
		{FilesRefused, ofApplications, "data of a relation cannot become a file"},
		{GrantRefused, ofApplications, "a Secret that an endpoint names is not granted"},
		{StaleRefused, ofApplications, "pods that may start with a copy of their data while Orcon is away cannot"},
		{HandlerFailed, bothKinds, "a unit's handler fails, and is retried"},
		{EndsOwed, ofApplications, "relations have ended, and no unit that leads has handled that yet"},
		{EndsHeld, ofApplications, "many relations have ended at once, and no handler runs for those in the message until a person decides"},
		{WritesLimited, ofApplications, "a unit writes more than a budget allows, so that its writes are put off"},
		{CommitRefused, ofApplications, "a transaction of a unit cannot be delivered, or was dropped; the unit's Databag with " +
			"purpose Outbox is Stalled with this reason"},
		{ApplicationStatus, ofApplications, "the workload reports status active; false for any other status that it reports"},
		{RequirerStatus, ofRelations, "the requirer reports status active in the relation; false for any other status that it reports"},
		{ProviderStatus, ofRelations, "the provider reports status active in the relation; false for any other status that it reports"},
		{SchemaViolated, ofRelations, "a databag does not fit the schema of its interface"},
		{Incompatible, ofInterfaces, "an interface breaks what an older version of it promised"},
	}
}

// Meanings returns every reason that Relations, RelatedApplications, Offers, Interfaces
// and Databags show, except those that workloads choose themselves for
// ApplicationStatus, RequirerStatus and ProviderStatus. A reason of Ready stands in
// Reconciling and Stalled too.
func Meanings() []Meaning {
	all := append(working(), waiting()...)
	return slices.Concat(all, special(), refusals())
}

// working are the reasons of Ready while it is true.
func working() []Meaning {
	return []Meaning{
		{Ready, "Complete", "the data is complete, and nothing else needs attention", ""},
		{Ready, "NoUnit", "the data is complete, but the requirer has had no pod with an agent yet", "start a pod of the requirer"},
		{Ready, "SchemaViolated", "the data is complete, but some of it does not fit its interface", "see condition SchemaViolated"},
		{Ready, "OverLimit", "the Relation is older than a lowered limit, and goes on", "raise the limit, or end a relation"},
		{Ready, "DeclarationGone", "the Relation works but is held; or an application declares nothing any more",
			"declare it again, or let it end"},
		{Ready, "LimitReached", "a held Relation is declared again while others use up a limit; or a new one would exceed it",
			"raise the limit, or end one of the relations that the message names"},
		{Ready, "ConfirmEnd", "the Relation works, and too many would end at once to end it without a person", "declare it again, or delete it"},
		{Ready, "Offered", "the endpoint of the Offer can be related to", ""},
		{Ready, "Published", "this version of the interface is in force", ""},
	}
}

// waiting are the reasons of Ready while it is false.
func waiting() []Meaning {
	return []Meaning{
		{Ready, "WaitingForRelations", "a required endpoint has no complete relation", "see status.waits"},
		{Ready, "NoRelationDeclared", "tengu.io/relations names no provider for the endpoint", "add the entry that the message names"},
		{Ready, "NoApplication", "no application has the name", "create it, or correct the name"},
		{Ready, "NoMatchingEndpoint", "no endpoints agree in interface, version and role", "correct one of the declarations in the message"},
		{Ready, "Ambiguous", "several endpoints fit", "write one of the entries in the message"},
		{Ready, "AlreadyRelated", "another Relation joins the same pair", "delete one of the two, or wait, as the message says"},
		{Ready, "NoOffer", "the other namespace offers no such application to this one", "request an Offer there"},
		{Ready, "Suspended", "no Offer covers the Relation any more", "restore the Offer, or end the relation"},
		{Ready, "NamespaceReplaced", "one of the two namespaces was deleted and made again, and gets nothing from earlier relations",
			"renew the Offer or delete the Relation, with the command in the message"},
		{Ready, "OptedOut", "the namespace has not opted in, or the pods opt out of injection",
			"add the label, or remove injector.tengu.io/inject: false"},
		{Ready, "Unreadable", "the object, or one that it needs, cannot be read; nothing is done to it, and all else goes on",
			"correct or delete the object in the message"},
		{Ready, "NoData", "the provider has not provided any data", "see the provider's status and logs"},
		{Ready, "DataMissing", "the provider has not provided every field that makes the interface ready", "see the provider's status and logs"},
		{Ready, "ProviderGone", "the provider's application does not exist any more", "create it again, or end the relation"},
		{Ready, "RequirerGone", "the requirer's application does not exist any more", "create it again, or end the relation"},
		{Ready, "HandlerFailed", "a handler fails, and is retried", "see condition HandlerFailed"},
		{Ready, "NotInjected", "a pod that needs an agent has none", "see condition NotInjected"},
		{Ready, "AgentFailed", "a container that Orcon added to a pod does not run", "see condition AgentFailed"},
		{Ready, "AgentOutdated", "the agent of a pod is too old to receive its data", "see condition AgentOutdated"},
		{Ready, "Ending", "the relation is ending", "wait: the message says for what"},
		{Ready, "EndOwed", "the end of an earlier relation of the two endpoints is owed", "see EndsOwed of the application in the message"},
		{Ready, "InvalidDeclaration", "an annotation or label is wrong", "correct what the message names"},
		{Ready, "NameTaken", "another object has the name of the application or relation", "rename one, or set tengu.io/application"},
		{Ready, "DotInName", "the name of an application has no dot", "set tengu.io/application"},
		{Ready, "LongName", "the name of an application has at most 63 characters", "set tengu.io/application"},
		{Ready, "SelectsSeveral", "the Service selects several applications", "narrow its selector"},
		{Ready, "SelectsNothing", "the Service selects no pod or workload yet", "correct its selector, or create the workload"},
		{Ready, "InvalidDocument", "the document of the interface is wrong", "delete it, correct it, and create it again"},
		{Ready, "Changed", "a published version of an interface was changed", "delete it, and publish the change as a new version"},
		{Ready, "WrongName", "the object of an interface has another name than its version needs", "create it with the name in the message"},
		{Ready, "BuiltIn", "this version of the interface ships with Orcon", "publish another version, or delete the object"},
	}
}

// special are the reasons of the other conditions.
func special() []Meaning {
	return []Meaning{
		{Held, "DeclarationGone", "nothing declares the relation any more", "declare it again, or let it end"},
		{Held, "LimitReached", "the relation is declared again, but others use up a limit; its time does not run",
			"raise the limit, or end one of the others"},
		{Held, "ConfirmEnd", "too many relations would end at once", "declare it again, or delete it"},
		{Suspended, "NoOffer", "no Offer covers relations that were open", "restore the Offer"},
		{Suspended, "NamespaceReplaced", "an Offer is to a namespace that was deleted and made again",
			"renew the Offer if it is to be for the new one, with the command in the message"},
		{RestartsPaused, "NothingToRestart", "Jobs, CronJobs and bare Pods are not restarted", "recreate them"},
		{RestartsPaused, "LeftToPeople", "the update strategy of the workload replaces no pods by itself",
			"do what the message shows: resume it, lower its partition, or delete the pods"},
		{RestartsPaused, "TooManyRestarts", "data changed too often within an hour", "wait, or find out what changes the data"},
		{AgentFailed, "NotRunning", "its image cannot be pulled, or it exits: tengu.io/handlers names no folder of its image, for instance",
			"correct what the message names; the kubelet retries by itself"},
		{AgentFailed, "GateClosed", "the data is complete, and a pod's gate stays closed: its agent cannot reach the controller, or write files",
			"read the Events of the pod; allow the connection, or make room"},
		{AgentFailed, "FilesNotWritten", "an agent cannot write files: their 16 MiB are full, for instance", "have providers send less"},
		{AgentFailed, "EgressDenied", "NetworkPolicies keep the agent of a pod from the controller",
			"allow egress to TCP port 8443 of the pods of relations-controller"},
		{AgentFailed, "OldKubelet", "the kubelet of a pod's node is older than 1.35, and leaves its variables empty",
			"upgrade the node, or keep the pods from it"},
		{AgentFailed, "VirtualNode", "a pod is on a virtual node, which starts no native sidecar", "keep the pods from it"},
		{AgentOutdated, "AgentOutdated", "a pod may read more databags than its older agent accepts", "replace the pod, as the message shows"},
		{NotInjected, "KeysRemoved", "another writer has removed from the pod template what Orcon copied there", "write them there"},
		{NotInjected, "NoAgent", "the pod was created before its declaration, its namespace's label or Orcon", "restart the workload"},
		{LeftOut, "NameTaken", "another object has the name of the application", "rename one, or set tengu.io/application"},
		{LeftOut, "DotInName", "the name of an application has no dot", "set tengu.io/application"},
		{LeftOut, "LongName", "the name of an application has at most 63 characters", "set tengu.io/application"},
		{LeftOut, "SelectsSeveral", "the Service selects several applications", "narrow its selector"},
		{LeftOut, "SelectsNothing", "the Service selects no pod or workload yet", "correct its selector, or create the workload"},
		{GateCycle, "GateCycle", "applications wait for each other", "set tengu.io/gate: none on one of them"},
		{HandlerFailed, "HandlerFailed", "a unit's handler fails, and is retried", "see the logs that the message names"},
		{EndsOwed, "EndsOwed", "the end of a relation is not handled yet", "start a unit with handlers, or see why its handler fails"},
		{EndsOwed, "Unreadable", "a RelationSide cannot be read, so that it is unknown whether it owes an end",
			"correct or delete the object in the message"},
		{EndsHeld, "EndsHeld", "too many relations have ended at once",
			"orcon ends -n NAMESPACE; then orcon ends keep --all -n NAMESPACE, or orcon ends confirm --all -n NAMESPACE"},
		{WritesLimited, "WritesLimited", "a budget of writes is used up", "write less, or less often: see the limits"},
		{CommitRefused, "CommitRefused", "what a unit has committed is refused by the API server, or was dropped",
			"refused: correct the policy or quota in the message; dropped: write the data again"},
		{SchemaViolated, "DoesNotFit", "fields of a databag do not fit the interface", "correct the fields in the message"},
		{Incompatible, "BreaksOlderVersion", "a field was removed, required or narrowed", "publish a version that keeps it"},
	}
}

// refusals are the reasons of conditions that name what is left out.
func refusals() []Meaning {
	return []Meaning{
		{EnvRefused, "NotVariables", "names or values are not fit for the environment", "read the file"},
		{FilesRefused, "NotFiles", "keys are not fit for file names", "rename the key"},
		{GrantRefused, "MayNotRead", "Orcon may not read Secrets of the namespace", "create the RoleBinding in the message"},
		{GrantRefused, "Unreadable", "the API server cannot read the Secret", "see what the command in the message prints"},
		{GrantRefused, "NoSecret", "the Secret does not exist", "create it"},
		{GrantRefused, "NeverGranted", "Secrets of this type or name are never granted", "use another Secret"},
		{GrantRefused, "NoConsent", "the Secret does not consent", "annotate it, with the command in the message"},
		{GrantRefused, "NoOffer", "the Offer does not list the Secret", "list it, with the command in the message"},
		{StaleRefused, "NeedsSecret", "a required endpoint needs a secret, which no copy holds, so that its pods wait for Orcon",
			"take tengu.io/gate: stale out, or the secret"},
		{StaleRefused, "TooLarge", "the ConfigMap of the copy, which other copies share, has no room for the data",
			"provide less data, here or in another application that has a key in the ConfigMap"},
		{StaleRefused, "NotWritable", "the API server refuses the copy, or its ConfigMap is not Orcon's", "do what the message shows"},
	}
}

// Explain returns the meaning of a condition's reason. Ready may have the type of another
// condition as its reason, which then has the details.
func Explain(t Type, reason string) (Meaning, bool) {
	if t == Reconciling || t == Stalled {
		t = Ready
	}
	for _, m := range Meanings() {
		if m.Type == t && m.Reason == reason {
			return m, true
		}
	}
	for _, other := range Sentences() {
		if t == Ready && string(other.Type) == reason {
			return Meaning{Ready, reason, other.Means, "see condition " + reason}, true
		}
	}
	return Meaning{}, false
}
