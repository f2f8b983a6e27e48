package application

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// DefaultRetain is how long a relation outlives its declaration (SAFETY.md L5).
const DefaultRetain = 24 * time.Hour

// Declaration is the part of one object that describes its application.
type Declaration struct {
	// Endpoints that it provides, consumes or has peers on.
	Endpoints []Endpoint
	// Relations it wants.
	Relations []Reference
	// Data is the static application bag of each endpoint.
	Data map[string]map[string]string
	// Secrets names, for each endpoint, the Secret that is granted by it.
	Secrets map[string]string
	// Env lists, for each endpoint, further keys wanted as variables.
	Env map[string][]string
	// OnChange is Files where nothing is said.
	OnChange OnChange
	// Ungated is set where containers start without waiting.
	Ungated bool
	// Stale is set where containers start with a copy of their data while Orcon is away.
	Stale bool
	// Retain is DefaultRetain where nothing is said.
	Retain time.Duration
	// Application names the application; empty for the object's own name.
	Application string
}

// Empty reports whether the object declares no endpoint and no relation.
func (d Declaration) Empty() bool {
	return len(d.Endpoints) == 0 && len(d.Relations) == 0
}

// Endpoint returns the endpoint of that name.
func (d Declaration) Endpoint(name string) (Endpoint, bool) {
	i := slices.IndexFunc(d.Endpoints, func(e Endpoint) bool { return e.Name == name })
	if i < 0 {
		return Endpoint{}, false
	}
	return d.Endpoints[i], true
}

// Parse reads what the labels and annotations of a Service or workload declare. It returns all problems at once, in
// order of key, and with them what could be read: one wrong entry must not take a working relation down.
func Parse(labels, annotations map[string]string) (Declaration, []Problem) {
	p := parser{declaration: Declaration{OnChange: Files, Retain: DefaultRetain}}
	if tooMany := checkKeys(labels, annotations); tooMany != nil {
		return p.declaration, []Problem{*tooMany}
	}
	if label, ok := labels[KeyProvides]; ok {
		if _, both := annotations[KeyProvides]; both {
			p.refuse(Problem{Key: KeyProvides, Reason: "it is both a label and an annotation", Cure: "keep one of them"})
		} else {
			p.endpoints(ParseProvides(label))
		}
	}
	for _, key := range sortedKeys(annotations) {
		p.read(key, annotations[key])
	}
	p.unknownKeys(labels)
	p.uselessLabels(labels)
	p.checkTogether(annotations)
	return p.declaration, p.problems
}

// maxKeys is how many keys of Orcon an object has at most: each endpoint may have two, and the rest are few.
const maxKeys = 4 * MaxEntries

// checkKeys finds more keys than are read at an admission, which may come before the API server has judged them.
func checkKeys(labels, annotations map[string]string) *Problem {
	first, count := "", 0
	for _, keys := range []map[string]string{labels, annotations} {
		for key := range keys {
			if prefix, _, found := strings.Cut(key, "/"); found && ours(prefix) {
				if count++; first == "" || key < first {
					first = key
				}
			}
		}
	}
	if count <= maxKeys {
		return nil
	}
	return &Problem{Key: first, Reason: fmt.Sprintf("an object has at most %d keys of Orcon, this one has %d", maxKeys, count),
		Cure: "split the application"}
}

type parser struct {
	declaration Declaration
	problems    []Problem
}

func (p *parser) refuse(problems ...Problem) { p.problems = append(p.problems, problems...) }

func (p *parser) endpoints(endpoints []Endpoint, problems []Problem) {
	p.refuse(problems...)
	for _, e := range endpoints {
		if _, taken := p.declaration.Endpoint(e.Name); taken {
			p.refuse(Problem{Key: e.Role.Key(), Entry: e.Name, Reason: "another role of this application already has an endpoint of that name",
				Cure: "choose another name"})
			continue
		}
		p.declaration.Endpoints = append(p.declaration.Endpoints, e)
	}
}

// Key returns the annotation that declares endpoints of a role.
func (r Role) Key() string {
	switch r {
	case Provider:
		return KeyProvides
	case Requirer:
		return KeyConsumes
	case Peer:
		return KeyPeers
	default:
		return ""
	}
}

func (p *parser) read(key, value string) {
	d := &p.declaration
	switch {
	case key == KeyProvides:
		p.endpoints(ParseProvides(value))
	case key == KeyConsumes:
		p.endpoints(ParseConsumes(value))
	case key == KeyPeers:
		p.endpoints(ParsePeers(value))
	case key == KeyRelations:
		references, problems := ParseRelations(value)
		d.Relations = references
		p.refuse(problems...)
	case key == KeyEnv:
		env, problems := ParseEnv(value)
		d.Env = env
		p.refuse(problems...)
	case strings.HasPrefix(key, PrefixData):
		p.data(key, value)
	case strings.HasPrefix(key, PrefixSecret):
		p.secret(key, value)
	default:
		p.setting(key, value)
	}
}

func (p *parser) data(key, value string) {
	if reason, cure := checkEndpoint(strings.TrimPrefix(key, PrefixData)); reason != "" {
		p.refuse(Problem{Key: key, Reason: "after '/' is an endpoint: " + reason, Cure: cure})
		return
	}
	bag, problems := ParseData(key, value)
	p.refuse(problems...)
	if bag == nil {
		return
	}
	if p.declaration.Data == nil {
		p.declaration.Data = map[string]map[string]string{}
	}
	p.declaration.Data[strings.TrimPrefix(key, PrefixData)] = bag
}

func (p *parser) secret(key, value string) {
	endpoint := strings.TrimPrefix(key, PrefixSecret)
	if reason, cure := checkEndpoint(endpoint); reason != "" {
		p.refuse(Problem{Key: key, Reason: "after '/' is an endpoint: " + reason, Cure: cure})
		return
	}
	if reason, cure := checkSecret(value); reason != "" {
		p.refuse(Problem{Key: key, Entry: value, Reason: reason, Cure: cure})
		return
	}
	if p.declaration.Secrets == nil {
		p.declaration.Secrets = map[string]string{}
	}
	p.declaration.Secrets[endpoint] = value
}

// setting reads the keys that take one word.
func (p *parser) setting(key, value string) {
	d := &p.declaration
	switch key {
	case KeyOnChange:
		p.onChange(value)
	case KeyGate:
		d.Ungated, d.Stale = value == GateNone, value == GateStale
		if !d.Ungated && !d.Stale && value != "wait" {
			p.refuse(Problem{Key: key, Entry: value, Reason: "it must be wait, stale or none",
				Cure: "write none to start without waiting, stale to start with older data while Orcon is away, or remove it"})
		}
	case KeyRetain:
		retain, err := time.ParseDuration(value)
		if err != nil || retain < 0 {
			p.refuse(Problem{Key: key, Entry: value, Reason: "it is not a duration", Cure: "write for example 24h or 90m"})
			return
		}
		d.Retain = retain
	case KeyHandlers, KeyBatch: // options of the pod
	case KeyApplication:
		if reason, cure := checkApplication(value); reason != "" {
			p.refuse(Problem{Key: key, Entry: value, Reason: reason, Cure: cure})
			return
		}
		d.Application = value
	default:
		p.unknownKeys(map[string]string{key: value})
	}
}

// checkTogether finds what no key can know by itself.
func (p *parser) checkTogether(annotations map[string]string) {
	p.checkEndpointKeys()
	d := p.declaration
	consumed := names(slices.DeleteFunc(slices.Clone(d.Endpoints), func(e Endpoint) bool { return e.Role != Requirer }))
	for _, endpoint := range sortedKeys(d.Env) {
		cure, near := "add it there, or remove it here", spelling.Nearest(endpoint, consumed)
		if whole := spelling.Keys(near, d.Env[endpoint]...); whole != "" {
			cure = "did you mean " + whole + "?"
		}
		if near != endpoint {
			p.refuse(Problem{Key: KeyEnv, Entry: endpoint, Reason: "tengu.io/consumes has no such endpoint", Cure: cure})
		}
	}
	p.checkRelated(annotations)
	_, consumes := annotations[KeyConsumes]
	if _, named := annotations[KeyRelations]; consumes && !named {
		p.refuse(Problem{Key: KeyConsumes, Reason: "tengu.io/relations is missing, so that no endpoint has a provider",
			Cure: "add tengu.io/relations with the names of the providing applications", Warning: true})
	}
	if len(d.Relations) > 0 && len(d.Endpoints) == 0 {
		p.refuse(Problem{Key: KeyRelations, Reason: "this object declares no endpoint that could be related",
			Cure: "add tengu.io/consumes with what it needs, or tengu.io/provides", Warning: true})
	}
}

// checkRelated finds references from endpoints that the object does not declare. Another object of the application may
// declare them, unless this one says what it consumes, or declares none.
func (p *parser) checkRelated(annotations map[string]string) {
	_, consumes := annotations[KeyConsumes]
	for _, reference := range p.declaration.Relations {
		e, declared := p.declaration.Endpoint(reference.Endpoint)
		if reference.Endpoint == "" || declared && e.Role != Peer {
			continue
		}
		p.refuse(Problem{Key: KeyRelations, Entry: reference.String(), Cure: "name it in tengu.io/consumes, or leave the endpoint out",
			Reason:  fmt.Sprintf("this object declares no endpoint %q", reference.Endpoint),
			Warning: !declared && !consumes && len(p.declaration.Endpoints) > 0})
	}
}

// checkEndpointKeys checks the keys that name an endpoint.
func (p *parser) checkEndpointKeys() {
	for _, endpoint := range sortedKeys(p.declaration.Secrets) {
		p.checkGranted(endpoint)
	}
	for _, endpoint := range sortedKeys(p.declaration.Data) {
		p.checkDeclared(PrefixData, endpoint)
	}
}

// checkGranted finds a granted Secret without a reader.
func (p *parser) checkGranted(endpoint string) {
	if e, ok := p.declaration.Endpoint(endpoint); ok && e.Role == Peer {
		p.refuse(Problem{Key: PrefixSecret + endpoint, Reason: "peers belong to one application, which needs no grant for its own Secrets",
			Cure: "mount it as a volume"})
	}
	p.checkDeclared(PrefixSecret, endpoint)
}

// checkDeclared finds a key that names no endpoint of an object that declares some. Another object of
// the application may declare it, so that it is a warning.
func (p *parser) checkDeclared(prefix, endpoint string) {
	d := p.declaration
	if _, ok := d.Endpoint(endpoint); ok || len(d.Endpoints) == 0 {
		return
	}
	cure := "name one of its endpoints: " + strings.Join(names(d.Endpoints), ", ")
	if near := spelling.Nearest(endpoint, names(d.Endpoints)); near != "" {
		cure = "did you mean " + prefix + near + "?"
	}
	p.refuse(Problem{Key: prefix + endpoint, Reason: fmt.Sprintf("this object declares no endpoint %q", endpoint), Cure: cure, Warning: true})
}

func names(endpoints []Endpoint) []string {
	all := make([]string, len(endpoints))
	for i, e := range endpoints {
		all[i] = e.Name
	}
	return all
}

// unknownKeys warns of keys that look like ours and are not (INJECTION.md I1).
func (p *parser) unknownKeys(keys map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if prefix, _, found := strings.Cut(key, "/"); found && ours(prefix) && !known(key) {
			p.refuse(Problem{Key: key, Reason: "this key is unknown and has no effect", Cure: suggestKey(key), Warning: true})
		}
	}
}

// uselessLabels warns of keys that count as annotations alone: a label's value has no room for what they hold.
func (p *parser) uselessLabels(labels map[string]string) {
	for _, key := range sortedKeys(labels) {
		useless := Problem{Key: key, Reason: "it has no effect as a label", Cure: "write it as an annotation", Warning: true}
		if key == KeyInject {
			useless.Entry = labels[key]
		}
		counts := key == KeyProvides || key == KeyRelationships || key == KeyInjected || useless.Entry == "false" || useless.Entry == "true"
		if strings.EqualFold(useless.Entry, "false") {
			useless.Cure = "write false"
		}
		if known(key) && !counts {
			p.refuse(useless)
		}
	}
}

// known reports whether a key is one that people or Orcon write.
func known(key string) bool {
	return slices.Contains(knownKeys(), key) || strings.HasPrefix(key, PrefixData) || strings.HasPrefix(key, PrefixSecret)
}

// Declares reports whether a key belongs to a declaration. The injector's own keys only say how.
func Declares(key string) bool {
	prefix, _, found := strings.Cut(key, "/")
	return found && ours(prefix) && prefix+"/" != prefixInjector
}

func ours(prefix string) bool {
	return prefix == "tengu.io" || strings.HasSuffix(prefix, ".tengu.io") && prefix != "orcon.tengu.io"
}

func knownKeys() []string {
	return []string{
		KeyProvides, KeyConsumes, KeyRelations, KeyPeers, KeyEnv, KeyOnChange, KeyGate, KeyRetain,
		KeyApplication, KeyRelationships, KeyInjected, KeyInject, KeyStatus, KeyDataVersion,
		KeyMode, KeyContainers, KeyImage, KeyPullSecrets, KeyLogLevel, KeyMetricsPort, KeyCPURequest, KeyCPULimit, KeyMemoryRequest,
		KeyMemoryLimit, KeyHandlers, KeyHandlerImage, KeyHandlerVolumes, KeyBatch, KeyTools, KeyRecord, KeyCopied,
	}
}

// suggestKey names the known key that is nearest to what was written.
func suggestKey(key string) string {
	best := spelling.Nearest(key, knownKeys())
	if best == "" {
		return "see docs/reference/annotations.md"
	}
	return "did you mean " + best + "?"
}
