package content

import "slices"

// Options say how a tree is rendered.
type Options struct {
	// Path is the folder of the tree that is rendered, or one file; "" is the top. A kustomization
	// in it may refer to what lies beside it.
	Path string
	// Format is a format's name; "" is the one that the tree looks like.
	Format string
	// Name is that of the installation, which templates may show; "" is the chart's.
	Name string
	// Namespace is where an installation goes, which templates may show. Objects that name
	// none stay without one: which kinds have one, a cluster knows.
	Namespace string
	// Watch are the namespaces that an operator is for; none is as many as it can.
	Watch []string
	// ConfigChecksum has pods replaced when what they read of the bundle's own ConfigMaps and
	// Secrets changes (bundle.Checksummed).
	ConfigChecksum bool
	// Values are the values files of a chart, later ones over earlier ones.
	Values []ValuesFile
	// Set are settings over all values, as a.b=c.
	Set []string
	// Parameters are values for the parameters of a Template, by name.
	Parameters map[string]string
	// SkipHooks names hooks of a chart that are left out, as Kind/name.
	SkipHooks []string
	// Once renders a chart once: no note says what renders differently each time.
	Once bool

	Tolerated
}

// Tolerated are the faults of content that are passed over.
type Tolerated struct {
	// IgnoreUnknown passes over parameters that the content does not declare, in every format.
	IgnoreUnknown bool
	// Empty lets content come to no objects.
	Empty bool
}

// ValuesFile is a file of values for a chart.
type ValuesFile struct {
	// Name locates it for a user: a path, or a field.
	Name string
	Text []byte
	// Secret reports that the text is a Secret's: errors do not quote it.
	Secret bool
}

// Secret reports whether values are of Secrets: then so may be whatever is rendered.
func (o Options) Secret() bool {
	return slices.ContainsFunc(o.Values, func(f ValuesFile) bool { return f.Secret })
}
