// Package bundle answers the admission of BundleDeployments: it refuses what is wrong in
// the object alone, with the field, the reason and the cure, and notes who has asked for
// the change, so that somebody else can be asked to approve it (BUNDLES.md, Also).
//
// What must not come in: an API call, and a judgement that depends on other objects.
package bundle
