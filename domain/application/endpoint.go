package application

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/spelling"
)

// Role is the part that an endpoint plays in a relation.
type Role string

// The roles (RELATIONS.md, Words).
const (
	Provider Role = "provides"
	Requirer Role = "requires"
	Peer     Role = "peers"
)

// Endpoint is a named end of an application.
type Endpoint struct {
	// Name is unique in its application across roles (RELATIONS.md M5).
	Name string
	// Interface names the interface that both sides must agree on.
	Interface string
	// Version of the interface, 1 or more; 0 if the declaration names none and any will do.
	Version int
	// Role is the endpoint's part in its relations.
	Role Role
	// Optional endpoints are not waited for by the start gate.
	Optional bool
	// Limit is the most relations it takes; 0 for no limit.
	Limit int
}

// ParseProvides reads a list of endpoint[:interface[@version]], as on a
// Service. On problems it returns the endpoints that are right.
func ParseProvides(text string) ([]Endpoint, []Problem) {
	return parseEndpoints(KeyProvides, Provider, text)
}

// ParseConsumes reads a list of endpoint[:interface[@version]][?][!limit], as
// on a workload. On problems it returns the endpoints that are right.
func ParseConsumes(text string) ([]Endpoint, []Problem) {
	return parseEndpoints(KeyConsumes, Requirer, text)
}

// ParsePeers reads a list of endpoint:interface.
func ParsePeers(text string) ([]Endpoint, []Problem) {
	return parseEndpoints(KeyPeers, Peer, text)
}

func parseEndpoints(key string, role Role, text string) ([]Endpoint, []Problem) {
	var (
		endpoints []Endpoint
		problems  []Problem
		seen      = map[string]bool{}
	)
	entries, tooMany := splitEntries(key, text)
	if tooMany != nil {
		return nil, []Problem{*tooMany}
	}
	for _, entry := range entries {
		entry = strings.TrimSpace(entry)
		endpoint, problem := parseEndpoint(role, entry)
		if problem == nil && seen[endpoint.Name] {
			problem = &Problem{Reason: "the endpoint is named twice", Cure: "name it once"}
		}
		if problem != nil {
			problem.Key, problem.Entry = key, entry
			near := spelling.Entry(entry, func(text string) bool {
				_, wrong := parseEndpoint(role, text)
				return wrong == nil
			})
			if near != "" {
				problem.Cure = "write " + near
			}
			problems = append(problems, *problem)
			continue
		}
		seen[endpoint.Name] = true
		endpoints = append(endpoints, endpoint)
	}
	return endpoints, problems
}

// MaxEntries is how many entries a list has at most: what is read at every
// admission must not grow with what one person writes.
const MaxEntries = 128

// MaxList bounds a list, in bytes. The agent gets it as one variable, and the kernel starts no process with a variable of
// 128 KiB.
const MaxList = 120 << 10

func splitEntries(key, text string) ([]string, *Problem) {
	if tooMany := cmp.Or(checkLength(key, text), CheckEntries(key, strings.Count(text, ",")+1)); tooMany != nil {
		return nil, tooMany
	}
	return strings.Split(text, ","), nil
}

// checkLength returns why a list with that text is too long, or nil.
func checkLength(key, text string) *Problem {
	if len(text) <= MaxList {
		return nil
	}
	return &Problem{Key: key, Reason: fmt.Sprintf("a list has at most %d bytes, this one has %d", MaxList, len(text)),
		Cure: "shorten it"}
}

// CheckEntries returns why a list of that many entries is too long, or nil.
func CheckEntries(key string, count int) *Problem {
	if count <= MaxEntries {
		return nil
	}
	return &Problem{Key: key,
		Reason: fmt.Sprintf("a list has at most %d entries, this one has %d", MaxEntries, count), Cure: "split the application"}
}

// parseEndpoint reads one entry from its end: limit, mark, version, interface.
func parseEndpoint(role Role, entry string) (Endpoint, *Problem) {
	e := Endpoint{Role: role}
	if entry == "" {
		return e, &Problem{Reason: "an entry is empty", Cure: "write names separated by single commas, such as sse,db"}
	}
	rest := entry
	if role == Requirer {
		var problem *Problem
		if rest, problem = e.cutMarks(rest); problem != nil {
			return e, problem
		}
	} else if mark := strings.IndexAny(entry, "?!"); mark >= 0 {
		return e, &Problem{Reason: "'?' and '!' mark entries of tengu.io/consumes only", Cure: "write " + entry[:mark]}
	}
	rest, version, versioned := strings.Cut(rest, "@")
	name, iface, named := strings.Cut(rest, ":")
	e.Name, e.Interface = name, name
	if named {
		e.Interface = iface
	}
	of, number, colon := strings.Cut(e.Interface, ":")
	_, notNumber := strconv.Atoi(number)
	switch n, err := strconv.Atoi(version); {
	case colon && notNumber == nil && !versioned:
		return e, &Problem{Reason: "a version stands after '@'", Cure: fmt.Sprintf("write %s:%s@%s", e.Name, of, number)}
	case versioned && (err != nil || n < 1 || n > 1<<20):
		return e, &Problem{Reason: "an interface version is a whole number from 1", Cure: "write for example " + e.example() + "@1"}
	case versioned && !named:
		return e, &Problem{Reason: "a version belongs to an interface", Cure: "write endpoint:interface@version"}
	case role == Peer && !named:
		return e, &Problem{Reason: "a peers entry names its interface", Cure: "write endpoint:interface"}
	default:
		e.Version = n // 0 where there is none
	}
	for _, part := range []string{e.Name, e.Interface} {
		if reason, cure := checkEndpoint(part); reason != "" {
			return e, &Problem{Reason: reason, Cure: cure}
		}
	}
	return e, nil
}

// cutMarks takes "?" and "!limit" off the end of a consumes entry.
func (e *Endpoint) cutMarks(entry string) (string, *Problem) {
	rest, limit, limited := strings.Cut(entry, "!")
	if limited {
		n, err := strconv.Atoi(limit)
		if digits, mark := strings.CutSuffix(limit, "?"); mark && err != nil {
			return rest, &Problem{Reason: "a limit stands after '?'", Cure: "write " + rest + "?!" + digits}
		}
		if err != nil || n < 1 || n > 1<<20 {
			return rest, &Problem{Reason: "a limit is a whole number from 1", Cure: "write for example " + rest + "!1"}
		}
		e.Limit = n
	}
	rest, e.Optional = strings.CutSuffix(rest, "?")
	return rest, nil
}

func (e *Endpoint) example() string {
	if e.Role == Peer {
		return "ring:gossip"
	}
	return "db:postgresql"
}
