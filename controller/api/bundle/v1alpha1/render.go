package v1alpha1

import "k8s.io/apimachinery/pkg/runtime"

// BundleRender configures how content becomes objects.
type BundleRender struct {
	// path is the folder or file of the content that is rendered; unset is the top.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path,omitempty"`
	// values are the values of a Helm chart, or deploymentConfig of a registry-v1 bundle; they override those of valuesFrom.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Values *runtime.RawExtension `json:"values,omitempty"`
	// valuesFrom are ConfigMaps and Secrets of this namespace with values; later ones override
	// earlier ones.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ValuesFrom []BundleValues `json:"valuesFrom,omitempty"`
	// parameters are values for the parameters of an OpenShift Template, by name; they override its defaults.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Parameters map[string]BundleParameter `json:"parameters,omitempty"`
	// unknownParameters decides about parameters that the content does not declare: Refuse, the default, is an error, and
	// Ignore passes over them, in every format.
	// +optional
	UnknownParameters UnknownParameters `json:"unknownParameters,omitempty"`
	// emptyContent decides about content that comes to no objects: Refuse, the default, is an error, and Allow deploys
	// nothing.
	// +optional
	// +kubebuilder:validation:Enum=Refuse;Allow
	EmptyContent string `json:"emptyContent,omitempty"`
	// installNamespace is the namespace of objects that name none; unset is that of the deployment.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	InstallNamespace string `json:"installNamespace,omitempty"`
	// watchNamespaces are the namespaces that an operator watches; unset is as many as it supports.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	WatchNamespaces []string `json:"watchNamespaces,omitempty"`
	// skipHooks names hooks of a Helm chart that are left out, as Kind/name. A Job among them that runs in an uninstallation
	// is not run either when the deployment is deleted.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=512
	SkipHooks []string `json:"skipHooks,omitempty"`
	// onConfigChange decides what happens to pods when a ConfigMap or Secret of the bundle that they
	// read changes: Ignore, the default, leaves them; Restart replaces them, by a checksum in the pod
	// template.
	// +optional
	OnConfigChange OnConfigChange `json:"onConfigChange,omitempty"`
}

// UnknownParameters decides about parameters that the content does not declare.
// +kubebuilder:validation:Enum=Refuse;Ignore
type UnknownParameters string

// UnknownParametersIgnore is the value of UnknownParameters that passes over them.
const UnknownParametersIgnore UnknownParameters = "Ignore"

// BundleParameter is the value of a parameter.
// +kubebuilder:validation:MaxLength=65536
type BundleParameter string

// OnConfigChange decides what happens to pods when their configuration changes.
// +kubebuilder:validation:Enum=Ignore;Restart
type OnConfigChange string

// OnConfigChangeRestart is the value of OnConfigChange that replaces the pods.
const OnConfigChangeRestart OnConfigChange = "Restart"

// BundleValues is a source of Helm values.
type BundleValues struct {
	// kind is ConfigMap or Secret.
	// +required
	// +kubebuilder:validation:Enum=ConfigMap;Secret
	Kind string `json:"kind"`
	// name is the name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// key is the key that holds the values; unset is values.yaml.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key,omitempty"`
}
