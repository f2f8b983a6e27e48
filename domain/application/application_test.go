package application_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
)

// object is a thing that was created so many seconds after the first.
func object(name string, age int, annotations map[string]string) application.Object {
	return application.Object{
		Name: name, UID: fmt.Sprintf("uid of %s %d", name, age),
		Created: time.Unix(int64(age), 0).UTC(), Annotations: annotations,
	}
}

// workload has pods labelled app=name and says so on its pod template.
func workload(kind application.WorkloadKind, name string, age int, says ...string) application.Workload {
	return application.Workload{
		Object: object(name, age, nil), Kind: kind,
		TemplateLabels: map[string]string{"app": name, "tier": "any"}, TemplateAnnotations: pairs(says),
	}
}

// selecting is a Service that selects app=selected.
func selecting(name string, age int, selected string, says ...string) application.Service {
	return application.Service{
		Object: object(name, age, pairs(says)), Selector: map[string]string{"app": selected},
		Ports: []application.Port{{Name: "http", Number: 8080}},
	}
}

// external is a Service with an externalName.
func external(name string, age int, says ...string) application.Service {
	return application.Service{Object: object(name, age, pairs(says)), ExternalName: name + ".example.org"}
}

func pairs(says []string) map[string]string {
	m := map[string]string{}
	for i := 0; i+1 < len(says); i += 2 {
		m[says[i]] = says[i+1]
	}
	return m
}

const (
	provides  = application.KeyProvides
	consumes  = application.KeyConsumes
	relations = application.KeyRelations
	named     = application.KeyApplication
)

// From objects to applications (SAFETY.md A1, A2, V5, RELATIONS.md M5, P3).
func TestGather(t *testing.T) {
	const deployment = application.Deployment
	tests := map[string]struct {
		why       string
		workloads []application.Workload
		services  []application.Service
		pods      []application.Pod
		// want are the applications, each written by digest.
		want []string
		// orphans are reason and object; faults parts of messages, in order.
		orphans, faults []string
	}{
		"Nothing": {why: "an empty namespace has no application"},
		"WorkloadAlone": {
			why:       "a workload is an application without any Service",
			workloads: []application.Workload{workload(deployment, "web", 0, consumes, "db", relations, "db")},
			want:      []string{"web: Deployment/web; requires db; ->db"},
		},
		"SilentWorkload": {
			why:       "one that says nothing is known, so that a Service can join it",
			workloads: []application.Workload{workload(deployment, "web", 0)},
			want:      []string{"web: Deployment/web"},
		},
		"ServiceJoins": {
			why:       "A1: a Service joins the application that it selects, whatever it is called",
			workloads: []application.Workload{workload(deployment, "web", 0)},
			services:  []application.Service{selecting("front", 0, "web", provides, "http")},
			want:      []string{"web: Deployment/web Service/front; provides http{host=front.shop.svc port=8080 ports=http=8080 url=http://front.shop.svc:8080}"},
		},
		"SeveralServicesJoin": {
			why:       "A1: aliases in order of creation, then name; each may declare",
			workloads: []application.Workload{workload(deployment, "web", 0, consumes, "db")},
			services: []application.Service{
				selecting("late", 9, "web", provides, "http"),
				selecting("b", 1, "web", relations, "db"),
				selecting("a", 1, "web"),
			},
			want: []string{"web: Deployment/web Service/a Service/b Service/late; requires db provides http{host=late.shop.svc port=8080 ports=http=8080 url=http://late.shop.svc:8080}; ->db"},
		},
		"ExternalName": {
			why:      "A1: a Service without pods is an application of its own",
			services: []application.Service{external("db", 0, provides, "pg")},
			want:     []string{"db: Service/db; provides pg{host=db.example.org}"},
		},
		"ExternalNameWithSelector": {
			why:       "the selector of an ExternalName means nothing to Kubernetes, nor to us",
			workloads: []application.Workload{workload(deployment, "web", 0)},
			services: []application.Service{func() application.Service {
				s := external("db", 0)
				s.Selector = map[string]string{"app": "web"}
				return s
			}()},
			want: []string{"db: Service/db", "web: Deployment/web"},
		},
		"NoSelector": {
			why:      "A1: nor does a Service whose endpoints somebody else writes have pods",
			services: []application.Service{{Object: object("db", 0, pairs([]string{provides, "pg"}))}},
			want:     []string{"db: Service/db; provides pg{host=db.shop.svc}"},
		},
		"TwoClaims": {
			why: "A1: of two claims to a name the later takes no part, and is told the cure",
			workloads: []application.Workload{
				workload(application.StatefulSet, "db", 5, provides, "later"),
				workload(deployment, "db", 3, provides, "earlier"),
			},
			want:    []string{"db: Deployment/db; provides earlier"},
			orphans: []string{`NameTaken StatefulSet/db: StatefulSet db exists but is ignored: the name db belongs to Deployment db; set tengu.io/application on the pod template of one of them`},
		},
		"SilentClaim": {
			why:       "who says nothing and comes later is told nothing",
			workloads: []application.Workload{workload(application.Job, "db", 5), workload(deployment, "db", 3)},
			want:      []string{"db: Deployment/db"},
		},
		"WorkloadBeforeService": {
			why:       "A1: a workload came first",
			workloads: []application.Workload{workload(deployment, "db", 3, provides, "main:pg")},
			services:  []application.Service{external("db", 5, provides, "main:pg")},
			want:      []string{"db: Deployment/db; provides main:pg"},
			orphans:   []string{"NameTaken Service/db: Service db exists but is ignored: the name db belongs to Deployment db; rename one of them"},
		},
		"ServiceBeforeWorkload": {
			why:       "A1: a Deployment that comes later does not take the name of a Service that is in use",
			workloads: []application.Workload{workload(deployment, "db", 5, provides, "main:pg")},
			services:  []application.Service{external("db", 3, provides, "main:pg")},
			want:      []string{"db: Service/db; provides main:pg{host=db.example.org}"},
			orphans:   []string{`NameTaken Deployment/db: Deployment db exists but is ignored: the name db belongs to Service db; set tengu.io/application on the pod template of one of them`},
		},
		"ServiceBeforeSilentWorkload": {
			why:       "A1: a Deployment that says nothing does so even less",
			workloads: []application.Workload{workload(deployment, "db", 5)},
			services:  []application.Service{external("db", 3, provides, "main:pg")},
			want:      []string{"db: Service/db; provides main:pg{host=db.example.org}"},
		},
		"SilentServiceBeforeWorkload": {
			why:       "a Service that declares nothing claims nothing",
			workloads: []application.Workload{workload(deployment, "db", 5, provides, "main:pg")},
			services:  []application.Service{external("db", 3)},
			want:      []string{"db: Deployment/db; provides main:pg"},
		},
		"Shared": {
			why: "A1: several workloads are one application where they say so",
			workloads: []application.Workload{
				workload(deployment, "web", 1, named, "shop", provides, "http"),
				workload(application.CronJob, "mail", 2, named, "shop", consumes, "smtp"),
			},
			services: []application.Service{selecting("front", 0, "web")},
			want:     []string{"shop: Deployment/web CronJob/mail Service/front; provides http requires smtp"},
		},
		"SharedWithAName": {
			why: "A1: one may join another by that other's name",
			workloads: []application.Workload{
				workload(deployment, "web", 1, consumes, "db"),
				workload(deployment, "worker", 2, named, "web", consumes, "db"),
			},
			want: []string{"web: Deployment/web Deployment/worker; requires db"},
		},
		"SharedLater": {
			why: "A1: whichever comes first: the one is called so, and the other asks to join it",
			workloads: []application.Workload{
				workload(deployment, "worker", 1, named, "web", consumes, "db"),
				workload(deployment, "web", 2, provides, "http"),
			},
			want: []string{"web: Deployment/web Deployment/worker; provides http requires db"},
		},
		"SharedAtOnce": {
			why: "A1: also those that one manifest creates",
			workloads: []application.Workload{
				workload(deployment, "api", 1, named, "web", consumes, "db"), workload(deployment, "web", 1, provides, "http"),
			},
			want: []string{"web: Deployment/web Deployment/api; provides http requires db"},
		},
		"NamedAsItself": {
			why: "A1: the earlier of two that are called so",
			workloads: []application.Workload{
				workload(deployment, "web", 1, named, "web", consumes, "db"), workload(application.CronJob, "web", 2, provides, "http"),
			},
			want:    []string{"web: Deployment/web; requires db"},
			orphans: []string{`NameTaken CronJob/web: CronJob web exists but is ignored: the name web belongs to Deployment web; set tengu.io/application on the pod template of one of them`},
		},
		"SharedDisagree": {
			why: "M5: an endpoint means one thing in an application; the first holds",
			workloads: []application.Workload{
				workload(deployment, "web", 1, consumes, "db:pg"),
				workload(deployment, "worker", 2, named, "web", consumes, "db:mysql"),
			},
			want:   []string{"web: Deployment/web Deployment/worker; requires db:pg"},
			faults: []string{`Deployment/worker: another object of application "web" declares endpoint "db" differently; declare it once`},
		},
		"RolesDisagree": {
			why:       "M5: names are unique across roles",
			workloads: []application.Workload{workload(deployment, "web", 1, consumes, "http")},
			services:  []application.Service{selecting("web", 0, "web", provides, "http")},
			want:      []string{"web: Deployment/web Service/web; requires http"},
			faults:    []string{`Service/web: another object of application "web" declares endpoint "http" differently; declare it once`},
		},
		"Dot": {
			why:       "A1: a name with a dot would be read as a namespace",
			workloads: []application.Workload{workload(deployment, "web.v2", 0, consumes, "db"), workload(deployment, "quiet.v2", 0)},
			orphans:   []string{"DotInName Deployment/web.v2: Deployment web.v2 exists but is ignored: the name of an application must not contain a dot; set tengu.io/application on its pod template"},
		},
		"DotMended": {
			why:       "A1: and the cure cures",
			workloads: []application.Workload{workload(deployment, "web.v2", 0, named, "web", consumes, "db")},
			want:      []string{"web: Deployment/web.v2; requires db"},
		},
		"SelectsSeveral": {
			why:       "A1: a Service over two applications is neither's",
			workloads: []application.Workload{workload(deployment, "web", 0), workload(deployment, "api", 0)},
			services: []application.Service{{
				Object: object("both", 0, pairs([]string{provides, "http"})), Selector: map[string]string{"tier": "any"},
			}},
			want:    []string{"api: Deployment/api", "web: Deployment/web"},
			orphans: []string{"SelectsSeveral Service/both: Service both exists but is ignored: it selects api and web; narrow its selector, or set tengu.io/application to one name on each"},
		},
		"SelectsOneBySeveralLabels": {
			why:       "all labels of a selector count",
			workloads: []application.Workload{workload(deployment, "web", 0), workload(deployment, "api", 0)},
			services: []application.Service{{
				Object: object("front", 0, nil), Selector: map[string]string{"tier": "any", "app": "web"},
			}},
			want: []string{"api: Deployment/api", "web: Deployment/web Service/front"},
		},
		"SelectsShared": {
			why: "A1: two workloads of one application are one",
			workloads: []application.Workload{
				workload(deployment, "web", 0, named, "shop"), workload(deployment, "api", 0, named, "shop"),
			},
			services: []application.Service{{Object: object("both", 0, nil), Selector: map[string]string{"tier": "any"}}},
			want:     []string{"shop: Deployment/api Deployment/web Service/both"},
		},
		"SelectsNothing": {
			why:      "A1: what a Service will select may come later",
			services: []application.Service{selecting("front", 0, "web", provides, "http"), selecting("quiet", 0, "web")},
			orphans:  []string{"SelectsNothing Service/front: Service front exists but is ignored: its selector matches no workload or pod"},
		},
		"BarePod": {
			why:      "A1: a bare pod is a workload of one pod",
			services: []application.Service{selecting("front", 0, "web", provides, "http")},
			pods:     []application.Pod{pod("web", 0, application.BarePod, "web", consumes, "db")},
			want:     []string{"web: Pod/web Service/front [web]; requires db provides http{host=front.shop.svc port=8080 ports=http=8080 url=http://front.shop.svc:8080}"},
		},
		"UnknownController": {
			why:  "A1: so are the pods of a controller that only somebody else knows",
			pods: []application.Pod{pod("web-1", 0, "Rollout", "web", consumes, "db"), pod("web-2", 1, "Rollout", "web", consumes, "db")},
			want: []string{"web: Rollout/web [web-1 web-2]; requires db"},
		},
		"Pods": {
			why:       "A2: its pods in order of creation, then name; who Succeeded or Failed is gone, who is ending is not yet",
			workloads: []application.Workload{workload(deployment, "web", 0)},
			pods: []application.Pod{
				pod("c", 1, deployment, "web"), pod("b", 1, deployment, "web"), pod("a", 2, deployment, "web"),
				finished(pod("d", 0, deployment, "web")), ending(pod("e", 3, deployment, "web")),
			},
			want: []string{"web: Deployment/web [b c a e]"},
		},
		"FinishedBarePod": {
			why:  "A2: a bare pod that finished is no application",
			pods: []application.Pod{finished(pod("web", 0, application.BarePod, "web", consumes, "db"))},
		},
		"PodsOfTheLoser": {
			why:       "A1: pods of a workload that takes no part are nobody's units",
			workloads: []application.Workload{workload(deployment, "web", 0), workload(application.StatefulSet, "web", 1)},
			pods:      []application.Pod{pod("web-0", 2, application.StatefulSet, "web")},
			want:      []string{"web: Deployment/web"},
		},
		"Data": {
			why:       "V5, P3: what is written lies over what is derived; an empty value deletes; the workload's word is in it too",
			workloads: []application.Workload{workload(deployment, "web", 0, application.PrefixData+"http", "host: gateway\nuser: me")},
			services:  []application.Service{selecting("front", 0, "web", provides, "http", application.PrefixData+"http", "url: ''\nuser: you")},
			want:      []string{"web: Deployment/web Service/front; provides http{host=gateway port=8080 ports=http=8080 user=you}"},
		},
		"DataOfTwoServices": {
			why:       "what is derived is of one Service, the earliest: never the host of one and the port of another",
			workloads: []application.Workload{workload(deployment, "web", 0)},
			services: []application.Service{selecting("late", 2, "web", provides, "http"), {
				Object: object("early", 1, pairs([]string{provides, "http"})), Selector: map[string]string{"app": "web"},
			}},
			want: []string{"web: Deployment/web Service/early Service/late; provides http{host=early.shop.svc}"},
		},
		"DataOfARequirer": {
			why:       "I17: a requirer may say something without code",
			workloads: []application.Workload{workload(deployment, "web", 0, consumes, "db", application.PrefixData+"db", "database: orders")},
			want:      []string{"web: Deployment/web; requires db{database=orders}"},
		},
		"DataForNobody": {
			why:       "data for an endpoint that is not declared is a slip of the pen",
			workloads: []application.Workload{workload(deployment, "web", 0, consumes, "db", application.PrefixData+"bd", "database: orders")},
			want:      []string{"web: Deployment/web; requires db"},
			faults:    []string{`data.tengu.io/bd: application "web" declares no endpoint "bd"; declare it, or remove the data`},
		},
		"Faulty": {
			why:       "one wrong entry does not take the right ones down",
			workloads: []application.Workload{workload(deployment, "web", 0, consumes, "db,Not This", relations, "db")},
			want:      []string{"web: Deployment/web; requires db; ->db"},
			faults:    []string{"Deployment/web: tengu.io/consumes: \"Not This\""},
		},
		"TemplateWins": {
			why: "I30: the template is what pods are made of",
			workloads: []application.Workload{func() application.Workload {
				w := workload(deployment, "web", 0, consumes, "template")
				w.Annotations = map[string]string{consumes: "metadata", relations: "db"}
				return w
			}()},
			want: []string{"web: Deployment/web; requires template; ->db"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			apps, orphans := application.Gather(application.Inventory{Namespace: "shop", Workloads: test.workloads, Services: test.services, Pods: test.pods})
			var got, faults, told []string
			for _, a := range apps {
				got = append(got, digest(a))
				for _, f := range a.Faults {
					faults = append(faults, f.Message)
				}
			}
			for _, o := range orphans {
				told = append(told, o.Reason+" "+o.Object+": "+o.Message)
			}
			assert.Equal(t, test.want, got, test.why)
			assert.Equal(t, test.orphans, told, test.why)
			require.Len(t, faults, len(test.faults), test.why)
			for i, part := range test.faults {
				assert.Contains(t, faults[i], part, test.why)
			}
		})
	}
}

func pod(name string, age int, kind application.WorkloadKind, owner string, says ...string) application.Pod {
	p := application.Pod{Object: object(name, age, pairs(says)), OwnerKind: kind, OwnerName: owner, Ordinal: -1}
	p.Labels = map[string]string{"app": owner}
	return p
}

func finished(p application.Pod) application.Pod {
	p.Finished = true
	return p
}

func ending(p application.Pod) application.Pod {
	p.Ending = true
	return p
}

// digest writes an application on one line:
// name: objects [pods]; endpoints with their bags; ->references.
func digest(a application.Application) string {
	objects := []string{a.Name + ":"}
	for _, w := range a.Workloads {
		objects = append(objects, string(w.Kind)+"/"+w.Name)
	}
	for _, s := range a.Services {
		objects = append(objects, "Service/"+s)
	}
	var pods, endpoints, references []string
	for _, p := range a.Pods {
		pods = append(pods, p.Name)
	}
	if len(pods) > 0 {
		objects = append(objects, fmt.Sprint(pods))
	}
	for _, e := range a.Endpoints {
		text := string(e.Role) + " " + e.Name
		if e.Interface != e.Name {
			text += ":" + e.Interface
		}
		if bag := a.Bags[e.Name]; bag != nil {
			text += "{" + strings.Join(sortedPairs(bag), " ") + "}"
		}
		endpoints = append(endpoints, text)
	}
	for _, r := range a.Relations {
		references = append(references, "->"+r.String())
	}
	parts := []string{strings.Join(objects, " ")}
	for _, part := range []string{strings.Join(endpoints, " "), strings.Join(references, " ")} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "; ")
}

// sortedPairs writes a bag as key=value, in order.
func sortedPairs(bag map[string]string) []string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(bag)) {
		all = append(all, k+"="+bag[k])
	}
	return all
}

// What its objects say of the application as a whole.
func TestGatherSettings(t *testing.T) {
	apps, _ := application.Gather(application.Inventory{Namespace: "shop", Workloads: []application.Workload{
		workload(application.Deployment, "quiet", 0, consumes, "db"),
		workload(application.Deployment, "web", 0, consumes, "db"),
		workload(application.Deployment, "copy", 0, consumes, "db", application.KeyGate, "stale"),
		workload(application.Deployment, "worker", 1, named, "web", application.KeyOnChange, "restart", application.KeyRetain, "2h", application.KeyGate, "none"),
	}})
	require.Len(t, apps, 3)
	assert.True(t, apps[0].Stale && !apps[0].Ungated, "TRUST.md A1")
	apps = apps[1:]
	assert.False(t, apps[0].Stale || apps[1].Stale, "stale starts are off by default")
	assert.Equal(t, []any{application.Files, application.DefaultRetain, false}, []any{apps[0].OnChange, apps[0].Retain, apps[0].Ungated})
	assert.Equal(t, []any{application.Restart, 2 * time.Hour, true}, []any{apps[1].OnChange, apps[1].Retain, apps[1].Ungated}, "one that says so is enough")
	assert.True(t, apps[0].Consumes() && apps[0].TakesPart())
}

// Equal inventories give equal applications, in whatever order they are listed,
// and are left as they are.
func TestGatherIsOrderFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := application.Inventory{Namespace: "shop"}
		name := rapid.SampledFrom([]string{"web", "api", "db", "d.b"})
		kind := rapid.SampledFrom([]application.WorkloadKind{application.Deployment, application.StatefulSet, application.BarePod, "Rollout"})
		says := rapid.SampledFrom([][]string{nil, {consumes, "db"}, {consumes, "db:pg", relations, "db"}, {provides, "db", application.PrefixData + "db", "a: 1"}, {named, "web", provides, "http", application.PrefixData + "db", "a: 2"}})
		age := rapid.IntRange(0, 2)
		for i := range rapid.IntRange(0, 6).Draw(t, "workloads") {
			w := workload(kind.Draw(t, "kind"), name.Draw(t, "name"), age.Draw(t, "age"), says.Draw(t, "says")...)
			w.UID += strconv.Itoa(i)
			in.Workloads = append(in.Workloads, w)
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "services") {
			s := selecting(rapid.SampledFrom([]string{"web", "db"}).Draw(t, "name"), age.Draw(t, "age"), name.Draw(t, "selected"), says.Draw(t, "says")...)
			if rapid.Bool().Draw(t, "external") {
				s = external(s.Name, age.Draw(t, "age"), says.Draw(t, "says")...)
			}
			s.Name, s.UID = fmt.Sprintf("%s%d", s.Name, i), s.UID+strconv.Itoa(i)
			in.Services = append(in.Services, s)
		}
		for i := range rapid.IntRange(0, 6).Draw(t, "pods") {
			p := pod(fmt.Sprintf("pod-%d", i), age.Draw(t, "age"), kind.Draw(t, "kind"), name.Draw(t, "owner"), says.Draw(t, "says")...)
			p.Finished = rapid.IntRange(0, 5).Draw(t, "finished") == 0
			in.Pods = append(in.Pods, p)
		}
		apps, orphans := application.Gather(in)
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		random.Shuffle(len(in.Workloads), func(i, j int) { in.Workloads[i], in.Workloads[j] = in.Workloads[j], in.Workloads[i] })
		random.Shuffle(len(in.Services), func(i, j int) { in.Services[i], in.Services[j] = in.Services[j], in.Services[i] })
		random.Shuffle(len(in.Pods), func(i, j int) { in.Pods[i], in.Pods[j] = in.Pods[j], in.Pods[i] })
		again, orphansAgain := application.Gather(in)
		assert.Equal(t, apps, again)
		assert.Equal(t, orphans, orphansAgain)
		for i := range apps {
			assert.NotContains(t, apps[i].Name, ".")
			if i > 0 {
				assert.Less(t, apps[i-1].Name, apps[i].Name)
			}
		}
	})
}

func TestSelects(t *testing.T) {
	tests := map[string]struct {
		why              string
		selector, labels map[string]string
		want             bool
	}{
		"All":     {"every label of the selector is there", map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "2"}, true},
		"Missing": {"one is missing", map[string]string{"a": "1", "b": "2"}, map[string]string{"a": "1"}, false},
		"Other":   {"one has another value", map[string]string{"a": "1"}, map[string]string{"a": "2"}, false},
		"Empty":   {"a label with an empty value is not one that is missing", map[string]string{"a": ""}, map[string]string{}, false},
		"None":    {"no selector selects nothing", nil, map[string]string{"a": "1"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, application.Selects(test.selector, test.labels), test.why)
		})
	}
}
