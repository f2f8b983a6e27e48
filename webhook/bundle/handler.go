package bundle

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/bundle/v1alpha1"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/bundle"
	fleet "gitlab.ilabt.imec.be/tengu/orcon/controller/api/fleet/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/review"
	"gitlab.ilabt.imec.be/tengu/orcon/webhook/internal/scan"
)

// Handler answers AdmissionReviews of BundleDeployments.
type Handler struct{}

// ServeHTTP answers one AdmissionReview. A dry run has the same answer, since no answer has
// an effect beside itself.
func (Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	review.Handler[v1alpha1.BundleDeployment]{
		Concerns: func(r *review.Request[v1alpha1.BundleDeployment]) bool {
			return (r.Operation == review.Create || r.Operation == review.Update) && r.SubResource == ""
		},
		Read:  func(c *scan.Cursor, d *v1alpha1.BundleDeployment) { c.Decode(d) },
		Judge: judge,
	}.ServeHTTP(w, r)
}

// judge refuses what is wrong. What only changes in its labels, or says what it said, was
// asked for by who asked for it before.
func judge(r *review.Request[v1alpha1.BundleDeployment]) review.Answer {
	d := &r.Object
	if !d.DeletionTimestamp.IsZero() {
		return review.Answer{} // there is nothing left to mend
	}
	if r.Operation == review.Update && reflect.DeepEqual(d.Spec, r.OldObject.Spec) {
		return review.Answer{}
	}
	if err := convert.ToWanted(d).Check(); err != nil {
		return review.Answer{Refused: fmt.Errorf("BundleDeployment %s: %w", d.Name, err)}
	}
	return review.Answer{Patch: requested(d, r.User)}
}

// requested notes who has asked for what the deployment says now. The member of a set has the requester of the set,
// whom the bundle controller has noted: a policy of the API server refuses other writers.
func requested(d *v1alpha1.BundleDeployment, user string) []jsonpatch.Operation {
	noted, member := d.Annotations[v1alpha1.RequesterKey], d.Labels[fleet.SetLabel] != ""
	if noted == user || member && noted != "" {
		return nil
	}
	name, err := json.Marshal(user)
	if err != nil {
		return nil // a text always can be written
	}
	key := strings.ReplaceAll(v1alpha1.RequesterKey, "/", "~1")
	if d.Annotations == nil {
		return []jsonpatch.Operation{{Op: "add", Path: "/metadata/annotations", Value: fmt.Appendf(nil, "{%q:%s}", v1alpha1.RequesterKey, name)}}
	}
	return []jsonpatch.Operation{{Op: "add", Path: "/metadata/annotations/" + key, Value: name}}
}
