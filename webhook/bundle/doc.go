// Package bundle answers the admission of BundleDeployments: it refuses faults in the object alone, with the field,
// the reason and the cure, and notes the requester of the change, so that another person can be asked to approve it
// (BUNDLES.md, Also).
//
// What must not come in: an API call, and a judgement that depends on other objects.
package bundle
