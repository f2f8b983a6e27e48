package installation

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Image is the image of a Deployment of Orcon.
type Image struct {
	Namespace  string `json:"namespace"`
	Deployment string `json:"deployment"`
	// Version is the tag of the image, or the beginning of its digest.
	Version string `json:"version"`
	Image   string `json:"image"`
}

// Versions returns the version of Kubernetes, and the images of Orcon in the cluster: none if it is
// not installed or if the user may not list Deployments.
func Versions(ctx context.Context, cfg *rest.Config) (kubernetes string, images []Image, err error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return "", nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	info, err := d.ServerVersion()
	if err != nil {
		return "", nil, fmt.Errorf("cannot reach the API server: %w", err)
	}
	reader, err := client.New(cfg, client.Options{Scheme: clientscheme.Scheme})
	if err != nil {
		return info.GitVersion, nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	var list appsv1.DeploymentList
	if err := reader.List(ctx, &list, partOfOrcon); err != nil {
		if apierrors.IsForbidden(err) {
			return info.GitVersion, nil, nil
		}
		return info.GitVersion, nil, fmt.Errorf("cannot list the Deployments of Orcon: %w", err)
	}
	for _, d := range list.Items {
		for _, c := range d.Spec.Template.Spec.Containers {
			images = append(images, Image{d.Namespace, d.Name, tagOf(c.Image), c.Image})
		}
	}
	return info.GitVersion, images, nil
}

// tagOf returns the tag of an image, or the first twelve digits of its digest.
func tagOf(image string) string {
	name, digest, pinned := strings.Cut(image, "@sha256:")
	if _, tag := tagged(name); tag != "" {
		return tag
	}
	if pinned {
		return digest[:min(12, len(digest))]
	}
	return "latest"
}

// tagged splits the name of an image at its tag, which is "" if it has none.
func tagged(name string) (path, tag string) {
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		return name[:at], name[at+1:]
	}
	return name, ""
}
