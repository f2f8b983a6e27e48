package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/fleet/data"
)

// Member is one BundleDeployment of a fleet: an integration in a namespace, or what the
// chart renders for a namespace without integrations.
type Member struct {
	// Integration is "" for the namespace's own member.
	Integration string
	Upstream    string
	Labels      map[string]string
	Namespace   data.Namespace
	// Location locates the declaration of the member: the entry, or the namespace's file.
	Location data.Location
	Spec     data.Spec
	Shards   []Shard
	// Warnings lists what is declared and has no effect.
	Warnings []data.Problem
	// At locates fields of the spec.
	At map[string]data.Location
}

// CronJob reports whether the member runs on a schedule.
func (m Member) CronJob() bool { return value(m.Spec.Cron) != "" }

// Idle reports whether the chart renders nothing for the member: it has a shard for each of some objects, and the data have
// none.
func (m Member) Idle() bool { return m.Integration != "" && !m.CronJob() && len(m.Shards) == 0 }

// Workloads returns how many workloads of the member run: guards compare it with what ran
// before.
func (m Member) Workloads() int {
	switch {
	case m.Integration == "":
		return 0
	case m.CronJob():
		return 1
	}
	n := 0
	for _, s := range m.Shards {
		if !s.Disabled() {
			n++
		}
	}
	return n
}

// Canaries returns patterns of the names of workloads that come first: those of shards for some accounts, clusters or
// organisations. A chart's names of workloads end in the integration and the suffix of the shard.
func (m Member) Canaries(keys []string) []string {
	var all []string
	for _, s := range m.Shards {
		if s.Key != "" && slices.Contains(keys, s.Key) {
			all = append(all, "*"+strings.ToLower(m.Integration+s.Suffix))
		}
	}
	return all
}

// Held is an integration, or its entry for one namespace, that cannot be judged now.
// Members that it had go on.
type Held struct {
	// Integration is "" if not even its name is known.
	Integration string
	// File is the integration's.
	File string
	// Namespace is the namespace's path; "" stands for all of the file.
	Namespace string
	Problems  []data.Problem
}

// Filter selects the part of the data that a set deploys.
type Filter struct {
	// Cluster by name; "" allows one in the data.
	Cluster string
	// ServerURL, unless "", must be that of the cluster in the data.
	ServerURL string
	// Environments by name; empty is all.
	Environments []string
	// Upstream is the source of integrations; "" is any.
	Upstream string
	// Integrations by name; empty is all.
	Integrations []string
}

// Selection is the fleet that a filter selects. Whether a member that it does not have may
// be deleted is the answer of data.Data.Presence.
type Selection struct {
	Members []Member
	Held    []Held
	// Elsewhere counts entries of other clusters.
	Elsewhere int
}

// Holds reports whether an error keeps an integration's file, or its entry for a namespace, from being judged; file "" is
// any file.
func (s Selection) Holds(file, namespace string) bool {
	return slices.ContainsFunc(s.Held, func(h Held) bool {
		return (file == "" || h.File == file) && (h.Namespace == "" || h.Namespace == namespace)
	})
}

// ErrClusters is returned for data with several clusters and a filter without one.
var ErrClusters = errors.New("the data have several clusters")

// ErrServerURL is returned if the cluster of the filter has another URL in the data.
var ErrServerURL = errors.New("the cluster has another URL in the data")

// Problems lists the errors that hold members, and those of files of no known kind, each once.
func (s Selection) Problems(d data.Data) []data.Problem {
	all := slices.Clone(d.Problems)
	for _, h := range s.Held {
		for _, p := range h.Problems {
			if !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	return all
}

// Select returns the members that a filter selects.
func Select(d data.Data, f Filter) (Selection, error) {
	s := Selection{Held: disguised(d)}
	namespaces := map[string]data.Namespace{}
	for _, i := range d.Integrations {
		if !f.integration(i) {
			continue
		}
		if len(i.Held) > 0 {
			s.Held = append(s.Held, Held{i.Name, i.Location.File, "", i.Held})
		}
		for _, e := range i.Entries {
			switch n := e.Namespace; {
			case !known(n):
				s.add(i, e, d.Objects)
			case !f.environment(n):
			case f.elsewhere(n):
				s.Elsewhere++
			default:
				namespaces[n.Path] = n
				s.add(i, e, d.Objects)
			}
		}
	}
	for path, n := range namespaces {
		s.Members = append(s.Members, Member{Namespace: n, Location: data.Location{File: path}})
	}
	slices.SortFunc(s.Members, before)
	return s, f.check(namespaces)
}

// disguised returns the files that may be an integration's.
func disguised(d data.Data) []Held {
	var all []Held
	for _, p := range d.Problems {
		all = append(all, Held{File: p.Location.File, Problems: []data.Problem{p}})
	}
	return all
}

// before orders members by namespace and integration.
func before(a, b Member) int {
	return cmp.Or(cmp.Compare(a.Namespace.Path, b.Namespace.Path), cmp.Compare(a.Integration, b.Integration))
}

// add adds an entry to the members or to those held.
func (s *Selection) add(i data.Integration, e data.Entry, objects map[data.Strategy]data.Objects) {
	switch {
	case len(i.Held) > 0: // its file is held
	case len(e.Held) > 0:
		s.Held = append(s.Held, Held{i.Name, i.Location.File, e.Namespace.Path, e.Held})
	default:
		s.Members = append(s.Members, newMember(i, e, objects))
	}
}

// known reports whether a namespace can be filtered.
func known(n data.Namespace) bool {
	return n.Path != "" && n.Cluster.Name != "" && n.Environment.Name != ""
}

// integration reports whether the filter has an integration. What is not known does not
// exclude it.
func (f Filter) integration(i data.Integration) bool {
	return (i.Upstream == f.Upstream || f.Upstream == "" || i.Upstream == "" && len(i.Held) > 0) &&
		(len(f.Integrations) == 0 || i.Name == "" || slices.Contains(f.Integrations, i.Name))
}

func (f Filter) environment(n data.Namespace) bool {
	return len(f.Environments) == 0 || slices.Contains(f.Environments, n.Environment.Name)
}

func (f Filter) elsewhere(n data.Namespace) bool {
	return f.Cluster != "" && n.Cluster.Name != f.Cluster
}

// check refuses several clusters, and a cluster with another URL than the filter's.
func (f Filter) check(namespaces map[string]data.Namespace) error {
	names := map[string]bool{}
	var failed []error
	for _, path := range slices.Sorted(maps.Keys(namespaces)) {
		cluster := namespaces[path].Cluster
		names[cluster.Name] = true
		ours, theirs := strings.TrimRight(f.ServerURL, "/"), strings.TrimRight(cluster.ServerURL, "/")
		if ours != "" && ours != theirs {
			failed = append(failed, fmt.Errorf("%w: cluster %q of %s is %q, the set has %q", ErrServerURL, cluster.Name, path, theirs, ours))
		}
	}
	if len(names) > 1 {
		failed = append(failed, fmt.Errorf("%w: set cluster to one of %s", ErrClusters, strings.Join(slices.Sorted(maps.Keys(names)), ", ")))
	}
	return errors.Join(failed...)
}

// newMember returns the member of an entry.
func newMember(i data.Integration, e data.Entry, objects map[data.Strategy]data.Objects) Member {
	m := Member{
		Integration: i.Name, Upstream: i.Upstream, Labels: i.Labels,
		Namespace: e.Namespace, Location: e.Location, Spec: e.Spec, At: e.Fields,
	}
	m.Shards, m.Warnings = shards(i.Name, e, objects)
	m.Warnings = slices.Concat(e.Sharding.Ignored, m.Warnings, useless(e))
	return m
}
