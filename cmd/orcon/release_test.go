package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An object that cannot be let go, as where a policy refuses it, does not hold back the rest.
func TestReleaseGoesOn(t *testing.T) {
	going := func(name string) string {
		return fmt.Sprintf(`{"apiVersion":"orcon.tengu.io/v1alpha1","kind":"BundleDeployment","metadata":{"namespace":"shop","name":%q,
			"resourceVersion":"5","deletionTimestamp":"2026-01-02T03:04:05Z","finalizers":["orcon.tengu.io/bundle"]}}`, name)
	}
	const all = group + "namespaces/shop/bundledeployments/"
	code, out, errs := call("", append([]string{"release", "--yes"}, answering(t, map[string]string{
		group + "bundledeployments": listOf("BundleDeployment", going("blog")+","+going("news")), all + "blog": "", all + "news": going("news"),
	})...)...)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot let BundleDeployment shop/blog go")
	assert.Contains(t, out, "let BundleDeployment shop/news go\n")
}
