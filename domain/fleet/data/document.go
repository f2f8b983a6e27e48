package data

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// The schemas of files that are read.
const (
	integrationSchema   = "/app-sre/integration-1.yml"
	environmentSchema   = "/app-sre/environment-1.yml"
	namespaceSchema     = "/openshift/namespace-1.yml"
	leanNamespaceSchema = "/openshift/lean-namespace-1.yml"
	clusterSchema       = "/openshift/cluster-1.yml"
	organisationSchema  = "/openshift/openshift-cluster-manager-1.yml"
	accountSchema       = "/aws/account-1.yml"
)

// read lists the schemas of files that are parsed.
//
//nolint:gochecknoglobals // a table
var read = []string{
	integrationSchema, environmentSchema, namespaceSchema, leanNamespaceSchema, clusterSchema, organisationSchema, accountSchema,
}

// document is a file of the data.
type document struct {
	path   string
	schema string
	// lines reports whether the lines of nodes mean something to a reader.
	lines bool
	// content is parsed when the file is first needed.
	content []byte
}

// The ways to find a schema without parsing: most files of real data are of schemas
// that a fleet does not need.
var (
	schemaLine = regexp.MustCompile(`(?m)^(?:"\$schema"|'\$schema'|\$schema)[ \t]*:[ \t]*["']?([^\s"'#]+)`)
	schemaText = regexp.MustCompile(`"\$schema"\s*:\s*"([^"]+)"`)
	entryLine  = regexp.MustCompile(`(?m)^["']?(?:managed|operate)["']?[ \t]*:`)
)

// open finds the schema of a file.
func open(path string, content []byte) document {
	content = bytes.TrimPrefix(content, []byte("\ufeff")) // a byte order mark
	d := document{path: path, content: content}
	text := bytes.TrimSpace(content)
	d.lines = !bytes.HasPrefix(text, []byte("{")) || bytes.Contains(text, []byte("\n"))
	var head struct {
		Schema string `json:"$schema"`
	}
	if bytes.HasPrefix(text, []byte("{")) && json.Unmarshal(text, &head) == nil {
		d.schema = head.Schema
		return d
	}
	expression := schemaLine
	if bytes.HasPrefix(text, []byte("{")) {
		expression = schemaText // JSON that is not valid still has a kind
	}
	if found := expression.FindSubmatch(content); found != nil {
		d.schema = string(found[1])
	}
	return d
}

// disguised reports a file that looks like an integration and has no schema or an
// unknown one: ignoring it would stop the integration for a misspelt line.
func (d document) disguised() (Problem, bool) {
	if d.schema == integrationSchema || !entryLine.Match(d.content) && !bytes.Contains(d.content, []byte(integrationSchema)) {
		return Problem{}, false
	}
	reason := fmt.Sprintf("the file lists where an integration runs and has schema %q", d.schema)
	if d.schema == "" {
		reason = "the file lists where an integration runs and has no $schema"
	}
	return Problem{Location{File: d.path}, reason, "write $schema: " + integrationSchema}, true
}

// root parses the file.
func (d document) root() (value, []Problem) {
	if atMost(d.content) > 4*maxValues { // parsed it would take a hundred times its size
		return value{}, []Problem{d.crowded()}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(d.content))
	var node, second yaml.Node
	if err := decoder.Decode(&node); err != nil {
		return value{}, []Problem{d.unreadable(err)}
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		reason := "the file has a second document, which would be ignored"
		return value{}, []Problem{{Location{File: d.path, Line: second.Line}, reason, "move it to a file of its own"}}
	}
	if (sizes{}).of(&node) > maxValues {
		return value{}, []Problem{d.crowded()}
	}
	return value{document: d, node: node.Content[0]}, nil
}

// yamlLine matches how the library reports a line.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// unreadable describes a file that is not YAML.
func (d document) unreadable(err error) Problem {
	p := Problem{Location{File: d.path}, "the file is empty", "write the object, or delete the file"}
	if errors.Is(err, io.EOF) {
		return p
	}
	p.Reason, p.Cure = "the file is not valid YAML", "correct the syntax"
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		p.Reason += " (" + found[2] + ")"
		if line, err := strconv.Atoi(found[1]); err == nil && d.lines {
			p.Location.Line = line
		}
	}
	return p
}

// rooted returns a path of the data with its leading slash.
func rooted(path string) string { return "/" + strings.TrimLeft(path, "/") }
