package installation

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// halfInstalled returns the message about an object that is gone while a Deployment of the same installation is there,
// with the cure: the same content again, of the same images.
func halfInstalled(d *appsv1.Deployment) string {
	image := ""
	for _, c := range d.Spec.Template.Spec.Containers {
		image = c.Image
	}
	path, tag := image, ""
	if !strings.Contains(image, "@") {
		path, tag = tagged(image)
	}
	registry, builtIn := strings.CutSuffix(path, "/"+d.Name)
	namespace, name, owned := strings.Cut(d.Annotations[bundle.OwnerKey], "/")
	cure := "apply again what it was installed from"
	switch {
	case owned && builtIn && tag != "":
		cure = fmt.Sprintf("install the source of %s/%s again, for example orcon install builtin:selfsigned --name %[2]s -n %[1]s "+
			"--set registry=%[3]s --set tag=%[4]s", namespace, name, registry, tag)
	case tag != "":
		cure += ", of tag " + tag
	case image != "":
		cure += ", with image " + image
	}
	return fmt.Sprintf("not installed, although Deployment %s/%s is: %s", d.Namespace, d.Name, cure)
}
