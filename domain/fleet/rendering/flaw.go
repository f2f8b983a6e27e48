package rendering

import (
	"fmt"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Flaw describes what the API server would refuse in an object, or take for something else.
type Flaw struct {
	Object       bundle.ID
	Reason, Cure string
}

// Flaws lists the flaws of objects, in their order.
func Flaws(objects []bundle.Object) []Flaw {
	var all []Flaw
	for _, o := range objects {
		if spec := podSpec(o); spec != nil {
			f := finder{id: o.ID()}
			f.pod(spec)
			all = append(all, f.all...)
		}
	}
	return all
}

// finder collects the flaws of an object.
type finder struct {
	id  bundle.ID
	all []Flaw
}

func (f *finder) add(cure, format string, values ...any) {
	f.all = append(f.all, Flaw{f.id, fmt.Sprintf(format, values...), cure})
}

// pod finds what is wrong with the spec of pods.
func (f *finder) pod(spec fields) {
	for _, name := range repeated(items(spec["volumes"])) {
		f.add("rename one", "two volumes are named %q", name)
	}
	for _, list := range []string{"initContainers", "containers"} {
		containers := items(spec[list])
		for _, name := range repeated(containers) {
			f.add("rename one", "two %s are named %q", list, name)
		}
		for _, c := range containers {
			f.container(c)
		}
	}
	if policy := text(spec, "restartPolicy"); (f.id.Kind == "CronJob" || f.id.Kind == "Job") && (policy == "" || policy == "Always") {
		f.add("set restartPolicy to OnFailure or Never", "pods of a %s cannot have restartPolicy Always, which is the default", f.id.Kind)
	}
}

// container finds what is wrong with a container.
func (f *finder) container(c fields) {
	name := text(c, "name")
	variables := items(c["env"])
	for _, variable := range repeated(variables) {
		f.add("keep one", "container %q sets variable %q twice", name, variable)
	}
	for _, v := range variables {
		if written, kind := number(v["value"]); kind != "" {
			f.add("quote the value in the template",
				"variable %q of container %q has the %s %s and needs a text", text(v, "name"), name, kind, written)
		}
	}
	image := text(c, "image")
	if reason := faulty(image); reason != "" {
		f.add("set the name and the tag or digest of the image, or the parameters that it is made of",
			"image %q of container %q %s", image, name, reason)
	}
}

// faulty returns what is wrong with an image reference; "" if nothing is.
func faulty(image string) string {
	repository, _, _ := strings.Cut(image, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	switch {
	case repository == "" || strings.HasSuffix(repository, "/"):
		return "has no name"
	case strings.Contains(image, "${"):
		return "has a parameter without a value"
	case strings.HasSuffix(image, "@"):
		return "ends in @ and has no digest"
	case strings.HasSuffix(image, ":"):
		return "ends in : and has no tag"
	}
	return ""
}

// repeated returns the names that several of a list have, each once.
func repeated(list []fields) []string {
	count := map[string]int{}
	var all []string
	for _, one := range list {
		name := text(one, "name")
		if count[name]++; count[name] == 2 {
			all = append(all, name)
		}
	}
	return all
}
