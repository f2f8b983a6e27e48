package schema

import (
	"embed"
	"strings"
)

//go:embed *.json
var files embed.FS

// Names returns the names of the schemas in order. The file of schema /app-sre/integration-1.yml is integration-1.
func Names() []string {
	entries, _ := files.ReadDir(".") // the folder is embedded
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

// Find returns the JSON of a schema.
func Find(name string) (text []byte, there bool) {
	text, err := files.ReadFile(name + ".json")
	return text, err == nil
}
