package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// manifest is one document: as it was written, and as JSON.
type manifest struct{ text, json []byte }

// readManifests reads the documents of a file, or of standard input for "-".
func readManifests(c *cobra.Command, file string) ([]manifest, error) {
	in := c.InOrStdin()
	switch file {
	case "":
		return nil, fmt.Errorf("cannot %[1]s: name the manifest: orcon %[1]s -f FILE, or -f - for standard input", c.Name())
	case "-":
	default:
		f, err := os.Open(file) //nolint:gosec // the user names it
		if err != nil {
			return nil, fmt.Errorf("cannot read the manifest: %w", err)
		}
		defer f.Close() //nolint:errcheck // it is only read
		in = f
	}
	reader := kubeyaml.NewYAMLReader(bufio.NewReader(in))
	var all []manifest
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read the manifest: %w", err)
		}
		converted, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, fmt.Errorf("cannot read document %d of %s: %w", len(all)+1, file, err)
		}
		if !bytes.Equal(converted, []byte("null")) {
			all = append(all, manifest{text, converted})
		}
	}
}

// writeManifest writes a document, as it was written if it did not change.
func writeManifest(out io.Writer, m manifest, changed []byte, first bool) error {
	text := bytes.TrimPrefix(m.text, []byte("---\n"))
	if !bytes.Equal(changed, m.json) {
		converted, err := yaml.JSONToYAML(changed)
		if err != nil {
			return fmt.Errorf("cannot write the manifest: %w", err)
		}
		text = converted
	}
	if !first {
		text = append([]byte("---\n"), text...)
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	_, err := out.Write(text)
	return err
}

// items calls do with each object of a document, or of a List, and returns the document with the
// results.
func items(document []byte, do func([]byte) ([]byte, error)) ([]byte, error) {
	var list struct {
		Kind  string            `json:"kind"`
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &list); err != nil || list.Kind != "List" {
		return do(document)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(document, &all); err != nil {
		return nil, fmt.Errorf("cannot read the list: %w", err)
	}
	changed := false
	for i, item := range list.Items {
		after, err := do(item)
		if err != nil {
			return nil, err
		}
		changed = changed || !bytes.Equal(item, after)
		list.Items[i] = after
	}
	if !changed {
		return document, nil
	}
	text, err := json.Marshal(list.Items)
	if err != nil {
		return nil, fmt.Errorf("cannot write the list: %w", err)
	}
	all["items"] = text
	return json.Marshal(all)
}

// object has the fields by which an object is named and Services are found.
type object struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name, GenerateName, Namespace string
		Annotations                   map[string]string
	} `json:"metadata"`
	Spec struct {
		Selector json.RawMessage `json:"selector"`
	} `json:"spec"`
}

func (o *object) String() string { return o.Kind + "/" + o.Metadata.Name + o.Metadata.GenerateName }

// service returns the object as a Service, if it is one.
func (o *object) service() (injection.Service, bool) {
	s := injection.Service{Name: o.Metadata.Name, Annotations: o.Metadata.Annotations}
	if o.Kind != "Service" || json.Unmarshal(o.Spec.Selector, &s.Selector) != nil {
		return s, false
	}
	return s, true
}
