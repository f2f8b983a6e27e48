package bundle

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Origin is a kind of place that content comes from.
type Origin string

// The origins.
const (
	// Image is an image, or another artifact, in a registry.
	Image Origin = "image"
	// Git is a repository.
	Git Origin = "git"
	// HTTP is an archive on a web server.
	HTTP Origin = "http"
	// GraphQL is a server of Qontract, which has the data files of a fleet and nothing that is deployed.
	GraphQL Origin = "graphql"
	// ConfigMaps are objects of the cluster, in the namespace of who refers to them.
	ConfigMaps Origin = "configMaps"
	// Local is a folder or an archive on the machine.
	Local Origin = "local"
	// Builtin is content of the program itself: Orcon's own manifests.
	Builtin Origin = "builtin"
)

// Reference says where content is, and which content. It has one of these forms,
// where what is in brackets may be missing:
//
//	oci://registry/repository[:tag][@sha256:…][#folder=…]
//	git+https://host/repository[@commit, branch or tag][#folder=…]    also git+ssh, git+http
//	https://host/archive.tgz[#sha256=…][&folder=…]                    also http
//	graphql+https://host/graphql                                      also graphql+http
//	configmaps:name,name
//	builtin:variant
//	path
type Reference struct {
	Origin Origin
	// Location is the address or path without what follows. An image's has no scheme,
	// a repository's no "git+", a GraphQL server's no "graphql+".
	Location string
	// Version is a tag or a branch, which may come to mean something else; "" is the
	// default one.
	Version string
	// Digest identifies the required content: "sha256:…", or a commit for git; "" accepts any.
	Digest string
	// Folder is the part of the content that is meant; "" is all.
	Folder string
}

// forms lists the forms of references, for messages.
const forms = "oci://, git+https://, git+ssh://, https://, http://, graphql+https://, configmaps:, builtin: or a path"

// ParseReference reads a reference. Errors repeat it without what may be a password.
func ParseReference(text string) (Reference, error) {
	r, err := parseReference(text)
	if err == nil {
		err = r.check()
	}
	if err != nil {
		return Reference{}, fmt.Errorf("cannot use reference %q: %w", withoutPassword(text), err)
	}
	return r, nil
}

func parseReference(text string) (Reference, error) {
	if names, ok := strings.CutPrefix(text, "configmaps:"); ok {
		return Reference{Origin: ConfigMaps, Location: names}, nil
	}
	if variant, ok := strings.CutPrefix(text, "builtin:"); ok {
		return Reference{Origin: Builtin, Location: variant}, nil
	}
	scheme, rest, remote := strings.Cut(text, "://")
	if !remote {
		return Reference{Origin: Local, Location: text}, nil
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	switch scheme {
	case "oci":
		return parseImage(rest, fragment)
	case "git+https", "git+http", "git+ssh":
		return parseGit(strings.TrimPrefix(scheme, "git+"), rest, fragment)
	case "https", "http":
		r := Reference{Origin: HTTP, Location: scheme + "://" + rest}
		sum, err := r.fragment(fragment, "sha256", "folder")
		if sum != "" {
			r.Digest = "sha256:" + sum
		}
		return r, err
	case "graphql+https", "graphql+http":
		return parseGraphQL(strings.TrimPrefix(scheme, "graphql+"), rest, fragment)
	default:
		return Reference{}, fmt.Errorf("it does not begin with one of %s", forms)
	}
}

func parseImage(rest, fragment string) (Reference, error) {
	r := Reference{Origin: Image}
	name, digest, pinned := strings.Cut(rest, "@")
	if pinned && digest == "" {
		return r, errors.New("nothing follows the @")
	}
	r.Location, r.Digest = name, digest
	if at := strings.LastIndex(name, ":"); at > strings.LastIndex(name, "/") {
		r.Location, r.Version = name[:at], name[at+1:]
		if r.Version == "" {
			return r, errors.New("no tag follows the colon")
		}
	}
	_, err := r.fragment(fragment, "folder")
	return r, err
}

func parseGit(scheme, rest, fragment string) (Reference, error) {
	host, at, _ := strings.Cut(rest, "/")
	at, version, versioned := strings.Cut(at, "@")
	r := Reference{Origin: Git, Location: scheme + "://" + host + "/" + at}
	switch {
	case versioned && version == "":
		return r, errors.New("nothing follows the @")
	case isHex(version, 40) || isHex(version, 64):
		r.Digest = version
	default:
		r.Version = version
	}
	_, err := r.fragment(fragment, "folder")
	return r, err
}

func parseGraphQL(scheme, rest, fragment string) (Reference, error) {
	switch {
	case !strings.HasSuffix(rest, "/graphql"):
		return Reference{}, errors.New("the address of a GraphQL server ends with /graphql")
	case fragment != "":
		return Reference{}, errors.New("a GraphQL server has no more than its latest data: remove what follows the #")
	}
	return Reference{Origin: GraphQL, Location: scheme + "://" + rest}, nil
}

// fragment reads what follows "#", name=value joined by "&". It returns the value of
// sha256.
func (r *Reference) fragment(text string, names ...string) (string, error) {
	if text == "" {
		return "", nil
	}
	sum := ""
	for part := range strings.SplitSeq(text, "&") {
		name, value, _ := strings.Cut(part, "=")
		switch {
		case value == "":
			return "", fmt.Errorf("%q is not name=value", part)
		case name == "folder" && r.Folder == "":
			r.Folder = value
		case name == "sha256" && len(names) == 2 && sum == "":
			sum = value
		default:
			return "", fmt.Errorf("%q may not stand behind the #: only %s may, once", part, strings.Join(names, " and "))
		}
	}
	return sum, nil
}

func (r Reference) check() error {
	if strings.ContainsFunc(r.Location+r.Version+r.Digest, unicode.IsControl) {
		return errors.New("it contains a control character")
	}
	if r.Origin == Local {
		if r.Location == "" {
			return errors.New("it is empty: it begins with one of " + forms)
		}
		return nil
	}
	if strings.ContainsFunc(r.Location+r.Version+r.Digest, unicode.IsSpace) {
		return errors.New("it contains a space")
	}
	if r.Folder != "" {
		if err := CheckPath(r.Folder); err != nil {
			return err
		}
		if strings.ContainsAny(r.Folder, "&") {
			return errors.New("a folder's name contains &")
		}
	}
	if hex, ok := strings.CutPrefix(r.Digest, "sha256:"); r.Digest != "" && r.Origin != Git && (!ok || !isHex(hex, 64)) {
		return fmt.Errorf("digest %q is not sha256 and 64 hexadecimal digits in small letters", r.Digest)
	}
	return r.checkLocation()
}

func (r Reference) checkLocation() error {
	if r.Origin == ConfigMaps || r.Origin == Builtin {
		return r.checkNames()
	}
	scheme, rest, found := strings.Cut(r.Location, "://")
	if !found {
		scheme, rest = "", r.Location
	}
	host, at, _ := strings.Cut(rest, "/")
	user, _, named := strings.Cut(host, "@")
	switch {
	case at == "" || host == "":
		return errors.New("it names no host and path")
	case named && (scheme != "ssh" || strings.Contains(user, ":")):
		return errors.New("it contains a user or a password: pass credentials separately")
	case strings.HasPrefix(host, "-") || strings.HasPrefix(r.Version, "-"):
		return errors.New("a host or version begins with -")
	}
	return nil
}

// checkNames refuses an invalid name or list of names.
func (r Reference) checkNames() error {
	what := map[Origin]string{ConfigMaps: "ConfigMap", Builtin: "variant"}[r.Origin]
	for name := range strings.SplitSeq(r.Location, ",") {
		if name == "" || strings.ContainsAny(name, "/:@#") {
			return fmt.Errorf("%q is not a valid %s", name, what)
		}
	}
	return nil
}

// String returns the text that ParseReference reads as this reference. A GraphQL server's with a digest is for people.
func (r Reference) String() string {
	text, fragment := r.Location, ""
	switch r.Origin {
	case ConfigMaps:
		return "configmaps:" + text
	case Builtin:
		return "builtin:" + text
	case Local:
		return text
	case Image:
		text = "oci://" + text
		if r.Version != "" {
			text += ":" + r.Version
		}
		if r.Digest != "" {
			text += "@" + r.Digest
		}
	case Git:
		text = "git+" + text
		if r.Version+r.Digest != "" {
			text += "@" + r.Version + r.Digest
		}
	case HTTP, GraphQL:
		if r.Origin == GraphQL {
			text = "graphql+" + text
		}
		if r.Digest != "" {
			fragment = "sha256=" + strings.TrimPrefix(r.Digest, "sha256:")
		}
	}
	if r.Folder != "" {
		fragment = strings.TrimPrefix(fragment+"&folder="+r.Folder, "&")
	}
	if fragment != "" {
		text += "#" + fragment
	}
	return text
}

// Pinned returns an error with the cure if the reference may mean other content tomorrow. Folders, objects of the
// cluster and the program's own content are read as they are.
func (r Reference) Pinned() error {
	if r.Digest != "" || r.Origin == Local || r.Origin == ConfigMaps || r.Origin == Builtin {
		return nil
	}
	if r.Origin == GraphQL {
		return fmt.Errorf("cannot use %s: a GraphQL server has no more than its latest data, so its content may change: track it", r)
	}
	cure := map[Origin]string{Image: "@sha256:DIGEST", Git: "@COMMIT, all 40 digits", HTTP: "#sha256=CHECKSUM"}[r.Origin]
	return fmt.Errorf("cannot use %s: it is not pinned, so its content may change: add %s, or track it", r, cure)
}

// Deployable returns an error with the cure if the reference names no place that manifests may come from.
func (r Reference) Deployable() error {
	if r.Origin == GraphQL {
		return fmt.Errorf("cannot use %s: a GraphQL server has the data of a fleet and no manifests: use a reference that begins with "+
			"oci://, git+https:// or https:// instead", r)
	}
	return nil
}

// isHex reports whether a text is so many hexadecimal digits in small letters.
func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}

// withoutPassword returns a reference without what stands before an @ in its host.
func withoutPassword(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	host, at, _ := strings.Cut(rest, "/")
	if user := strings.LastIndex(host, "@"); found && user >= 0 && strings.Contains(host[:user], ":") {
		return scheme + "://…" + host[user:] + "/" + at
	}
	return text
}
