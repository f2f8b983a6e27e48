package bundle

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// Input is all that a rendering depends on. Equal inputs render to equal objects.
type Input struct {
	// Content is the tree's digest.
	Content string `json:"content"`
	// Path is the folder of it that is rendered.
	Path   string `json:"path"`
	Format Format `json:"format"`
	// Name and Namespace are those of the installation, which templates may show.
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	// Watch are the namespaces that an operator was asked to watch.
	Watch []string `json:"watch"`
	// ConfigChecksum says that pods are replaced when what they read changes.
	ConfigChecksum bool `json:"configChecksum,omitempty"`
	// Values are merged, as JSON has them; nil where there are none.
	Values map[string]any `json:"values"`
	// Parameters are those of a Template.
	Parameters map[string]string `json:"parameters,omitempty"`
	// SkipHooks names hooks of a chart that are left out.
	SkipHooks []string `json:"skipHooks,omitempty"`
	// Renderer names what renders, with its version.
	Renderer string `json:"renderer"`
}

// Digest returns "sha256:" and 64 hexadecimal digits (BUNDLES.md, inputDigest). An
// error means that the values hold what JSON has not.
func (i Input) Digest() (string, error) {
	text, err := json.Marshal(i)
	if err != nil {
		return "", fmt.Errorf("cannot write the values as JSON: %w", err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), nil
}
