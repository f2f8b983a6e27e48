package relation

import "gitlab.ilabt.imec.be/tengu/orcon/domain/application"

// The reasons why a relation is not made or not ready.
const (
	// ReasonComplete: all that was asked for is there.
	ReasonComplete = "Complete"
	// ReasonNoApplication: the application does not exist yet.
	ReasonNoApplication = "NoApplication"
	// ReasonNoMatch: no endpoints fit.
	ReasonNoMatch = "NoMatchingEndpoint"
	// ReasonAmbiguous: several endpoints fit.
	ReasonAmbiguous = "Ambiguous"
	// ReasonLimit: an endpoint has as many relations as it takes.
	ReasonLimit = "LimitReached"
	// ReasonRelated: another Relation joins the same pair.
	ReasonRelated = "AlreadyRelated"
	// ReasonOverLimit: the relation is older than its limit, which is exceeded by it.
	ReasonOverLimit = "OverLimit"
	// ReasonNoUnit: the data is complete, and the requirer has had no pod with an agent.
	ReasonNoUnit = "NoUnit"
	// ReasonNoOffer: the other namespace offers nothing of that name.
	ReasonNoOffer = "NoOffer"
	// ReasonSuspended: the other namespace offers it no more.
	ReasonSuspended = "Suspended"
	// ReasonNamespaceReplaced: a namespace was deleted and made again, and what was agreed with it is not for the
	// new one (TRUST.md T8).
	ReasonNamespaceReplaced = "NamespaceReplaced"
	// ReasonOffered: what an Offer is about can be related to.
	ReasonOffered = "Offered"
	// ReasonOptedOut: the namespace of an Offer has not opted in, or the pods of an
	// application opt out of injection.
	ReasonOptedOut = "OptedOut"
	// ReasonNoRelation: tengu.io/relations has no entry for an endpoint.
	ReasonNoRelation = "NoRelationDeclared"
	// ReasonNoData: both sides are there and the bag is empty.
	ReasonNoData = "NoData"
	// ReasonMissing: both sides are there and the bag lacks fields that the interface
	// marks as ready.
	ReasonMissing = "DataMissing"
	// ReasonViolated: a bag does not fit its interface.
	ReasonViolated = "DoesNotFit"
	// ReasonProviderGone: the provider's application is gone.
	ReasonProviderGone = "ProviderGone"
	// ReasonRequirerGone: the requirer's application is gone.
	ReasonRequirerGone = "RequirerGone"
	// ReasonDeclarationGone: both are there, but one no longer says so.
	ReasonDeclarationGone = "DeclarationGone"
	// ReasonConfirm: a person must agree that so many relations end.
	ReasonConfirm = "ConfirmEnd"
	// ReasonNotVariables is the reason for keys and values that cannot be environment variables.
	ReasonNotVariables = "NotVariables"
	// ReasonNotFiles is the reason for keys that cannot be files.
	ReasonNotFiles = "NotFiles"
	// ReasonNeedsSecret is the reason for data that no copy may hold.
	ReasonNeedsSecret = "NeedsSecret"
	// ReasonTooLarge is the reason for data for which the ConfigMap of its copy has no room.
	ReasonTooLarge = "TooLarge"
	// ReasonNotWritable is the reason for a copy that the API server refuses, or whose ConfigMap is not Orcon's.
	ReasonNotWritable = "NotWritable"
	// ReasonNothingToRestart is the reason for workloads that are never restarted.
	ReasonNothingToRestart = "NothingToRestart"
	// ReasonLeftToPeople is the reason for workloads whose strategy leaves it to people to replace
	// pods.
	ReasonLeftToPeople = "LeftToPeople"
	// ReasonTooManyRestarts is the reason for a restart that is put off.
	ReasonTooManyRestarts = "TooManyRestarts"
	// ReasonEnding: the relation is being taken down.
	ReasonEnding = "Ending"
	// ReasonEndOwed: the end of the earlier relation of the pair has not been handled.
	ReasonEndOwed = "EndOwed"
	// ReasonUnreadable: an object, or one that it needs, exists and cannot be read.
	ReasonUnreadable = "Unreadable"
	// ReasonWaiting: an application waits for one of its relations.
	ReasonWaiting = "WaitingForRelations"
)

// Obstacle is why one reference has led to no relation.
type Obstacle struct {
	Reference application.Reference
	Reason    string
	Message   string
	// Stuck is set where nothing but a person can remove it.
	Stuck bool
}

// Waiting is one endpoint that has no complete relation.
type Waiting struct {
	Endpoint string
	// Optional endpoints hold no gate.
	Optional bool
	Reason   string
	Message  string
}
