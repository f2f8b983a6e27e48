package qontract_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// server answers as a server of Qontract does: from one commit, by a schema, and with an error for a field that the
// schema does not have.
type server struct {
	t *testing.T
	// types has the fields of each type with their types: [T], T!, or a scalar in small letters.
	types map[string]map[string]string
	// lists has the objects of each field of Query.
	lists map[string]string
	// sha names the data; those of another name are gone.
	sha string
	// wrong answers in place of the server, unless it returns false.
	wrong func(w http.ResponseWriter, r *http.Request, n int) bool
	// queries are those that were answered.
	queries []string
	asked   int
}

const sha = "0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f"

// start returns the address of the server.
func (s *server) start() string {
	if s.sha == "" {
		s.sha = sha
	}
	listening := httptest.NewServer(s)
	s.t.Cleanup(listening.Close)
	return listening.URL + "/api/graphql"
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked++
	switch {
	case s.wrong != nil && s.wrong(w, r, s.asked):
	case r.Method == http.MethodGet && r.URL.Path == "/api/sha256":
		w.Header().Set("Content-Type", "text/html; charset=utf-8") // as Express calls every text
		_, _ = io.WriteString(w, s.sha)
	case r.Method == http.MethodPost && r.URL.Path == "/api/graphqlsha/"+s.sha && r.Header.Get("Content-Type") == "application/json":
		var request struct{ Query string }
		assert.NoError(s.t, json.NewDecoder(r.Body).Decode(&request))
		s.queries = append(s.queries, request.Query)
		answer := map[string]any{"extensions": map[string]any{"schemas": []string{}}}
		data, err := s.answer(request.Query)
		if err != nil {
			answer["errors"] = []map[string]string{{"message": err.Error()}}
			w.WriteHeader(http.StatusBadRequest)
		} else {
			answer["data"] = data
		}
		assert.NoError(s.t, json.NewEncoder(w).Encode(answer))
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<!DOCTYPE html><pre>Cannot POST</pre>")
	}
}

var (
	asksType = regexp.MustCompile(`(t\d+): __type\(name: "(\w+)"\)`)
	word     = regexp.MustCompile(`\.\.\.|[{}]|\w+`)
)

func (s *server) answer(query string) (map[string]any, error) {
	if found := asksType.FindAllStringSubmatch(query, -1); found != nil {
		all := map[string]any{}
		for _, f := range found {
			all[f[1]] = s.described(f[2])
		}
		return all, nil
	}
	rest := word.FindAllString(query, -1)
	top := map[string]any{}
	for name, text := range s.lists {
		var list any
		require.NoError(s.t, json.Unmarshal([]byte(text), &list))
		top[name] = list
	}
	return s.selected(&rest, "Query", top)
}

// described returns the fields of a type as introspection does.
func (s *server) described(kind string) any {
	fields, known := s.types[kind]
	if !known {
		return nil
	}
	var all []map[string]any
	for name, t := range fields {
		bare := strings.Trim(t, "[]!")
		described := map[string]any{"kind": "OBJECT"}
		if strings.ToLower(bare) == bare {
			described["kind"] = "SCALAR"
		}
		for _, wraps := range map[string]string{"NON_NULL": "!", "LIST": "["} {
			if strings.Contains(t, wraps) {
				described = map[string]any{"kind": "WRAPPER", "ofType": described}
			}
		}
		all = append(all, map[string]any{"name": name, "type": described})
	}
	return map[string]any{"fields": all}
}

// selected reads a selection and returns what it selects of an object; fields that the object does not have are null.
func (s *server) selected(rest *[]string, kind string, from map[string]any) (map[string]any, error) {
	next := func() string {
		first := (*rest)[0]
		*rest = (*rest)[1:]
		return first
	}
	if opens := next(); opens != "{" {
		return nil, fmt.Errorf("%s has no selection", kind)
	}
	all := map[string]any{}
	for {
		switch name := next(); name {
		case "}":
			return all, nil
		case "...":
			next() // on
			other := next()
			part, err := s.selected(rest, other, from)
			if err != nil {
				return nil, err
			}
			if from["kind"] == other {
				maps.Copy(all, part)
			}
		case "__typename":
			all[name] = kind
		default:
			value, err := s.field(rest, kind, name, from[name])
			if err != nil {
				return nil, err
			}
			all[name] = value
		}
	}
}

// field returns what a field has, by its selection if it is an object or a list of them.
func (s *server) field(rest *[]string, kind, name string, value any) (any, error) {
	t, known := s.types[kind][name]
	bare := strings.Trim(t, "[]!")
	switch {
	case !known:
		return nil, fmt.Errorf("cannot query field %s on type %s", name, kind)
	case strings.ToLower(bare) == bare:
		if mapping, isMapping := value.(map[string]any); isMapping {
			text, err := json.Marshal(mapping)
			return string(text), err
		}
		return value, nil
	}
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	begin, out := *rest, []any{}
	for _, element := range list {
		*rest = begin
		from, present := element.(map[string]any)
		selected, err := s.selected(rest, bare, from)
		if err != nil {
			return nil, err
		}
		if present {
			out = append(out, selected)
		}
	}
	switch {
	case isList && len(list) == 0:
		_, err := s.selected(rest, bare, nil)
		return out, err
	case isList:
		return out, nil
	case len(out) == 0:
		return nil, nil
	}
	return out[0], nil
}
