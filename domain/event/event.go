// Package event lists the Events that Orcon writes on objects of the cluster: reason,
// object, meaning and cure. The reference of Events is rendered from it.
//
// What must not come in: how an Event is written, and when (controller/adapter/kube/settle
// writes one when a condition changes, never while it stays the same).
package event

import (
	"cmp"
	"slices"
)

// The reasons of Events that no condition has.
const (
	// Invalid is the reason on an object of Orcon's that cannot be read.
	Invalid = "Invalid"
	// Ready is the reason on a Relation that has become ready.
	Ready = "Ready"
	// Related is the reason on a Relation that Orcon made.
	Related = "Related"
	// Restarted is the reason on a workload that Orcon restarted.
	Restarted = "Restarted"
	// RestartRefused is the reason on a workload that Orcon could not restart.
	RestartRefused = "RestartRefused"
	// HandlerWaiting is the reason on a pod whose handlers cannot be reached yet.
	HandlerWaiting = "HandlerWaiting"
	// RelationsReady is the reason on a workload or Service whose required relations are
	// complete.
	RelationsReady = "RelationsReady"
)

// Negotiate is the action of the relations controller's Events.
const Negotiate = "Negotiate"

// The objects that Events are about.
const (
	Workload = "workload or Service"
	Pod      = "Pod"
	Relation = "Relation"
	Offer    = "Offer"
	Record   = "RelatedApplication"
	Databag  = "Databag"
)

// Event describes the Events of one reason.
type Event struct {
	Reason string
	// Normal is false for a Warning.
	Normal bool
	// On lists the kinds of objects that have such Events.
	On []string
	// Meaning is one sentence.
	Meaning string
	// Cure is the remedy; empty where nothing has to be done.
	Cure string
}

// Relations returns the Events of relations, ordered by reason.
func Relations() []Event {
	all := slices.Concat(good(), wrongRelations(), wrongApplications(), wrongCopies(), wrongPods())
	slices.SortFunc(all, func(a, b Event) int { return cmp.Compare(a.Reason, b.Reason) })
	return all
}

// good returns the Events without a fault.
func good() []Event {
	return []Event{
		{HandlerWaiting, true, []string{Pod},
			"The port of tengu.io/on-change does not answer yet; events wait. After a minute this is a failure.",
			"If it lasts, check that a container listens on the port."},
		{"Offered", true, []string{Offer}, "The offer is in force; the message lists the relations that use it.", ""},
		{Ready, true, []string{Relation}, "The relation has become ready.", ""},
		{Related, true, []string{Relation}, "Orcon made the relation.", ""},
		{RelationsReady, true, []string{Workload}, "All required relations of the application are complete.", ""},
		{Restarted, true, []string{Workload}, "Orcon restarted the workload since the data of its relations changed.", ""},
	}
}

// wrongRelations returns the Warnings on Relations, and on the applications that they join.
func wrongRelations() []Event {
	return []Event{
		{"AlreadyRelated", false, []string{Relation}, "Another Relation already joins the same two endpoints.", "As the message says."},
		{"DataMissing", false, []string{Workload, Pod, Relation}, "The other side has not given all the data that the interface requires.",
			"Read the message: it names the keys and who must set them."},
		{"DoesNotFit", false, []string{Workload, Pod, Relation}, "Data does not fit the schema of the interface.",
			"Correct the value that the message names."},
		{"Ending", false, []string{Relation}, "The relation ends; the message says what it waits for.",
			"Wait."},
		{"HandlerFailed", false, []string{Workload, Pod, Relation}, "A handler fails; its event is sent again by itself.",
			"Read the handler's log: kubectl logs POD --all-containers."},
		{Invalid, false, []string{Relation, Record, Databag}, "The object cannot be read, so that nothing is done to it; all else goes on.",
			"Correct the field that the message names, or delete the object."},
		{"NamespaceReplaced", false, []string{Workload, Pod, Relation, Offer},
			"A namespace was deleted and made again, and gets nothing from relations with the earlier one.",
			"Renew the Offer or delete the Relation, with the command in the message."},
		{"NoData", false, []string{Workload, Pod, Relation}, "The other side has given no data yet.", "Wait, or check the other application."},
		{"NoMatchingEndpoint", false, []string{Workload, Pod, Relation, Offer}, "The two applications have no endpoints that fit.",
			"Compare interface names, versions and roles in the message."},
		{"NoOffer", false, []string{Workload, Pod, Relation}, "The other namespace offers nothing to this one.",
			"Create an Offer in the provider's namespace."},
		{"NoUnit", false, []string{Relation}, "The data is complete, and no pod of the consumer has an agent yet.",
			"Start a pod of the consumer, or recreate one that has no agent."},
		{"OptedOut", false, []string{Workload, Pod, Relation, Offer}, "The namespace has not opted in.",
			"Label it: kubectl label namespace NAME tengu-injector=enabled."},
		{"OverLimit", false, []string{Relation}, "The relation is older than a limit that it exceeds; it works.",
			"Raise the limit (!N), or end a relation."},
		{"ProviderGone", false, []string{Workload, Pod, Relation}, "The provider does not exist any more.",
			"Create it again, or end the relation."},
		{"RequirerGone", false, []string{Relation}, "The consumer does not exist any more.", "Create it again, or end the relation."},
		{"Suspended", false, []string{Workload, Pod, Relation}, "The Offer that opened the relation was withdrawn.",
			"Restore the Offer, or end the relation."},
	}
}

// wrongApplications returns the Warnings on workloads, Services, Pods and Offers alone.
func wrongApplications() []Event {
	return []Event{
		{"Ambiguous", false, []string{Workload, Pod}, "A name in tengu.io/relations fits several endpoints, so that Orcon makes no relation.",
			"Write the endpoints: endpoint=application:endpoint."},
		{"ConfirmEnd", false, []string{Workload, Pod}, "More relations would end at once than Orcon ends by itself, so that it ends none.",
			"Declare them again. To end them instead: kubectl -n NAMESPACE delete relation NAME."},
		{"DeclarationGone", false, []string{Workload, Pod}, "The application declares nothing any more; its relations are held for a while.",
			"Restore the annotation, or delete the relations."},
		{"DotInName", false, []string{Workload, Pod}, "A workload whose name has a dot is ignored: a dot precedes a namespace.",
			"Set tengu.io/application to a name without a dot."},
		{"EndOwed", false, []string{Workload, Pod}, "An earlier relation of the same two endpoints has ended, and that is not handled yet.",
			"See condition EndsOwed of the application that the message names."},
		{"EndsOwed", false, []string{Workload}, "Relations have ended, and no unit that leads has handled that yet.",
			"Start a unit with handlers, or fix the handler; to waive an end: orcon ends waive NAME."},
		{"EndsHeld", false, []string{Workload}, "Many relations ended at once: no handler runs for those in the message until a person decides.",
			"List them: orcon ends -n NAMESPACE. To take them back: orcon ends keep --all -n NAMESPACE; to let handlers run: " +
				"orcon ends confirm --all -n NAMESPACE."},
		{"GateCycle", false, []string{Workload}, "Applications wait for each other to start.",
			"Mark one of the endpoints optional with '?', or set tengu.io/gate: none."},
		{"InvalidDeclaration", false, []string{Workload}, "An annotation or label of Orcon is wrong.", "Correct the entry in the message."},
		{"LeftToPeople", false, []string{Workload}, "The workload has pods of an earlier template, and its update strategy replaces none.",
			"Do what the message shows."},
		{"LimitReached", false, []string{Workload, Pod}, "An endpoint has as many relations as it allows.",
			"Raise the limit (!N), or end another relation."},
		{"LongName", false, []string{Workload, Pod}, "A workload whose name has more than 63 characters is ignored: no Relation has room for it.",
			"Set tengu.io/application to a shorter name."},
		{"MayNotRead", false, []string{Workload}, "Orcon may not read the Secret that is to be granted.",
			"Give the relations controller permission to read it, as the message shows."},
		{"NameTaken", false, []string{Workload, Pod}, "Another workload or Service has the application's name.",
			"Rename one of them, or set tengu.io/application."},
		{"NeverGranted", false, []string{Workload}, "A Secret of this type is never granted.",
			"Copy what may be granted into a Secret of type Opaque."},
		{"NoApplication", false, []string{Workload, Pod, Offer}, "No application has the name.", "Create it, or correct the name."},
		{"NoConsent", false, []string{Workload}, "The Secret does not consent to be granted.", "Annotate the Secret as the message shows."},
		{"NoRelationDeclared", false, []string{Workload, Pod}, "No provider is named for a required endpoint.", "Add it to tengu.io/relations."},
		{"NoSecret", false, []string{Workload}, "The Secret that is to be granted does not exist.", "Create it, or correct its name."},
		{"NotFiles", false, []string{Workload}, "Keys cannot be file names and are left out of the files.", "Rename the keys."},
		{RestartRefused, false, []string{Workload}, "Data changed, and the API server refuses to restart the workload for it.",
			"Change the policy that the message names, or restart it: kubectl rollout restart."},
		{"NotVariables", false, []string{Workload}, "Keys cannot be environment variables and are left out of the environment.",
			"Read the files, or rename the keys."},
		{"NothingToRestart", false, []string{Workload}, "Data changed, but Orcon does not restart a Job, a CronJob or a bare Pod.",
			"Create it again to use the new data as environment."},
		{"SelectsNothing", false, []string{Workload}, "The Service selects no pods of an application.", "Correct its selector."},
		{"SelectsSeveral", false, []string{Workload}, "The Service selects pods of several workloads, so that its application is unknown.",
			"Narrow its selector, or set tengu.io/application."},
		{"TooManyRestarts", false, []string{Workload}, "Data changes too often to restart the workload for each change.",
			"Use tengu.io/on-change: files, or wait."},
		{"Unreadable", false, []string{Workload, Pod, Relation}, "Something that is needed for this object cannot be read.",
			"Correct or delete the object that the message names."},
		{"WaitingForRelations", false, []string{Workload, Pod},
			"Required relations are not complete; the application's pods wait with their start gate closed.",
			"Read the message: it names each endpoint and what is missing."},
	}
}

// wrongCopies returns the Warnings on workloads whose pods cannot start with a copy of their data.
func wrongCopies() []Event {
	return []Event{
		{"NeedsSecret", false, []string{Workload}, "A required endpoint needs a secret, and no copy of the data holds one.",
			"Take tengu.io/gate: stale out, or the secret."},
		{"NotWritable", false, []string{Workload}, "The API server refuses the copy of the application's data, or its ConfigMap is not Orcon's.",
			"Do what the message shows."},
		{"TooLarge", false, []string{Workload}, "The ConfigMap of the copy of the application's data has no room for it.",
			"Provide less data, here or in another application that has a key in the ConfigMap."},
	}
}

// wrongPods returns the Warnings on workloads whose pods have no agent, or one that does not do its work.
func wrongPods() []Event {
	return []Event{
		{"GateClosed", false, []string{Workload}, "The data is complete, and the start gate of a pod stays closed.",
			"Read the Events of the pod: its agent names what it cannot reach or write."},
		{"FilesNotWritten", false, []string{Workload}, "The agent of a pod cannot write files: their 16 MiB are full, for instance.",
			"Have providers send less."},
		{"EgressDenied", false, []string{Workload}, "A pod waits at its gate, and NetworkPolicies keep its agent from the controller.",
			"Allow egress to TCP port 8443 of the pods of relations-controller."},
		{"OldKubelet", false, []string{Workload}, "The kubelet of a pod's node is older than 1.35, and leaves its variables empty.",
			"Upgrade the node, or keep the pods from it."},
		{"VirtualNode", false, []string{Workload}, "A pod is on a virtual node, which starts no native sidecar.", "Keep the pods from it."},
		{"AgentOutdated", false, []string{Workload}, "The agent of a pod is too old to receive the pod's data.",
			"Replace the pod, as the message shows."},
		{"NotRunning", false, []string{Workload}, "A container that Orcon added to a pod does not run.", "Correct what the message names."},
		{"KeysRemoved", false, []string{Workload}, "Another writer has removed from a pod template what Orcon had copied there.",
			"Write the keys on the template, in the place from which the workload is applied."},
		{"NoAgent", false, []string{Workload}, "Pods that should have an agent have none.", "Recreate them: kubectl rollout restart."},
		{"WritesLimited", false, []string{Workload}, "A unit writes more than a budget allows, so that its writes are put off.",
			"Write less, or less often; the message names the unit and the budget."},
		{"CommitRefused", false, []string{Workload}, "A transaction of a unit cannot be delivered, or was dropped.",
			"Refused: correct the policy or quota in the message. Dropped: write the data again."},
	}
}
