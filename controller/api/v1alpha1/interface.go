package v1alpha1

import (
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Interface publishes one version of an interface for all namespaces: what each databag of a
// relation holds. Its spec has the format of Orcon's built-in interfaces, including JSON Schema. It
// cannot be changed: publish a new version instead. Its name is NAME-vVERSION, with "-" for "_";
// under another name it has no effect.
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
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard metadata of an object.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the document of the interface; it cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a published version cannot be changed: publish another version"
	Spec InterfaceSpec `json:"spec"`
	// status is written by the controller; unset before its first look.
	// +optional
	Status InterfaceStatus `json:"status,omitempty"`
}

// InterfaceSpec is the document of an interface. Unknown fields are kept, so that a misspelt one
// can be reported.
//
// +kubebuilder:pruning:PreserveUnknownFields
type InterfaceSpec struct {
	// name is the name of the interface as endpoints declare it, at most 63 characters.
	// +required
	// +kubebuilder:validation:Pattern=`^[a-z]([a-z0-9_-]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`
	// version is the version of the interface, from 1 to 1048576.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1048576
	Version int32 `json:"version"`
	// description explains what the interface is for, in at most 4096 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Description string `json:"description"`
	// provider describes the provider's databags: application and unit, each with ready, secret,
	// schema (JSON Schema, draft 2020-12) and examples. Unset: they may hold anything.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Provider *runtime.RawExtension `json:"provider,omitempty"`
	// requirer describes the requirer's databags, in the format of provider. Unset: they may hold
	// anything.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Requirer *runtime.RawExtension `json:"requirer,omitempty"`
	// both replaces provider and requirer if the two are the same. Unset: they differ.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	Both *runtime.RawExtension `json:"both,omitempty"`

	// document is the JSON text of the spec as it was read.
	document string `json:"-"`
}

// UnmarshalJSON reads the fields and keeps the text of the document.
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

// MarshalJSON writes the document as it was read, or from the fields if it was not read.
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

// The origins of an interface: which definition of a name and version is in force.
const (
	OriginCluster = "Cluster"
	OriginBuiltIn = "BuiltIn"
)

// InterfaceStatus is the observed state of an Interface.
type InterfaceStatus struct {
	// observedGeneration is the generation of the object that this status describes. Unset: not
	// observed yet.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// origin is Cluster if this object defines the version, or BuiltIn if the one that ships with
	// Orcon does. Unset: neither.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;BuiltIn
	Origin string `json:"origin,omitempty"`
	// conditions has Ready, Reconciling and Stalled, and Incompatible while the version breaks what
	// an older one promised. At most 16.
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
