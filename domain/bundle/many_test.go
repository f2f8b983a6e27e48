package bundle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// What a bundle reads and makes is worked out in the controller of all bundles, in little time however much that is
// (TRUST.md U6).
func TestManyReadings(t *testing.T) {
	const n = 5000
	var objects []bundle.Object
	var env []any
	for i := range n {
		objects = append(objects, object(fmt.Sprint("ConfigMap c", i), fmt.Sprint("makes=ConfigMap/d", i)))
		env = append(env, map[string]any{"name": fmt.Sprint("e", i), "valueFrom": map[string]any{
			"configMapKeyRef": map[string]any{"name": fmt.Sprint("d", 2*i), "key": "k"}}})
	}
	containers := []any{map[string]any{"name": "c", "env": env}}
	objects = append(objects, object("Deployment web", map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}}))
	began := time.Now()
	p := draft(t, nil, nil, objects...)
	assert.Len(t, p.Lacks(nil), n/2)
	assert.Less(t, time.Since(began), 10*time.Second)
}
