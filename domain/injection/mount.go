package injection

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// mountable reports whether a volume can be mounted at a path without hiding the
// image.
func mountable(at string) bool {
	return strings.HasPrefix(at, "/") && path.Clean(at) != "/" && !strings.ContainsAny(at, ":$\x00") && !strings.Contains(at+"/", "/../")
}

// occupied reports whether nothing more can be mounted at a path: something is there or below, or a read-only volume above.
func occupied(mounts []mount, at string) bool {
	return slices.ContainsFunc(mounts, func(m mount) bool {
		there := path.Clean(m.MountPath)
		return nested(there, at) && (m.ReadOnly || len(there) >= len(at))
	})
}

// unmountable returns why the files cannot be mounted at root, or "". A mount
// inside a read-only volume cannot be made by the container runtime.
func unmountable(root string, c *Container) string {
	root = path.Clean(root)
	for _, m := range c.VolumeMounts {
		if at := path.Clean(m.MountPath); at == root || strings.HasPrefix(at, root+"/") {
			return fmt.Sprintf("the container mounts volume %s at %s, so it gets no files", m.Name, m.MountPath)
		}
	}
	return ""
}

// nested reports whether two mounts would be at one path, or one in the other.
func nested(a, b string) bool {
	a, b = path.Clean(a)+"/", path.Clean(b)+"/"
	return strings.HasPrefix(a, b) || strings.HasPrefix(b, a)
}
