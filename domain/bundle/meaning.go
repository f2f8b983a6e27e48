package bundle

import "gitlab.ilabt.imec.be/tengu/orcon/domain/condition"

// Meaning explains one reason of a BundleDeployment, for the reference of conditions.
type Meaning struct {
	// Type is the condition that has the details; Ready shows the same reason.
	Type condition.Type
	// Reason is the word in the condition and in the Event.
	Reason string
	// Means describes the state, Cure what a person does; empty where nothing is needed.
	Means, Cure string
}

// Sentences returns what each condition that only BundleDeployments have tells while it is
// true, in the order of the stages.
func Sentences() []condition.Sentence {
	const of = "BundleDeployment"
	return []condition.Sentence{
		{Type: Sourced, Of: of, Means: "the content is fetched"},
		{Type: Rendered, Of: of, Means: "the content is rendered"},
		{Type: Planned, Of: of, Means: "the changes are known"},
		{Type: Approved, Of: of, Means: "the plan may be carried out"},
		{Type: UnderWay, Of: of, Means: "a revision is being carried out"},
		{Type: Healthy, Of: of, Means: "every object is up to date and healthy"},
		{Type: HealthAssumed, Of: of, Means: "an object counts as healthy that reports nothing about its health"},
		{Type: Degraded, Of: of, Means: "a revision, or the correction of a change, has failed"},
	}
}

// Meanings returns every reason that a BundleDeployment shows, in the order of the stages.
func Meanings() []Meaning {
	return append(stopped(), carried()...)
}

// stopped returns the reasons for which the requested content is not deployed.
func stopped() []Meaning {
	return []Meaning{
		{condition.Stalled, "Paused", "spec.paused is true: nothing is written", "orcon resume NAME"},
		{condition.Stalled, "InvalidSpec", "a field of the spec is wrong", "correct the field that the message names"},
		{condition.Stalled, "AccountForbidden",
			"the namespace does not let the bundle controller act as the ServiceAccount, or that may not read the record",
			"bind the role, with the command in the message; it is tried again every 30 seconds"},
		{condition.Stalled, "RecordForged", "the stored content differs from its BundleRevision",
			"delete the Secret that the message names: the bundle is deployed anew"},
		{condition.Reconciling, "StoreFailed", "the record cannot be read or written", "none, if the API server recovers; else see the message"},
		{condition.Stalled, "DependencyCycle", "deployments wait for each other", "remove one of them from spec.dependsOn"},
		{condition.Reconciling, "DependencyMissing", "spec.dependsOn names a deployment that does not exist", "create it, or correct the name"},
		{condition.Reconciling, "DependencyNotReady", "a deployment of spec.dependsOn is not ready yet", ""},
		{Sourced, "Fetching", "a source has not answered completely yet", "if it lasts, check the server"},
		{Sourced, "SourceRefused", "a source is in the cluster, on a node, or at a loopback, link-local or metadata address",
			"use a server outside of the cluster, or have an administrator allow it with -allow"},
		{Sourced, "FetchFailed", "a source cannot be read; it is tried again", "see the message: address, credentials, digest"},
		{Rendered, "ValuesMissing", "an object of spec.render.valuesFrom cannot be read", "create it, or let the ServiceAccount read it"},
		{Rendered, "RenderFailed", "the content cannot be rendered", "correct the file that the message names"},
		{Planned, "PlanFailed", "the API server refuses an object, or the ServiceAccount lacks permissions",
			"correct the object, or bind the role that the message names"},
		{Planned, "ConfigurationMissing", "workloads read a ConfigMap, Secret or ServiceAccount that does not exist",
			"create it, with the command in the message"},
		{Planned, string(Conflicted), "an object exists that this deployment did not make", "delete or rename it, or set spec.conflicts"},
		{Planned, "Quarantined", "this content failed before", "change the bundle, or retry it with the annotation orcon.tengu.io/retry"},
		{Approved, string(Unapproved), "the plan waits for an Approval", "orcon approve NAME -n NAMESPACE"},
		{Approved, "PlanChanged", "the plan changed after it was approved", "look at the new plan and approve it"},
		{Approved, string(Refused), "a rule of spec.approval.policy refuses the plan", "change the bundle, or approve the plan"},
		{Approved, string(Empty), "the bundle is empty, and every object would be deleted",
			"correct the source, or orcon approve NAME -n NAMESPACE --confirm KIND/NAME for each"},
		{Approved, string(TooMany), "more objects would be deleted than spec.prune.maxDeletions",
			"orcon approve NAME -n NAMESPACE --confirm KIND/NAME for each"},
		{Approved, string(Confirm), "a deletion cannot be undone", "orcon approve NAME -n NAMESPACE --confirm KIND/NAME"},
		{Approved, string(Claims), "a StatefulSet with claims is deleted and made again, and its claims stay as they are",
			"orcon approve NAME -n NAMESPACE --confirm StatefulSet/NAME, or take the change back"},
		{condition.Reconciling, "ReadFailed", "an object of the bundle cannot be read; it is tried again",
			"see the message: a permission, or a conversion webhook that does not answer"},
		{condition.Stalled, "RollbackFailed", "the last healthy content cannot be restored", "see the message, and install a corrected bundle"},
		{condition.Reconciling, "Deleting", "the objects of a deleted deployment are being deleted", ""},
		{condition.Reconciling, string(InUse), "objects of a CustomResourceDefinition, or of the bundle controller, still exist",
			"delete them while their operator is running"},
		{condition.Reconciling, "DeletionStuck", "an object cannot be deleted; it is tried again",
			"see the message: a finalizer, or a permission"},
	}
}

// carried returns the reasons of steps that were carried out, and of conditions that are as they should be.
func carried() []Meaning {
	return []Meaning{
		{Sourced, string(Sourced), "the content is fetched", ""},
		{Rendered, string(Rendered), "the content is rendered", ""},
		{Planned, string(Planned), "the plan is made", ""},
		{Approved, string(Approved), "the plan may be carried out", ""},
		{UnderWay, string(Progressing), "a revision is being carried out", "if it lasts, see status.waits"},
		{UnderWay, string(StateSucceeded), "no revision is being carried out; the last one succeeded", ""},
		{UnderWay, string(StateFailed), "no revision is being carried out; the last one failed", "see condition Degraded"},
		{Healthy, string(Healthy), "every object is up to date and healthy",
			"none; if the message names kinds, let the account list and watch them: changes are corrected sooner"},
		{Healthy, string(Progressing), "a revision is being carried out", "see condition Progressing"},
		{Healthy, ReasonDrifted, "others have changed or deleted an object",
			"none with drift.mode: Correct; else undo the change, or set spec.drift.ignore"},
		{Healthy, unhealthy, "an object that was healthy is not", "see status.waits"},
		{Healthy, string(Degraded), "an object, or the last revision, has failed", "see condition Degraded"},
		{Degraded, string(Failed), "the last revision failed without a way back, or an object has failed",
			"change the bundle, or see the object that the message names"},
		{HealthAssumed, "NoEvidence", "an object counts as healthy that had reported nothing about its health when time was up",
			"add the probe that the message names to spec.healthChecks"},
		{Degraded, "NoFailure", "nothing has failed", ""},
		{condition.Reconciling, "Settled", "nothing is under way", ""},
		{condition.Reconciling, string(condition.Stalled), "nothing happens before a person acts", "see condition Stalled"},
		{condition.Stalled, "NoActionNeeded", "nothing needs a person's action", ""},
	}
}
