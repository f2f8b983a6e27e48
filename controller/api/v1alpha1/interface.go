package v1alpha1

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Interface says what each bag of a relation holds, for all namespaces. Its spec is
// the document of an interface as Orcon's own are written, JSON Schema included. It
// cannot be changed: publish a new version. It is called <name>-v<version>, with
// "-" for "_": under another name it is not in force.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=iface,categories=orcon
// +kubebuilder:printcolumn:name="Interface",type=string,JSONPath=`.spec.name`
// +kubebuilder:printcolumn:name="Version",type=integer,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Why",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Origin",type=string,JSONPath=`.status.origin`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Interface struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the interface's document; it cannot be changed.
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a published version cannot be changed: publish another version"
	Spec InterfaceSpec `json:"spec"`
	// status is written by the controller.
	// +optional
	Status InterfaceStatus `json:"status,omitempty"`
}

// InterfaceSpec is the document of an interface. All of it is kept as it is
// written, also what is not known here: what is misspelt must be told, not lost.
//
// +kubebuilder:pruning:PreserveUnknownFields
type InterfaceSpec struct {
	// name is what endpoints call it.
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// version is 1 or more.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	Version int32 `json:"version"`
	// description says for people what it is for.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description"`
	// provider says what the provider's bags hold: application and unit, each with
	// ready, secret, schema (JSON Schema, draft 2020-12) and examples.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Provider *runtime.RawExtension `json:"provider,omitempty"`
	// requirer says what the requirer's bags hold, as provider does.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Requirer *runtime.RawExtension `json:"requirer,omitempty"`
	// both stands in place of provider and requirer where they are the same.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Both *runtime.RawExtension `json:"both,omitempty"`

	// document is all of it as it was read.
	document string `json:"-"`
}

// UnmarshalJSON reads the fields and keeps the document.
func (s *InterfaceSpec) UnmarshalJSON(text []byte) error {
	type fields InterfaceSpec
	var read fields
	if err := json.Unmarshal(text, &read); err != nil {
		return fmt.Errorf("cannot read an interface: %w", err)
	}
	*s = InterfaceSpec(read)
	s.document = string(text)
	return nil
}

// MarshalJSON writes the document as it was read; one that was made of fields is
// written from them.
func (s InterfaceSpec) MarshalJSON() ([]byte, error) {
	if s.document != "" {
		return []byte(s.document), nil
	}
	type fields InterfaceSpec
	text, err := json.Marshal(fields(s))
	if err != nil {
		return nil, fmt.Errorf("cannot write an interface: %w", err)
	}
	return text, nil
}

// Origin of an interface: which one of its name and version counts.
const (
	// OriginCluster: the object's own.
	OriginCluster = "Cluster"
	// OriginBuiltIn: the one that ships with Orcon.
	OriginBuiltIn = "BuiltIn"
)

// InterfaceStatus is what the controller says of an Interface.
type InterfaceStatus struct {
	// observedGeneration is the generation that this status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// origin says which interface of the name and version counts: Cluster, this one,
	// or BuiltIn, the one that ships with Orcon; unset while none does.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;BuiltIn
	Origin string `json:"origin,omitempty"`
	// conditions: Ready, Reconciling, Stalled, and Incompatible where it breaks what
	// an older version promised.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// InterfaceList is a list of Interfaces.
//
// +kubebuilder:object:root=true
type InterfaceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Interface `json:"items"`
}
