package cluster

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// TRUST.md R5: a refusal is quoted unless the object may have values of Secrets.
func TestWords(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", field.ErrorList{field.Invalid(field.NewPath("spec", "externalName"), "swordfish", "no name")})
	service, secret := bundle.ID{Kind: "Service", Name: "web"}, bundle.ID{Kind: "Secret", Name: "web"}
	assert.Contains(t, words(service, invalid, false), "swordfish")
	assert.Equal(t, "no route to host", words(service, errors.New("no route to host"), true))
	for id, secretive := range map[bundle.ID]bool{service: true, secret: false} {
		for why, err := range map[string]error{"Invalid: spec.externalName (": invalid, "it grants too much: spec.externalName (": bundle.Located("it grants too much", invalid)} {
			assert.Contains(t, words(id, err, secretive), why)
			assert.NotContains(t, words(id, err, secretive), "swordfish")
		}
	}
}
