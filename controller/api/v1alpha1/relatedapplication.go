package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RelatedApplication is the observed state of one application: its endpoints, the objects that
// declare them, its units, and what it waits for. It is generated: change the declarations instead.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rapp,categories=orcon
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Units",type=integer,JSONPath=`.status.livingUnits`
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.status.conditions[?(@.type=="ApplicationStatus")].reason`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Ends owed",type=integer,JSONPath=`.status.endsOwed`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Says",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ApplicationStatus")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RelatedApplication struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// state holds what the controller keeps of the application and cannot compute again.
	// +optional
	State RelatedApplicationState `json:"state,omitzero"`
	// status is written by the controller; unset before its first look.
	// +optional
	Status RelatedApplicationStatus `json:"status,omitempty"`
}

// RelatedApplicationState holds what the controller keeps of an application.
type RelatedApplicationState struct {
	// units lists the pods that have an agent, and at most 64 departed units, each for an hour, and for
	// as long as handlers still have to handle its departure, or did less than an hour ago. Unset: none.
	// +optional
	// +listType=map
	// +listMapKey=number
	Units []Unit `json:"units,omitempty"`
	// nextUnit is the number of the next new unit. Default 0.
	// +optional
	NextUnit int64 `json:"nextUnit,omitempty"`
	// vacancyTime is the time at which the last unit with handlers departed, while the application has no unit. Unset: it
	// has units, or never had handlers.
	// +optional
	VacancyTime *metav1.Time `json:"vacancyTime,omitempty"`
	// lastTerm is the highest term of a leader of the application. Default 0: none.
	// +optional
	LastTerm int64 `json:"lastTerm,omitempty"`
	// grants lists the Secrets that the application's endpoints grant to related applications;
	// their content stays in the Secrets. At most 256. Unset: none.
	// +optional
	// +listType=map
	// +listMapKey=endpoint
	// +kubebuilder:validation:MaxItems=256
	Grants []Grant `json:"grants,omitempty"`
	// staleCopy is Present if a ConfigMap orcon-stale-N has a copy of the application's data, or may have one, with which
	// pods start while Orcon is away, or None (default).
	// +optional
	StaleCopy StaleCopy `json:"staleCopy,omitempty"`
	// restarts is the restart history of an application with tengu.io/on-change: restart. Unset:
	// never restarted.
	// +optional
	Restarts *Restarts `json:"restarts,omitempty"`
	// ends lists the ends of the last ten minutes that were owed to the application's handlers as a provider, at most
	// 256, the last first. Unset: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Ends []RecentEnd `json:"ends,omitempty"`
}

// StaleCopy tells whether there is a copy of the application's data.
// +kubebuilder:validation:Enum=None;Present
type StaleCopy string

// StaleCopyPresent is the value of StaleCopy for an application that has one.
const StaleCopyPresent StaleCopy = "Present"

// RecentEnd is the end of a relation that an application provided.
type RecentEnd struct {
	// relation is the identity of the relation.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Relation string `json:"relation"`
	// namespace is the namespace of the requirer.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// time is the time at which the end was found.
	// +required
	Time metav1.Time `json:"time"`
	// reason is the reason of the end, at most 64 characters.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
}

// RelatedApplicationStatus is the observed state of an application.
type RelatedApplicationStatus struct {
	// observedGeneration is the generation of the object that this status describes. Unset: not
	// observed yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// sources lists the workloads and Services that make up the application, as kind/name. Unset:
	// none.
	// +optional
	// +listType=atomic
	Sources []string `json:"sources,omitempty"`
	// exclusions lists objects that declare something for this application and are ignored. Unset:
	// none.
	// +optional
	// +listType=atomic
	Exclusions []Exclusion `json:"exclusions,omitempty"`
	// endpoints lists the endpoints that the application declares. Unset: none.
	// +optional
	// +listType=map
	// +listMapKey=name
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// waits lists the endpoints without a complete relation. Unset: none.
	// +optional
	// +listType=map
	// +listMapKey=endpoint
	Waits []Wait `json:"waits,omitempty"`
	// livingUnits is the number of units with a living pod. Unset before the first look.
	// +optional
	LivingUnits *int64 `json:"livingUnits,omitempty"`
	// endsOwed is the number of ends of relations that the application's handlers have not handled within ten seconds;
	// condition EndsOwed names them. Default 0: none.
	// +optional
	EndsOwed int32 `json:"endsOwed,omitempty"`
	// leader is the one unit that may write the application's databags. Unset: no unit has
	// requested leadership yet.
	// +optional
	Leader *Leader `json:"leader,omitempty"`
	// reports lists what living units report of themselves. Unset: none reports anything.
	// +optional
	// +listType=map
	// +listMapKey=podUID
	Reports []Report `json:"reports,omitempty"`
	// workload is the status that the leader reports for the application with status-set
	// --application. Unset: none reported.
	// +optional
	Workload *WorkloadStatus `json:"workload,omitempty"`
	// conditions has Ready, Reconciling and Stalled; ApplicationStatus once the workload reports a
	// status; and, while they are true, LeftOut, NotInjected, AgentFailed, AgentOutdated, HandlerFailed,
	// Held, Suspended, RestartsPaused, GateCycle, EnvRefused, FilesRefused, GrantRefused, StaleRefused,
	// EndsOwed, EndsHeld, WritesLimited and CommitRefused. At most 24.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=24
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Role is the part that an endpoint plays in its relations.
// +kubebuilder:validation:Enum=provides;requires;peers
type Role string

// Necessity tells whether the start gate waits for an endpoint.
// +kubebuilder:validation:Enum=Required;Optional
type Necessity string

// The necessities.
const (
	Required Necessity = "Required"
	Optional Necessity = "Optional"
)

// Endpoint is one endpoint of an application.
type Endpoint struct {
	// name is the name of the endpoint, unique in the application.
	// +required
	Name string `json:"name"`
	// role is provides, requires or peers.
	// +required
	Role Role `json:"role"`
	// interface is the name of the interface, which must equal that of the other end.
	// +required
	Interface string `json:"interface"`
	// version is the version of the interface, from 1. Unset: any.
	// +optional
	Version int32 `json:"version,omitempty"`
	// necessity is Required (default) if the start gate waits for the endpoint, or Optional.
	// +optional
	Necessity Necessity `json:"necessity,omitempty"`
	// limit is the highest number of relations of the endpoint. Unset: no limit.
	// +optional
	Limit int32 `json:"limit,omitempty"`
}

// Exclusion is an object that declares something and is ignored.
type Exclusion struct {
	// object is the object as kind/name.
	// +required
	Object string `json:"object"`
	// reason is the reason in one word, such as NameTaken.
	// +required
	Reason string `json:"reason"`
	// message explains the reason and what helps, in one sentence.
	// +required
	Message string `json:"message"`
	// pods lists the pods of an ignored workload, whose agents wait; at most 64. Unset: none.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Pods []string `json:"pods,omitempty"`
}

// Wait is an endpoint without a complete relation.
type Wait struct {
	// endpoint is the name of the endpoint.
	// +required
	Endpoint string `json:"endpoint"`
	// necessity is Required (default) if the start gate waits for the endpoint, or Optional.
	// +optional
	Necessity Necessity `json:"necessity,omitempty"`
	// reason is the reason in one word, such as NoApplication.
	// +required
	Reason string `json:"reason"`
	// message explains the reason and what helps, in one sentence.
	// +required
	Message string `json:"message"`
}

// Handlers tells whether a pod has handlers.
// +kubebuilder:validation:Enum=None;Present
type Handlers string

// HandlersPresent is the value of Handlers for a pod whose handlers receive events.
const HandlersPresent Handlers = "Present"

// Unit is one pod of an application.
type Unit struct {
	// number identifies the unit in its application, from 0; it is never reused.
	// +required
	Number int64 `json:"number"`
	// pod is the name of the unit's pod.
	// +required
	Pod string `json:"pod"`
	// podUID is the UID of the unit's pod.
	// +required
	PodUID string `json:"podUID"`
	// address is the IP address of the unit's pod. Unset: it has none yet, and other units do not
	// see the unit.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Address string `json:"address,omitempty"`
	// handlers is Present if the unit's pod has handlers, or None (default).
	// +optional
	Handlers Handlers `json:"handlers,omitempty"`
	// creationTime is the creation time of the unit's pod.
	// +required
	CreationTime metav1.Time `json:"creationTime"`
	// terminationReason is the reason why the unit departs, while its pod terminates; returns if
	// another pod takes its place. Unset: the pod does not terminate.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TerminationReason string `json:"terminationReason,omitempty"`
	// departureReason is the reason why the unit departed. Unset: it has not departed.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	DepartureReason string `json:"departureReason,omitempty"`
	// departureTime is the time at which the unit was found gone. Unset: it has not departed.
	// +optional
	DepartureTime *metav1.Time `json:"departureTime,omitempty"`
	// overdueTime is the time since which the start gate of the unit's pod is closed although the
	// application's data is complete. Unset: it is not.
	// +optional
	OverdueTime *metav1.Time `json:"overdueTime,omitempty"`
}

// UnitReturns is the terminationReason of a unit that does not depart.
const UnitReturns = "returns"

// Report is the report of a unit on itself; it ends with the unit's pod.
type Report struct {
	// podUID is the UID of the unit's pod.
	// +required
	// +kubebuilder:validation:MaxLength=64
	PodUID string `json:"podUID"`
	// unit is the number of the unit.
	// +required
	Unit int64 `json:"unit"`
	// workload is the status that the unit reports with status-set. Unset: none reported.
	// +optional
	Workload *WorkloadStatus `json:"workload,omitempty"`
	// failure is the event at which the unit's handler fails. Unset: no handler fails.
	// +optional
	Failure *Failure `json:"failure,omitempty"`
	// shortage is the budget of writes that the unit has used up. Unset: no write was put off.
	// +optional
	Shortage *Shortage `json:"shortage,omitempty"`
	// unwritten tells which files the unit's agent could not write when it reported that last. It is
	// over two minutes after its time. Unset: the agent has reported none.
	// +optional
	Unwritten *Unwritten `json:"unwritten,omitempty"`
	// outdatedTime is when the unit's agent was last refused its data, since it is too old to receive that
	// much, to the minute. It is over two minutes after that. Unset: it was not refused any.
	// +optional
	OutdatedTime *metav1.Time `json:"outdatedTime,omitempty"`
}

// Unwritten tells which files an agent cannot write.
type Unwritten struct {
	// message names the files and the reason.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message"`
	// time is when the agent reported it last, to the minute.
	// +required
	Time metav1.Time `json:"time"`
}

// Budget tells whose budget of writes it is.
// +kubebuilder:validation:Enum=Unit;Application;Namespace;Cluster
type Budget string

// Shortage is a budget of writes that a unit has used up.
type Shortage struct {
	// budget is Unit, Application, Namespace, or Cluster for the namespace's part of the cluster's.
	// +required
	Budget Budget `json:"budget"`
	// time is when a write was put off last, to the minute.
	// +required
	Time metav1.Time `json:"time"`
}

// Consent tells whether a Secret is granted.
// +kubebuilder:validation:Enum=Given;Missing
type Consent string

// The consents.
const (
	ConsentGiven   Consent = "Given"
	ConsentMissing Consent = "Missing"
)

// Grant is a Secret that an endpoint grants by reference.
type Grant struct {
	// endpoint is the application's own endpoint.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
	// secret is the name of a Secret in this namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret"`
	// consent is Given, or Missing, which condition GrantRefused explains.
	// +required
	Consent Consent `json:"consent"`
	// key is the key of the databag that holds the reference.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
	// version is the resourceVersion of the Secret at the last look. Unset: the Secret was never
	// seen.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// revision counts the versions of the Secret, from 1. Unset: it was never granted.
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// Leader is the unit that may write the application's databags.
type Leader struct {
	// unit is the number of the unit.
	// +required
	Unit int64 `json:"unit"`
	// podUID is the UID of the unit's pod.
	// +required
	// +kubebuilder:validation:MaxLength=64
	PodUID string `json:"podUID"`
	// term is the number of the leadership; each new leader has a higher one.
	// +required
	Term int64 `json:"term"`
	// expirationTime is the end of the leader's lease unless it is renewed, by the clock of the replica that wrote it; in
	// 1970 once the leader has resigned.
	// +required
	ExpirationTime metav1.MicroTime `json:"expirationTime"`
}

// Restarts is the restart history of an application.
type Restarts struct {
	// copied maps a workload, as Deployment/web, to the version of the consumer keys that the controller has last
	// written into its pod template. Unset: none.
	// +optional
	Copied map[string]string `json:"copied,omitempty"`
	// versions maps the UID of a Relation to the version of the databag with which the pods
	// started. Unset: none.
	// +optional
	Versions map[string]string `json:"versions,omitempty"`
	// times lists the restarts of the last hour, oldest first. Unset: none.
	// +optional
	// +listType=atomic
	Times []metav1.Time `json:"times,omitempty"`
}

// RelatedApplicationList is a list of RelatedApplications.
//
// +kubebuilder:object:root=true
type RelatedApplicationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []RelatedApplication `json:"items"`
}
