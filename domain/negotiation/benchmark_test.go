package negotiation_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/negotiation"
)

// crowd is one provider and so many consumers of it, each a Deployment with a
// Service and a pod.
func crowd(consumers int) *world {
	w := newWorld()
	w.external("db", "main:db")
	for i := range consumers {
		name := fmt.Sprintf("web-%05d", i)
		w.deployment(name, map[string]string{application.KeyConsumes: "db:db,other:nothing?", application.KeyRelations: "db"})
		w.service(name, nil)
		w.pod(application.Deployment, name, name+"-0")
	}
	return w
}

// BenchmarkNegotiate measures one look at a namespace in which nothing is new,
// one in which all is, and those in which all of one kind is missing.
func BenchmarkNegotiate(b *testing.B) {
	settled := func(w *world) { w.settle(require.TestingT(failing{})) }
	kinds := map[string]func(w *world){
		"new":     func(*world) {},
		"settled": settled,
		"changed": func(w *world) { settled(w); w.port("db", 5433) },
		"held":    func(w *world) { settled(w); delete(w.services, "db") },
		"nobody":  func(w *world) { w.services = map[string]application.Service{} },
		"no data": func(w *world) {
			delete(w.services, "db")
			w.deployment("db", map[string]string{application.KeyProvides: "main:db"})
			settled(w)
		},
		"unnamed": func(w *world) {
			for _, key := range sortedNames(w.workloads) {
				v := w.workloads[key]
				v.TemplateAnnotations = map[string]string{application.KeyConsumes: "db:db", application.KeyProvides: "mine:sse"}
				w.workloads[key] = v
			}
		},
	}
	for _, size := range []int{1000, 10000} {
		for _, kind := range sortedNames(kinds) {
			w := crowd(size)
			kinds[kind](w)
			s := w.observe()
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					negotiation.Negotiate(s)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/consumer")
			})
		}
	}
}

// BenchmarkGather measures finding the applications of a namespace.
func BenchmarkGather(b *testing.B) {
	for _, size := range []int{1000, 10000} {
		in := crowd(size).inventory()
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				application.Gather(in)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/consumer")
		})
	}
}

// failing is a test that ends the program: a benchmark's world must settle.
type failing struct{}

func (failing) Errorf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (failing) FailNow()                          { panic("the world does not settle") }
