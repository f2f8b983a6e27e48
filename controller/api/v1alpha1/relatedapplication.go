package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RelatedApplication is what Orcon knows of one application that takes part:
// its endpoints, where they are declared, its units, and what it waits for. It
// is generated; change the declarations, not this.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rapp,categories=orcon
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="ApplicationStatus")].reason`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:printcolumn:name="Says",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="ApplicationStatus")].message`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type RelatedApplication struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// status is written by the controller.
	// +optional
	Status RelatedApplicationStatus `json:"status,omitempty"`
}

// RelatedApplicationStatus is what Orcon knows of an application.
type RelatedApplicationStatus struct {
	// observedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// sources are the objects that the application is made of, as kind/name.
	// +optional
	// +listType=atomic
	Sources []string `json:"sources,omitempty"`
	// leftOut are objects that declare something under this name and take no part.
	// +optional
	// +listType=atomic
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// endpoints in force.
	// +optional
	// +listType=map
	// +listMapKey=name
	Endpoints []Endpoint `json:"endpoints,omitempty"`
	// waiting lists the endpoints without a complete relation, and why.
	// +optional
	// +listType=map
	// +listMapKey=endpoint
	Waiting []Waiting `json:"waiting,omitempty"`
	// units are its pods with an agent, and the last ones that are gone.
	// +optional
	// +listType=map
	// +listMapKey=number
	Units []Unit `json:"units,omitempty"`
	// nextUnit is the number of the next new unit.
	// +optional
	NextUnit int64 `json:"nextUnit,omitempty"`
	// grants are the Secrets that its endpoints give to whoever relates to them. What is
	// in them is read from the Secret itself.
	// +optional
	// +listType=map
	// +listMapKey=endpoint
	// +kubebuilder:validation:MaxItems=256
	Grants []Grant `json:"grants,omitempty"`
	// leader is the one unit that may write its application's bags; unset as long as
	// none has asked to.
	// +optional
	Leader *Leader `json:"leader,omitempty"`
	// workload is how its leader says it is, by status-set --application; unset as long
	// as none has.
	// +optional
	Workload *WorkloadStatus `json:"workload,omitempty"`
	// lastRelation is the highest relation id that the application was given.
	// +optional
	LastRelation int64 `json:"lastRelation,omitempty"`
	// restarts is what is remembered in restart mode.
	// +optional
	Restarts *Restarts `json:"restarts,omitempty"`
	// conditions: Ready, Reconciling, Stalled, and what is special.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Role is the part an endpoint plays.
// +kubebuilder:validation:Enum=provides;requires;peers
type Role string

// Necessity says whether the start gate waits for an endpoint.
// +kubebuilder:validation:Enum=Required;Optional
type Necessity string

// The necessities.
const (
	// Required endpoints are waited for.
	Required Necessity = "Required"
	// Optional endpoints are not.
	Optional Necessity = "Optional"
)

// Endpoint is a named end of an application.
type Endpoint struct {
	// name is unique in the application.
	Name string `json:"name"`
	// role is provides, requires or peers.
	Role Role `json:"role"`
	// interface is what both sides must agree on.
	Interface string `json:"interface"`
	// version of the interface; unset accepts any.
	// +optional
	Version int32 `json:"version,omitempty"`
	// necessity is Required, the default, or Optional.
	// +optional
	Necessity Necessity `json:"necessity,omitempty"`
	// limit is the most relations it takes; unset is no limit.
	// +optional
	Limit int32 `json:"limit,omitempty"`
}

// LeftOut is an object that declares something and takes no part.
type LeftOut struct {
	// object is written as kind/name.
	Object string `json:"object"`
	// reason is one word.
	Reason string `json:"reason"`
	// message is one sentence that a person can act on.
	Message string `json:"message"`
}

// Waiting is an endpoint that has no complete relation.
type Waiting struct {
	// endpoint is its name.
	Endpoint string `json:"endpoint"`
	// necessity is Required, the default, or Optional.
	// +optional
	Necessity Necessity `json:"necessity,omitempty"`
	// reason is one word.
	Reason string `json:"reason"`
	// message is one sentence that a person can act on.
	Message string `json:"message"`
}

// Handlers says whether a pod has handlers.
// +kubebuilder:validation:Enum=None;Present
type Handlers string

// HandlersPresent pods have handlers, which hear of events.
const HandlersPresent Handlers = "Present"

// Unit is one pod of an application.
type Unit struct {
	// number is the unit's name within its application, never used again.
	Number int64 `json:"number"`
	// pod is the name of its pod.
	Pod string `json:"pod"`
	// podUID is the UID of its pod.
	PodUID string `json:"podUID"`
	// address is its pod's; unset as long as it has none, and then nobody sees it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Address string `json:"address,omitempty"`
	// handlers says whether its pod has handlers: None, the default, or Present.
	// +optional
	Handlers Handlers `json:"handlers,omitempty"`
	// since is when its pod was created.
	Since metav1.Time `json:"since"`
	// leaving says why it will be gone, while its pod ends; unset otherwise, and of
	// a unit that comes back.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Leaving string `json:"leaving,omitempty"`
	// gone says why it is gone; unset while it lives.
	// +optional
	Gone string `json:"gone,omitempty"`
	// goneSince is when it was found gone.
	// +optional
	GoneSince *metav1.Time `json:"goneSince,omitempty"`
	// workload is how its pod says it is, by status-set; unset as long as it has not.
	// +optional
	Workload *WorkloadStatus `json:"workload,omitempty"`
	// failing is what its handlers fail at; unset while they do not.
	// +optional
	Failing *Failing `json:"failing,omitempty"`
}

// Consent says whether a Secret is granted.
// +kubebuilder:validation:Enum=Given;Missing
type Consent string

// The consents.
const (
	// ConsentGiven Secrets are read by whoever relates.
	ConsentGiven Consent = "Given"
	// ConsentMissing ones are not; the condition GrantRefused says why.
	ConsentMissing Consent = "Missing"
)

// Grant is a Secret that an endpoint gives by reference.
type Grant struct {
	// endpoint is the application's own.
	// +kubebuilder:validation:MaxLength=63
	Endpoint string `json:"endpoint"`
	// secret is the name of a Secret of this namespace.
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret"`
	// consent is Given or Missing.
	Consent Consent `json:"consent"`
	// key is that of the databag under which the reference stands.
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
	// version is the Secret's resourceVersion as it was seen last.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`
	// revision counts the versions; unset as long as it was never granted.
	// +optional
	Revision int64 `json:"revision,omitempty"`
}

// Leader is the unit that may write its application's bags.
type Leader struct {
	// unit is its number.
	Unit int64 `json:"unit"`
	// podUID is the UID of its pod.
	// +kubebuilder:validation:MaxLength=64
	PodUID string `json:"podUID"`
	// term is higher than that of every leader before.
	Term int64 `json:"term"`
	// expires is when its lease ends unless it is renewed.
	Expires metav1.MicroTime `json:"expires"`
}

// Restarts is what is remembered of an application in restart mode.
type Restarts struct {
	// versions maps a relation's UID to the bag version that pods started with.
	// +optional
	Versions map[string]string `json:"versions,omitempty"`
	// times of the restarts of the last hour, oldest first.
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
