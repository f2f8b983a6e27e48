package integrationset

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Self identifies the integration as which the controller itself runs. The zero value is none: the controller is not
// deployed by the data.
type Self struct {
	// Integration is the name of the integration, and Namespace the one in which the controller runs.
	Integration, Namespace string
	// Images are those of the controller's pod.
	Images []string
}

// Is reports whether an integration in a namespace is the controller itself.
func (s Self) Is(integration, namespace string) bool {
	return s.Integration != "" && s.Integration == integration && s.Namespace == namespace
}

// Alone reports whether a set selects the controller's integration and no other. Such a set may replace another program
// under its name.
func (s Self) Alone(integrations []string) bool {
	return slices.Equal(integrations, []string{s.Integration})
}

// Rival returns the stop of a set while another program runs under the controller's name, which would write the same
// integrations. Running are the images of a namespace's workloads that have the name, by workload; nil is returned if all
// are the controller's.
func (s Self) Rival(namespace string, running map[string]string) *Stop {
	for _, workload := range slices.Sorted(maps.Keys(running)) {
		image := running[workload]
		if slices.ContainsFunc(s.Images, func(own string) bool { return repository(own) == repository(image) }) {
			continue
		}
		return &Stop{Reason: Rival, Person: true, Message: fmt.Sprintf("%s in namespace %s runs as %s too, with image %s, and would write the "+
			"same integrations: nothing is written. Scale it to 0, set its image to that of this controller, or take it over by a set with "+
			"integrations: [%s] and conflicts: Take", workload, namespace, s.Integration, image, s.Integration)}
	}
	return nil
}

// repository returns an image without its tag and digest.
func repository(image string) string {
	name, _, _ := strings.Cut(image, "@")
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	return name
}
