package crdify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/crdify/pkg/config"
	"sigs.k8s.io/crdify/pkg/validations"
	"sigs.k8s.io/crdify/pkg/validations/crd/existingfieldremoval"
	"sigs.k8s.io/crdify/pkg/validations/crd/scope"
	"sigs.k8s.io/crdify/pkg/validations/crd/storedversionremoval"
	"sigs.k8s.io/crdify/pkg/validations/property"
	"sigs.k8s.io/crdify/pkg/validators/version/served"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/bundle"
)

// Judge judges upgrades of definitions.
type Judge struct{}

// Findings returns why a live definition may not become another, in the order of their paths; none if it may. An
// error means that one of them is not a definition.
func (Judge) Findings(live, wanted bundle.Object) ([]bundle.Finding, error) {
	was, err := read(live)
	if err != nil {
		return nil, err
	}
	is, err := read(wanted)
	if err != nil {
		return nil, err
	}
	found := slices.Concat(whole(was, is), sameVersions(was, is), otherVersions(was, is))
	slices.SortFunc(found, func(a, b bundle.Finding) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Reason, b.Reason))
	})
	if len(found) > 0 && was.Spec.Group == ownGroup {
		found = []bundle.Finding{{Path: found[0].Path, Reason: found[0].Reason, Cure: beginAnew}}
	}
	return found, nil
}

// ownGroup is the API group of Orcon's own definitions. A user cannot change them, and most of them change together, so
// that one finding stands for all.
const ownGroup = "orcon.tengu.io"

// read reads a definition. A version without a schema, which only the API server refuses,
// gets an empty one: the library expects one.
func read(o bundle.Object) (*apiextensionsv1.CustomResourceDefinition, error) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o, crd); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", o.ID(), err)
	}
	for i := range crd.Spec.Versions {
		if v := &crd.Spec.Versions[i]; v.Schema == nil {
			v.Schema = &apiextensionsv1.CustomResourceValidation{}
		}
	}
	return crd, nil
}

// What to do instead.
const (
	keepField   = "keep the field, or leave it out of a new version to which a webhook converts"
	keepVersion = "keep the version, write each object anew, and take the version from status.storedVersions first"
	keepScope   = "keep the scope, or give the kind another name"
	keepAllowed = "allow what was allowed, or begin a new version to which a webhook converts"
	keepUnknown = "keep x-kubernetes-preserve-unknown-fields, or name all fields that objects have"
	beginAnew   = "objects of Orcon are not migrated from the one version to the other: use a newer version, or take the present one " +
		"away with orcon leave --end, which ends every relation, and install anew"
)

// whole judges what is about the definition as a whole, and fields that are gone.
func whole(was, is *apiextensionsv1.CustomResourceDefinition) []bundle.Finding {
	var found []bundle.Finding
	add := func(cure string, v interface {
		validations.Validation
		validations.Comparator[apiextensionsv1.CustomResourceDefinition]
	}) {
		v.SetEnforcement(config.EnforcementPolicyError)
		for _, reason := range v.Compare(was.DeepCopy(), is.DeepCopy()).Errors {
			found = append(found, bundle.Finding{Reason: plain(reason), Cure: cure})
		}
	}
	add(keepScope, &scope.Scope{})
	add(keepVersion, &storedversionremoval.StoredVersionRemoval{})
	add(keepField, &existingfieldremoval.ExistingFieldRemoval{})
	for i, f := range found {
		if path, gone := strings.CutPrefix(f.Reason, existingfieldremoval.ErrRemovedExistingField.Error()+": "); gone {
			found[i].Path, found[i].Reason = path, "the field is removed, and what objects hold there is lost"
		}
	}
	return found
}

// sameVersions judges each field of a version that stays.
func sameVersions(was, is *apiextensionsv1.CustomResourceDefinition) []bundle.Finding {
	var found []bundle.Finding
	for _, before := range was.Spec.Versions {
		after := validations.GetCRDVersionByName(is, before.Name)
		if after == nil {
			continue
		}
		old, now := validations.FlattenCRDVersion(before), validations.FlattenCRDVersion(*after)
		for path, results := range validations.CompareVersions(before, *after, config.EnforcementPolicyNone, fields()...) {
			if now[path] == nil {
				continue // it is gone, and told as that
			}
			found = append(found, told(before.Name+"."+path, results)...)
		}
		for path, schema := range old {
			if keeps(schema) && now[path] != nil && !keeps(now[path]) {
				found = append(found, bundle.Finding{Path: plain(before.Name + "." + path),
					Reason: "fields that it does not name are kept no more", Cure: keepUnknown})
			}
		}
	}
	return found
}

func keeps(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
}

// otherVersions judges values that one served version refuses and another allows, if no webhook converts, and if that
// is new.
func otherVersions(was, is *apiextensionsv1.CustomResourceDefinition) []bundle.Finding {
	validator := served.New(served.WithComparators(fields()...), served.WithUnhandledEnforcementPolicy(config.EnforcementPolicyNone),
		served.WithConversionPolicy(config.ConversionPolicyIgnore))
	var found []bundle.Finding
	for pair, paths := range validator.Validate(was, is) {
		_, to, _ := strings.Cut(pair, " -> ")
		now := validations.FlattenCRDVersion(*validations.GetCRDVersionByName(is, to))
		for path, results := range paths {
			news := told(pair+"."+path, results)
			if len(news) > 0 && now[path] == nil {
				news = []bundle.Finding{{Path: news[0].Path,
					Reason: "the field is not in " + to + ", and what objects hold there is lost", Cure: keepField}}
			}
			found = append(found, news...)
		}
	}
	return found
}

// told are the findings of some results.
func told(path string, results []validations.ComparisonResult) []bundle.Finding {
	var found []bundle.Finding
	for _, result := range results {
		for _, reason := range result.Errors {
			found = append(found, bundle.Finding{Path: plain(path), Reason: plain(reason), Cure: keepAllowed})
		}
	}
	return found
}

// fields are the rules for one field. A new default changes no object that is stored, and
// a description none at all.
func fields() []validations.Comparator[apiextensionsv1.JSONSchemaProps] {
	rules := map[string]validations.Validation{
		"enum": &property.Enum{EnumConfig: property.EnumConfig{AdditionPolicy: property.AdditionPolicyAllow}},
		"type": &property.Type{}, "required": &property.Required{},
		"maximum": &property.Maximum{}, "maxItems": &property.MaxItems{}, "maxLength": &property.MaxLength{}, "maxProperties": &property.MaxProperties{},
		"minimum": &property.Minimum{}, "minItems": &property.MinItems{}, "minLength": &property.MinLength{}, "minProperties": &property.MinProperties{},
	}
	for _, rule := range rules {
		rule.SetEnforcement(config.EnforcementPolicyError)
	}
	return validations.ComparatorsForValidations[apiextensionsv1.JSONSchemaProps](slices.Collect(maps.Values(rules))...)
}

// plain writes paths without the library's sign for the top.
func plain(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, ".^", ""), " :", ":")
}
