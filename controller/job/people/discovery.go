package people

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// discovery returns the documents by which the API server and kubectl find the API, by their paths. There is no OpenAPI
// document: the API server takes its absence for an API without schemas.
func discovery() map[string]any {
	version := metav1.GroupVersionForDiscovery{GroupVersion: people.Group + "/" + people.Version, Version: people.Version}
	group := metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: people.Group,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
	resource := func(name, subresource, kind string, verbs ...string) metav1.APIResource {
		return metav1.APIResource{
			Name: name + "/" + subresource, Namespaced: true, Group: people.Group, Version: people.Version, Kind: kind, Verbs: verbs,
		}
	}
	return map[string]any{
		"/apis": metav1.APIGroupList{
			TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group},
		},
		"/apis/" + people.Group: group,
		"/apis/" + version.GroupVersion: metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion,
			APIResources: []metav1.APIResource{
				resource(people.Runs, people.Log, "JobRunLog", "get"),
				resource(people.Workspaces, people.PastRuns, "JobRunList", "get"),
				resource(people.Runs, people.Plans, "JobRunPlan", "get"),
				resource(people.Workspaces, people.Archives, "JobWorkspaceState", "get", "update"),
				resource(people.Workspaces, people.Decisions, "JobWorkspaceDecision", "create"),
				resource(people.Templates, people.Contents, "JobTemplateContent", "update"),
				ofCluster(resource(people.Nodes, people.Tokens, "RunNodeToken", "create")),
			},
		},
	}
}

// ofCluster returns a resource without namespaces.
func ofCluster(r metav1.APIResource) metav1.APIResource {
	r.Namespaced = false
	return r
}
