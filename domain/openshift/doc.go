// Package openshift processes OpenShift Templates without a cluster: a Template, as the JSON form of its
// manifest, and values of its parameters become objects. The rules are those of `oc process --local`:
//
//	${NAME}     in any string or key     the parameter's value; an unknown name stays as it is
//	${{NAME}}   as a whole value         the parameter's value read as JSON; text that is not JSON is a string
//
// Nothing escapes a reference: $${NAME} is a dollar and the value. Values are not substituted again. A namespace
// without a reference is removed from metadata, and labels of the Template are added to the metadata of each object.
//
// Unlike oc it never generates a value, so that equal input gives equal objects: a parameter with a generator and
// without a value is an error. Keys that collide once they are substituted are an error too.
//
// What must not come in: YAML, files, where values come from, Kubernetes.
package openshift
