package fleet

import (
	"cmp"
	"fmt"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// The parameters of an image.
const (
	imageTag    = "IMAGE_TAG"
	imageDigest = "IMAGE_DIGEST"
)

// Images configure the tags of images in a set.
type Images struct {
	// Refs are branches, tags or commits of the upstreams, by environment; they override those of environments.
	Refs map[string]string
	// Digits is how many digits of a commit a tag has; 0 is 7.
	Digits int
}

// Tag returns the tag of the image that was built from a commit.
func (i Images) Tag(commit string) string { return commit[:min(cmp.Or(i.Digits, 7), len(commit))] }

// repositories is the environment parameter that maps upstreams to git refs. It is for the manager, not for templates.
const repositories = "INTEGRATION_UPSTREAM_REPOS"

// ImageRef is the branch, tag or commit from which the image of a member is built: its commit is the tag of the image
// (FLEET-DESIGN.md 15). The zero value means that the tag is given otherwise.
type ImageRef struct{ Repository, Ref string }

// String returns the reference to the repository.
func (r ImageRef) String() string { return "git+" + r.Repository + "@" + r.Ref }

// ImageRef returns the ref of the member's image: that of the set for its environment, else that of the environment's file for
// its upstream; or what is wrong. Parameter IMAGE_TAG of the set or of a flag has precedence.
func (m Member) ImageRef(i Images, p Parameters) (ImageRef, []data.Problem) {
	given := func(name string) bool { return p.Set[name] != "" || p.Flags[name] != "" }
	environment := m.Namespace.Environment
	ref := ImageRef{m.Upstream, i.Refs[environment.Name]}
	if ref.Ref == "" {
		ref.Ref = refOf(environment, m.Upstream)
	}
	if m.Integration == "" || ref.Ref == "" || given(imageTag) {
		return ImageRef{}, nil
	}
	_, digest := environment.Parameters[imageDigest]
	var reason, cure string
	switch {
	case ref.Repository == "":
		reason, cure = "the tag of its image is a commit of its upstream, and it has none", "add upstream: https://HOST/REPOSITORY"
	case digest || given(imageDigest):
		reason, cure = fmt.Sprintf("its image has ref %s and parameter %s", ref.Ref, imageDigest), "remove one of them"
	default:
		return ref, nil
	}
	return ImageRef{}, []data.Problem{m.find("", reason, cure)}
}

// Unknown returns the problem of a member whose ref cannot be looked up.
func (r ImageRef) Unknown(m Member, err error) data.Problem {
	reason := fmt.Sprintf("cannot look up %s, the tag of its image: %v", r, err)
	return m.find("", reason, "correct the ref or the upstream, or set parameter "+imageTag)
}

// refOf returns the ref that an environment has for an upstream; "" if it has none.
func refOf(e data.Environment, upstream string) string {
	list, _ := e.Parameters[repositories].([]any)
	for _, item := range list {
		if repository, _ := item.(map[string]any); repository["repo"] == upstream {
			ref, _ := repository["ref"].(string)
			return ref
		}
	}
	return ""
}
