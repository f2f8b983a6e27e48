package injection

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// OnChange is how a pod itself hears of a change (SAFETY.md I24). At most one of
// its fields is set.
type OnChange struct {
	// Post is where each event is sent; the zero Post for nowhere.
	Post Post
	// Command is run for each event in the handlers' container: a list of
	// arguments, which no shell sees.
	Command []string
	// Signal is the signal to the pod's containers when their files have changed: a name of Signals; empty for none.
	Signal string
}

// said reports whether the pod hears of a change by one of them.
func (o OnChange) said() bool { return o.Post.Port != 0 || o.Command != nil || o.Signal != "" }

// Post is a port, 1 to 65535, and a path with its query, beginning with "/", on
// the pod's own loopback.
type Post struct {
	Port int
	Path string
}

// String returns the form that ParseOnChange reads.
func (p Post) String() string { return application.OnChangeHTTP + ":" + strconv.Itoa(p.Port) + p.Path }

// maxPath is the longest path of a Post, in bytes.
const maxPath = 1024

// Signals are those that a process can handle and that people use to have it look
// again, or end, without SIG.
func Signals() []string {
	return []string{"ALRM", "CONT", "HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "WINCH"}
}

// ParseOnChange reads what tengu.io/on-change says of the pod itself: nothing for
// files and restart. It returns what is wrong, or nil.
func ParseOnChange(text string) (OnChange, *application.Problem) {
	var (
		o            OnChange
		reason, cure string
	)
	if rest, ok := strings.CutPrefix(text, application.OnChangeHTTP); ok {
		o.Post, reason, cure = parsePost(rest)
	} else if rest, ok := strings.CutPrefix(text, application.OnChangeExec); ok {
		o.Command, reason, cure = parseCommand(rest)
	} else if rest, ok := strings.CutPrefix(text, application.OnChangeSignal); ok {
		o.Signal, reason, cure = parseSignal(rest)
	}
	if reason != "" {
		return OnChange{}, &application.Problem{Key: application.KeyOnChange, Entry: text, Reason: reason, Cure: cure}
	}
	return o, nil
}

// post matches "localhost:8080/path" with any host, or without one: the error for another host names it.
var post = regexp.MustCompile(`^([^/:@#?]*|\[[0-9a-fA-F:.]*\])(?::([0-9]*))?(/(?:[^#%]|%[0-9a-fA-F]{2})*)?$`)

// parsePost reads what follows "http:".
func parsePost(text string) (p Post, reason, cure string) {
	cure = "write a port and a path of this pod, for example " + Post{8080, "/relations"}.String()
	if !strings.HasPrefix(text, ":") && !strings.HasPrefix(text, "//") || !printable(text) {
		return p, "it is neither :PORT/PATH nor //localhost:PORT/PATH", cure
	}
	parts := post.FindStringSubmatch(strings.TrimPrefix(text, "//"))
	if parts == nil {
		return p, "it is not an address of a port and a path alone", cure
	}
	host := strings.Trim(parts[1], "[]")
	port, err := strconv.Atoi(parts[2])
	p = Post{port, parts[3]}
	switch {
	case err != nil || p.Port < 1 || p.Port > 65535:
		return p, "there is no port from 1 to 65535", cure
	case !slices.Contains([]string{"", "localhost", "127.0.0.1", "::1"}, host):
		return p, fmt.Sprintf("%s is not this pod: what it hears stays in it", host), "write " + p.String()
	case p.Path == "":
		return p, "there is no path", "write " + Post{p.Port, "/"}.String()
	case len(p.Path) > maxPath:
		return p, fmt.Sprintf("its path has more than %d bytes", maxPath), cure
	default:
		return p, "", ""
	}
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// parseCommand reads words, or a JSON list where a word holds more than a plain
// argument: what looks like a shell's line would silently mean something else.
func parseCommand(text string) (command []string, reason, cure string) {
	const example = `write a JSON list, for example exec:["/bin/sh", "-c", "echo changed"]`
	if len(text) > application.MaxList {
		return nil, fmt.Sprintf("it has more than %d bytes", application.MaxList), "write a script of the image"
	}
	if strings.HasPrefix(text, "[") {
		if err := json.Unmarshal([]byte(text), &command); err != nil {
			return nil, "it is not a JSON list of texts", example
		}
	} else {
		if strings.ContainsAny(text, "\"'`\\$|&;<>*?(){}~#") {
			return nil, "no shell reads it, so that quotes, variables and the like mean nothing", example
		}
		command = strings.Fields(text)
	}
	switch {
	case len(command) == 0 || command[0] == "":
		return nil, "there is no command", "write for example exec:/usr/bin/reload --now"
	case slices.ContainsFunc(command, func(word string) bool { return strings.Contains(word, "\x00") }):
		return nil, "no argument of a command can hold NUL", example
	default:
		return command, "", ""
	}
}

// parseSignal reads the name of a signal, with or without SIG.
func parseSignal(text string) (name, reason, cure string) {
	name = strings.TrimPrefix(text, "SIG")
	if slices.Contains(Signals(), name) {
		return name, "", ""
	}
	upper := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	switch near := spelling.Nearest(upper, Signals()); {
	case upper == "KILL" || upper == "STOP":
		return "", "no process can handle it", "write " + application.KeyOnChange + ": restart on the workload, which replaces its pods one after the other"
	case near != "":
		return "", "it is not a signal that can be sent", "did you mean signal:" + near + "?"
	default:
		return "", "it is not a signal that can be sent", "write one of " + strings.Join(Signals(), ", ")
	}
}

// unfitForSignal returns why the agent cannot signal the containers that have the
// files, and what to change in the pod; or nothing. The kernel lets it signal
// processes that it sees and that are of its own user.
func (o *Options) unfitForSignal(spec *Spec) (reason, cure string) {
	user := spec.SecurityContext.RunAsUser
	switch {
	case !spec.ShareProcessNamespace:
		return "the pod's containers do not share their processes, so that the agent sees none", "set spec.shareProcessNamespace: true"
	case user == nil || *user == 0:
		return "the agent can signal processes of its own user alone, who is not root, and the pod does not say who that is", "set spec.securityContext.runAsUser"
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if own := c.SecurityContext.RunAsUser; o.serves(c.Name) && own != nil && *own != *user {
			return fmt.Sprintf("container %s runs as user %d and the agent as %d, which may not signal it", c.Name, *own, *user),
				"let it run as the pod's user, or name the other containers in " + application.KeyContainers
		}
	}
	return "", ""
}
