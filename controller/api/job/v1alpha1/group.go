package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion of all kinds in this package.
//
//nolint:gochecknoglobals // a constant of a type that cannot be one
var GroupVersion = schema.GroupVersion{Group: "orcon.tengu.io", Version: "v1alpha1"}

// AddToScheme registers the kinds.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&JobTemplateType{}, &JobTemplateTypeList{}, &JobTemplate{}, &JobTemplateList{}, &JobTemplateVersion{}, &JobTemplateVersionList{},
		&JobWorkspace{}, &JobWorkspaceList{}, &JobRun{}, &JobRunList{}, &JobApproval{}, &JobApprovalList{}, &RunNode{}, &RunNodeList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
