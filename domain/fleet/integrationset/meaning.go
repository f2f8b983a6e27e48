package integrationset

import "gitlab.ilabt.imec.be/tengu/orcon/domain/condition"

// Meanings returns every reason that an IntegrationSet shows.
func Meanings() []condition.Meaning {
	return []condition.Meaning{
		{Type: condition.Stalled, Reason: Paused, Means: "spec.paused is true: no member is written", Cure: "set spec.paused to false"},
		{Type: condition.Reconciling, Reason: Fetching, Means: "the data or the chart are still being fetched",
			Cure: "if it lasts, check the server"},
		{Type: condition.Reconciling, Reason: FetchFailed, Means: "the data or the chart cannot be read; members go on with what they have",
			Cure: "see the message: address, credentials, digest; it is tried again"},
		{Type: condition.Stalled, Reason: SourceRefused,
			Means: "a source is in the cluster, on a node, or at a loopback, link-local or metadata address",
			Cure:  "use a server outside of the cluster, or have an administrator allow it with -allow"},
		{Type: condition.Stalled, Reason: InvalidSpec, Means: "a field of the spec does not fit the data", Cure: "correct the field that the message names"},
		{Type: condition.Stalled, Reason: ReadOnly,
			Means: "the set selects all environments: it writes nothing, and its message counts what it would write",
			Cure:  "name environments, or set spec.allowWrites: AllEnvironments"},
		{Type: condition.Stalled, Reason: SelfApproval,
			Means: "another user must approve changes in the namespace, and the set does not name the user who requests them",
			Cure:  "set annotation orcon.tengu.io/requester of the set to your user name"},
		{Type: condition.Stalled, Reason: DryRun,
			Means: "the controller runs with -dryRun: no set writes, and the message counts what it would write",
			Cure:  "start the controller with -dryRun=false; where the data deploy it, with MANAGER_DRY_RUN: --no-dry-run"},
		{Type: condition.Stalled, Reason: Rival,
			Means: "another program runs under the name of the controller's own integration: the set writes nothing",
			Cure: "scale the workload that the message names to 0, set its image to the controller's, or take it over by a set that " +
				"selects this integration alone"},
		{Type: condition.Stalled, Reason: reasonHeld,
			Means: "more workloads would be deleted or stopped than spec.guard allows, or the controller's own",
			Cure:  "correct the data, or set annotation orcon.tengu.io/confirm to the digest in the message"},
		{Type: condition.Stalled, Reason: reasonFaulty, Means: "a file of the data is wrong; members that depend on it stay as they are",
			Cure: "correct the file and line that the message names"},
		{Type: condition.Stalled, Reason: reasonNothing, Means: "no entry of the data fits what the set selects",
			Cure: "correct spec.environments, spec.cluster, spec.upstream or spec.integrations, or the data"},
		{Type: condition.Stalled, Reason: reasonApproval, Means: "plans of members wait for approval; others go on",
			Cure: "look at the plans and approve them: orcon fleet approve"},
		{Type: condition.Stalled, Reason: reasonConflict,
			Means: "a member belongs to another IntegrationSet, or its name to a BundleDeployment of another user; others go on",
			Cure: "have only one set select it, or rename the BundleDeployment that the message names; for what a namespace shares, " +
				"give both sets the same chart, account and conflicts, or set spec.chart.values.excludeService: true in one"},
		{Type: condition.Stalled, Reason: reasonStalled, Means: "a member needs a person; others go on",
			Cure: "see the message, which is that of its BundleDeployment"},
		{Type: condition.Reconciling, Reason: reasonDeleting, Means: "the set is being deleted with its members (spec.deletionPolicy: Delete)",
			Cure: "if it lasts, see status.waits"},
		{Type: condition.Reconciling, Reason: reasonProgressing, Means: "members are being made, changed or deleted", Cure: "if it lasts, see status.waits"},
		{Type: condition.Ready, Reason: reasonReady, Means: "every member is as declared, and ready"},
	}
}
