package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/installation"
)

// The values of label app.kubernetes.io/name of Orcon's programs.
const (
	relationsController = "relations-controller"
	relationsWebhook    = "relations-mutating-webhook"
	bundleController    = "bundle-controller"
)

// installBundles is the command that installs the bundle controller.
const installBundles = installation.InstallBundles

// controllers are the Deployments of Orcon.
type controllers struct {
	// unseen reports that the user may not list Deployments: nothing is known of them.
	unseen bool
	all    []unstructured.Unstructured
}

// lookAtControllers reads the Deployments of Orcon.
func lookAtControllers(ctx context.Context, kinds client.Reader) controllers {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "DeploymentList"})
	if err := kinds.List(ctx, list, client.MatchingLabels{"app.kubernetes.io/part-of": "orcon"}); err != nil {
		return controllers{unseen: true} // what is shown is all that the user may see
	}
	return controllers{all: list.Items}
}

// idle returns a Deployment of the controller if none of its Deployments has a ready replica, and nil
// if there is no Deployment; runs reports that one has.
func (c controllers) idle(name string) (idle *unstructured.Unstructured, runs bool) {
	for i := range c.all {
		d := &c.all[i]
		if d.GetLabels()["app.kubernetes.io/name"] != name {
			continue
		}
		if ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas"); ready > 0 {
			return nil, true
		}
		idle = d
	}
	return idle, false
}

// relationsStopped returns that no relations controller runs, so that states may be old; empty if one
// does, where the user may not see it, and where none is installed and nothing is shown that needs one.
func (c controllers) relationsStopped(shown bool) string {
	idle, runs := c.idle(relationsController)
	switch {
	case c.unseen || runs || idle == nil && !shown:
		return ""
	case idle == nil:
		return "no relations controller is installed, so that the states of applications, relations and Offers may be old, " +
			"and no relation begins, changes or ends: orcon check shows how to install it"
	}
	return fmt.Sprintf("Deployment %s of namespace %s has no ready replica, so that the states of applications, relations and Offers "+
		"may be old: orcon check shows the cause", idle.GetName(), idle.GetNamespace())
}

// webhookStopped returns that no webhook runs, so that the API server refuses pods; empty if one does, or if none is
// installed, where the user may see it.
func (c controllers) webhookStopped() string {
	idle, _ := c.idle(relationsWebhook)
	if idle == nil {
		return ""
	}
	return fmt.Sprintf("Deployment %s of namespace %s has no ready replica, so that pods that declare something are not created: "+
		"orcon check shows the cause", idle.GetName(), idle.GetNamespace())
}

// bundlesStopped returns that no bundle controller runs, so that states may be old; empty if one
// does, or where the user may not see it.
func (c controllers) bundlesStopped() string {
	idle, runs := c.idle(bundleController)
	switch {
	case c.unseen || runs:
		return ""
	case idle == nil:
		return "no bundle controller is installed, so that the states of BundleDeployments may be old, and nothing deploys or deletes " +
			"them: " + installBundles
	}
	return fmt.Sprintf("Deployment %s of namespace %s has no ready replica, so that the states of BundleDeployments may be old, and "+
		"nothing deploys or deletes them: orcon check shows the cause", idle.GetName(), idle.GetNamespace())
}

// undeleted returns why the deletion of a BundleDeployment makes no progress, and what helps; empty
// while a bundle controller runs, or where the user may not see it.
func (c controllers) undeleted() string {
	idle, runs := c.idle(bundleController)
	if c.unseen || runs {
		return ""
	}
	const why = "it is being deleted, but no bundle controller runs, which would delete its objects and let it go: "
	if idle == nil {
		return why + installBundles
	}
	if replicas, set, _ := unstructured.NestedInt64(idle.Object, "spec", "replicas"); set && replicas == 0 {
		return why + fmt.Sprintf("kubectl -n %s scale deployment %s --replicas=2", idle.GetNamespace(), idle.GetName())
	}
	return why + fmt.Sprintf("orcon check shows why Deployment %s of namespace %s has no ready replica", idle.GetName(), idle.GetNamespace())
}
