package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/commits"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/object"
	convert "gitlab.ilabt.imec.be/tengu/orcon/controller/api/convert/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/v1alpha1"
	domain "gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/history"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/leadership"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/transaction"
)

// BenchmarkCommit measures what a transaction takes from the call of the store to
// its answer, through a real API server: of one bag, which is one write, and of three,
// which go through an outbox. Each with the record of the bags, which is as long as it
// gets, and with all records taken out of what is written. In turns, so that all see
// the same machine.
func BenchmarkCommit(b *testing.B) {
	const turns = 100
	s := newStore(b)
	stores := map[string]*commits.Commits{"record": s.commits(s.client), "no-record": s.commits(forgetful{s.client})}
	transactions := map[string]func(i int) transaction.Commit{"1": s.one, "3": s.three}
	took := map[string][]time.Duration{}
	n := 0
	turn := func(record, bags string) time.Duration {
		n++
		commit := transactions[bags](n)
		commit.Application = record // whose bags are its own
		began := time.Now()
		_, err := stores[record].Commit(b.Context(), commit, nil)
		require.NoError(b, err)
		return time.Since(began)
	}
	for range history.MaxEntries {
		turn("record", "3")
	}
	for b.Loop() {
		for range turns {
			for record := range stores {
				for bags := range transactions {
					name := bags + "-" + record
					took[name] = append(took[name], turn(record, bags))
				}
			}
		}
	}
	for name, all := range took {
		b.ReportMetric(1000/report(b, name+"-", all, "p50").at(0.50), name+"-commits/s")
	}
}

// BenchmarkCommits measures how many transactions of one bag are stored a second
// where sixteen units speak at once, each with a record that grows meanwhile.
func BenchmarkCommits(b *testing.B) {
	const units, each = 16, 100
	s := newStore(b)
	store := s.commits(s.client)
	began, stored := time.Now(), 0
	for b.Loop() {
		var all sync.WaitGroup
		for u := range units {
			all.Go(func() {
				for i := range each {
					commit := s.one(stored + i)
					commit.Unit = u
					if _, err := store.Commit(b.Context(), commit, nil); err != nil {
						b.Error(err)
					}
				}
			})
		}
		all.Wait()
		stored += units * each
	}
	b.ReportMetric(float64(stored)/time.Since(began).Seconds(), "commits/s")
	b.ReportMetric(0, "ns/op") // of a whole round, which says nothing
}

// store is a namespace with two relations, and applications whose unit 0 leads.
type store struct {
	*world
	client    client.Client
	relations []v1alpha1.Relation
}

func newStore(b *testing.B) *store {
	b.Helper()
	w := newWorld(b)
	w.cluster.Kubectl(w, "apply", "-k", filepath.Join(w.root, "deployment", "crd"))
	w.cluster.Kubectl(w, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	w.namespace(shop, map[string]string{domain.LabelOptIn: domain.OptedIn})
	config := w.cluster.Config(b)
	config.QPS = -1
	scheme := runtime.NewScheme()
	require.NoError(b, v1alpha1.AddToScheme(scheme))
	c, err := client.New(config, client.Options{Scheme: scheme})
	require.NoError(b, err)
	s := &store{world: w, client: c}
	for _, name := range []string{"record", "no-record", "web"} {
		app := &v1alpha1.RelatedApplication{ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: name}}
		require.NoError(b, c.Create(b.Context(), app))
		convert.SetLeader(app, leadership.Leader{PodUID: "pod", Term: 1, Expires: time.Now().Add(24 * time.Hour)})
		require.NoError(b, c.Status().Update(b.Context(), app))
	}
	for _, provider := range []string{"db", "queue"} {
		end := func(application string) relation.End {
			return relation.End{Namespace: shop, Application: application, Endpoint: endpoint}
		}
		r := convert.ForPair(shop, relation.Pair{Key: relation.Key{Requirer: end("web"), Provider: end(provider)}, Interface: "bench"})
		require.NoError(b, c.Create(b.Context(), r))
		s.relations = append(s.relations, *r)
	}
	return s
}

func (s *store) commits(writer client.Client) *commits.Commits {
	return &commits.Commits{Reader: s.client, Writer: writer, Now: time.Now, Turns: &object.Turns{}}
}

// one changes a value in a unit's bag; three, that and its application's in both
// relations.
func (s *store) one(i int) transaction.Commit {
	return transaction.Commit{
		Namespace: shop, Application: "web", PodUID: "pod", Term: 1, Cause: endpoint + "-relation-changed (db/0)",
		Changes: []transaction.Change{s.change(0, true, i)},
	}
}

func (s *store) three(i int) transaction.Commit {
	commit := s.one(i)
	commit.Changes = append(commit.Changes, s.change(0, false, i), s.change(1, false, i))
	return commit
}

func (s *store) change(r int, own bool, i int) transaction.Change {
	return transaction.Change{
		Relation: s.relations[r].Name, UID: string(s.relations[r].UID), Endpoint: endpoint, Own: own,
		Set: map[string]string{"count": fmt.Sprint(i), "address": "10.0.0.1:8080", "name": strings.Repeat("x", 32)},
	}
}

// forgetful is a client that writes no records.
type forgetful struct{ client.Client }

func (f forgetful) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	forget(o)
	return f.Client.Create(ctx, o, opts...)
}

func (f forgetful) Update(ctx context.Context, o client.Object, opts ...client.UpdateOption) error {
	forget(o)
	return f.Client.Update(ctx, o, opts...)
}

func forget(o client.Object) {
	if bag, ok := o.(*v1alpha1.Databag); ok {
		bag.State.Commits, bag.State.Record = 0, nil
	}
}
