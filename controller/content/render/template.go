package render

import (
	"errors"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/plain"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/content"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/openshift"
)

// processed returns the objects of manifests that are one Template, with values for its parameters.
func processed(manifests []plain.Manifest, o content.Options) ([]bundle.Object, error) {
	for _, m := range manifests {
		if !openshift.Is(m.Object) {
			return nil, bundle.Located(fmt.Sprintf("cannot use %s as a Template", m.Location),
				fmt.Errorf("it is %s of %q: render the file of the Template alone, by its path", m.Text("kind"), m.Text("apiVersion")))
		}
	}
	switch len(manifests) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, fmt.Errorf("there is more than one Template, in %s and %s: render the file of one, by its path",
			manifests[0].Location, manifests[1].Location)
	}
	m := manifests[0]
	objects, err := process(m.Object, o)
	if err != nil {
		return nil, bundle.Located("cannot process the Template of "+m.Location, err)
	}
	all := make([]plain.Manifest, len(objects))
	for i, o := range objects {
		all[i] = plain.Manifest{Object: o, Location: fmt.Sprintf("%s, objects[%d]", m.Location, i)}
	}
	return plain.Check(all)
}

// process returns the objects of a Template.
func process(fields map[string]any, o content.Options) ([]map[string]any, error) {
	t, err := openshift.Parse(fields)
	if err != nil {
		return nil, err
	}
	parameters := o.Parameters
	if o.IgnoreUnknown {
		parameters = known(t, parameters)
	}
	objects, err := t.Process(parameters)
	if err == nil && len(objects) == 0 {
		err = errors.New("it has no objects: add some to objects")
	}
	return objects, err
}

// known returns those of the parameters that a Template declares.
func known(t openshift.Template, parameters map[string]string) map[string]string {
	declared := map[string]string{}
	for _, p := range t.Parameters {
		if value, given := parameters[p.Name]; given {
			declared[p.Name] = value
		}
	}
	return declared
}
