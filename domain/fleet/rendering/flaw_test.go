package rendering_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/rendering"
)

// fields is a mapping in an object.
type fields = map[string]any

// workload returns an object of a kind whose pods have a spec.
func workload(kind, name string, pod fields) bundle.Object {
	spec := fields{"template": fields{"spec": pod}}
	group := "apps/v1"
	switch kind {
	case "Pod":
		spec, group = pod, "v1"
	case "CronJob":
		spec, group = fields{"jobTemplate": fields{"spec": spec}}, "batch/v1"
	case "Job":
		group = "batch/v1"
	}
	return bundle.Object{"apiVersion": group, "kind": kind, "metadata": fields{"name": name}, "spec": spec}
}

// container returns a container with fields, given as name and value in turn.
func container(name string, more ...any) fields {
	c := fields{"name": name, "image": "quay.io/team/image:v1"}
	for i := 0; i < len(more); i += 2 {
		field, _ := more[i].(string)
		c[field] = more[i+1]
	}
	return c
}

// variable returns a variable with a value.
func variable(name string, value any) any { return fields{"name": name, "value": value} }

// What the API server would refuse at three in the morning is found in a preview (FLEET.md C3).
func TestFindings(t *testing.T) {
	secret := fields{"name": "TOKEN", "valueFrom": fields{"secretKeyRef": fields{"name": "a", "key": "b"}}}
	tests := map[string]struct {
		why  string
		kind string
		pod  fields
		// want is a part of each finding's reason.
		want []string
	}{
		"Fine": {
			why: "texts, references and different names", pod: fields{
				"volumes":    []any{fields{"name": "a"}, fields{"name": "b"}},
				"containers": []any{container("x", "env", []any{variable("A", "true"), variable("B", ""), secret}), container("y")},
			},
		},
		"Volumes": {
			why:  "a list of pods' volumes is keyed by their names",
			pod:  fields{"volumes": []any{fields{"name": "logs"}, fields{"name": "b"}, fields{"name": "logs"}, fields{"name": "logs"}}},
			want: []string{`two volumes are named "logs"`},
		},
		"Containers": {
			why:  "the same with containers",
			pod:  fields{"initContainers": []any{container("a"), container("a")}, "containers": []any{container("a")}},
			want: []string{`two initContainers are named "a"`},
		},
		"Variables": {
			why:  "the last one would count, or an apply would be refused",
			pod:  fields{"containers": []any{container("int", "env", []any{variable("TOKEN", "x"), variable("B", "y"), secret})}},
			want: []string{`container "int" sets variable "TOKEN" twice`},
		},
		"Boolean": {
			why:  "an unquoted value",
			pod:  fields{"containers": []any{container("int", "env", []any{variable("A", true)})}},
			want: []string{`variable "A" of container "int" has the boolean true and needs a text`},
		},
		"Number": {
			why: "an unquoted value, also in an init container", pod: fields{
				"initContainers": []any{container("config", "env", []any{variable("A", int64(300)), variable("B", 1.5)})},
			},
			want: []string{`variable "A" of container "config" has the number 300`, `variable "B" of container "config" has the number 1.5`},
		},
		"Digest":       {why: "an empty parameter", pod: fields{"containers": []any{container("a", "image", "quay.io/x@")}}, want: []string{`image "quay.io/x@" of container "a" ends in @`}},
		"Tag":          {why: "an empty parameter", pod: fields{"containers": []any{container("a", "image", "quay.io:443/x:")}}, want: []string{"ends in : and has no tag"}},
		"NoImage":      {why: "two empty parameters", pod: fields{"containers": []any{container("a", "image", ":")}}, want: []string{"has no name"}},
		"NoRepository": {why: "an empty parameter", pod: fields{"containers": []any{container("a", "image", "quay.io/team/:v1")}}, want: []string{"has no name"}},
		"Missing":      {why: "no field", pod: fields{"containers": []any{fields{"name": "a"}}}, want: []string{`image "" of container "a" has no name`}},
		"Parameter":    {why: "a Template leaves unknown parameters as they are", pod: fields{"containers": []any{container("a", "image", "x:${TAG}")}}, want: []string{"has a parameter without a value"}},
		"Port":         {why: "the colon of a port is none of a tag", pod: fields{"containers": []any{container("a", "image", "localhost:5000/x")}}},
		"Always":       {why: "jobs end", kind: "CronJob", pod: fields{"restartPolicy": "Always"}, want: []string{"pods of a CronJob cannot have restartPolicy Always"}},
		"Default":      {why: "unset is Always", kind: "Job", pod: fields{"containers": []any{container("a")}}, want: []string{"pods of a Job cannot"}},
		"Never":        {why: "jobs end", kind: "CronJob", pod: fields{"restartPolicy": "Never"}},
		"Pod":          {why: "a pod of its own", kind: "Pod", pod: fields{"volumes": []any{fields{"name": "a"}, fields{"name": "a"}}}, want: []string{"two volumes"}},
		"Service":      {why: "no pods", kind: "Service", pod: fields{"restartPolicy": "Always", "volumes": []any{fields{"name": "a"}, fields{"name": "a"}}}},
		"Odd":          {why: "the API server refuses what is no list", pod: fields{"volumes": "a", "containers": []any{"b", container("c", "env", fields{})}}},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			kind := tc.kind
			if kind == "" {
				kind = "Deployment"
			}
			found := rendering.Flaws([]bundle.Object{workload(kind, "web", tc.pod)})
			if assert.Len(t, found, len(tc.want), tc.why) {
				for i, want := range tc.want {
					assert.Contains(t, found[i].Reason, want, tc.why)
					assert.Equal(t, "web", found[i].Object.Name)
					assert.NotEmpty(t, found[i].Cure)
				}
			}
		})
	}
}

// An image that the reference's grammar allows is no finding; without its name, tag or digest it is one.
func TestImages(t *testing.T) {
	findings := func(image string) int {
		return len(rendering.Flaws([]bundle.Object{workload("Deployment", "web", fields{"containers": []any{container("a", "image", image)}})}))
	}
	rapid.Check(t, func(t *rapid.T) {
		repository := rapid.StringMatching(`([a-z]{1,5}(:[0-9]{1,4})?/)?[a-z]{1,5}(/[a-z]{1,5})?`).Draw(t, "repository")
		suffix := rapid.StringMatching(`(:[a-z0-9.]{1,5})?(@sha256:[0-9a-f]{4})?`).Draw(t, "suffix")
		assert.Zero(t, findings(repository+suffix))
		assert.Equal(t, 1, findings(repository+suffix+"@"))
		assert.Equal(t, 1, findings(suffix))
		if !strings.Contains(suffix, "@") {
			assert.Equal(t, 1, findings(repository+":"))
		}
	})
}
