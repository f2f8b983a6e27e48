package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// accounts begin the user names of Orcon's accounts.
const accounts = "system:serviceaccount:orcon-system:"

// act is a request of an account.
type act struct {
	account, verb, group, resource, namespace, name string
}

// String describes the act.
func (a act) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s/%s", a.account, a.verb, joined(a.resource, a.group), a.namespace, a.name))
}

// joined returns a resource with its group, as kubectl names it.
func joined(resource, group string) string {
	if group == "" {
		return resource
	}
	return resource + "." + group
}

// event is the part of a line of an audit log that counts here.
type event struct {
	Verb             string `json:"verb"`
	User             struct{ Username string }
	ImpersonatedUser *struct{ Username string }
	ObjectRef        *struct {
		Resource, Subresource, APIGroup, Namespace, Name string
	} `json:"objectRef"`
	ResponseStatus struct{ Code int }
	Annotations    map[string]string `json:"annotations"`
}

// read adds the acts of a log to those that were permitted, or to those that were forbidden. What an account did as
// another one is not its own. An act that was permitted before in the same
// cluster is none that a role lacks: the permission was taken back, or its namespace is being deleted.
func read(log io.Reader, permitted, forbidden map[act]bool) error {
	lines, here := bufio.NewScanner(log), map[act]bool{}
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return fmt.Errorf("cannot read an audit log: %w", err)
		}
		account, own := strings.CutPrefix(e.User.Username, accounts)
		if !own || e.ObjectRef == nil || e.ImpersonatedUser != nil {
			continue
		}
		a := act{account, e.Verb, e.ObjectRef.APIGroup, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name}
		if e.ObjectRef.Subresource != "" {
			a.resource += "/" + e.ObjectRef.Subresource
		}
		if e.Annotations["authorization.k8s.io/decision"] != "forbid" {
			here[a] = true
			permit(permitted, a, e.ResponseStatus.Code)
		} else if !here[a] {
			forbidden[a] = true
		}
	}
	return lines.Err()
}

// permit adds an act to those that were permitted. An apply that creates needs both verbs.
func permit(permitted map[act]bool, a act, code int) {
	permitted[a] = true
	if a.verb == "patch" && code == http.StatusCreated {
		a.verb = "create"
		permitted[a] = true
	}
}
