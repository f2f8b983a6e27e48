package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/people"
)

// nodeCluster is an API server with RunNodes, which gives a token for each.
type nodeCluster struct {
	config string

	// away has the job controller not answer, and closed keeps namespaces from the user; shop is the only one.
	away, closed bool
	// meanwhile are changes by Orcon, one before each of the next writes of the user.
	meanwhile []func(*v1alpha1.RunNode)

	mutex sync.Mutex
	nodes map[string]*v1alpha1.RunNode
}

func newNodeCluster(t *testing.T, nodes ...v1alpha1.RunNode) *nodeCluster {
	c := &nodeCluster{nodes: map[string]*v1alpha1.RunNode{}}
	for i := range nodes {
		nodes[i].UID, nodes[i].ResourceVersion = "u", "1"
		c.nodes[nodes[i].Name] = &nodes[i]
	}
	const kind = "/apis/orcon.tengu.io/v1alpha1/runnodes"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /apis", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, json.RawMessage(`{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"orcon.tengu.io","versions":[{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}],
			"preferredVersion":{"groupVersion":"orcon.tengu.io/v1alpha1","version":"v1alpha1"}}]}`))
	})
	mux.HandleFunc("GET /apis/orcon.tengu.io/v1alpha1", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, json.RawMessage(`{"kind":"APIResourceList","groupVersion":"orcon.tengu.io/v1alpha1","resources":[
			{"name":"runnodes","kind":"RunNode","namespaced":false}]}`))
	})
	mux.HandleFunc("GET "+kind, c.list)
	mux.HandleFunc("POST "+kind, c.create)
	mux.HandleFunc(kind+"/{name}", c.one)
	mux.HandleFunc("POST /apis/jobs.orcon.tengu.io/v1alpha1/runnodes/{name}/token", func(w http.ResponseWriter, r *http.Request) {
		if c.away {
			http.Error(w, "service unavailable", http.StatusServiceUnavailable)
			return
		}
		answerJSON(w, people.NodeToken{Token: "orcon-node." + r.PathValue("name")})
	})
	mux.HandleFunc("GET /api", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	})
	mux.HandleFunc("GET /api/v1", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, json.RawMessage(`{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"namespaces","kind":"Namespace","namespaced":false}]}`))
	})
	mux.HandleFunc("GET /api/v1/namespaces/{name}", c.namespace)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notThere(w) })
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c.config = write(t, "config", fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: a,
clusters: [{name: a, cluster: {server: %q}}], contexts: [{name: a, context: {cluster: a}}]}`, server.URL))
	return c
}

func (c *nodeCluster) namespace(w http.ResponseWriter, r *http.Request) {
	switch {
	case c.closed:
		http.Error(w, "forbidden", http.StatusForbidden)
	case r.PathValue("name") != "shop":
		notThere(w)
	default:
		answerJSON(w, json.RawMessage(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"shop"}}`))
	}
}

func (c *nodeCluster) list(w http.ResponseWriter, _ *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	all := v1alpha1.RunNodeList{TypeMeta: metav1.TypeMeta{Kind: "RunNodeList", APIVersion: "orcon.tengu.io/v1alpha1"}}
	for _, n := range c.nodes {
		all.Items = append(all.Items, *n)
	}
	answerJSON(w, all)
}

func (c *nodeCluster) create(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	o := &v1alpha1.RunNode{}
	if err := json.NewDecoder(r.Body).Decode(o); err != nil {
		panic(err)
	}
	o.UID = "u"
	c.nodes[o.Name] = o
	answerJSON(w, o)
}

// one answers reads and merges of one RunNode.
func (c *nodeCluster) one(w http.ResponseWriter, r *http.Request) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	o := c.nodes[r.PathValue("name")]
	if o == nil {
		notThere(w)
		return
	}
	if r.Method == http.MethodPatch {
		if len(c.meanwhile) > 0 {
			c.meanwhile[0](o)
			o.ResourceVersion += "0"
			c.meanwhile = c.meanwhile[1:]
		}
		if !patch(w, r, o) {
			return
		}
	}
	o.TypeMeta = metav1.TypeMeta{Kind: "RunNode", APIVersion: "orcon.tengu.io/v1alpha1"}
	answerJSON(w, o)
}

// call runs a command about RunNodes.
func (c *nodeCluster) call(t *testing.T, in string, args ...string) (code int, out, errs string) {
	t.Helper()
	return call(in, append(append([]string{"job", "node"}, args...), "--kubeconfig", c.config)...)
}

// machine returns a RunNode whose machine has joined.
func machine(name, key string, change ...func(*v1alpha1.RunNode)) v1alpha1.RunNode {
	n := v1alpha1.RunNode{State: &v1alpha1.RunNodeState{Key: key}}
	n.Name = name
	for _, one := range change {
		one(&n)
	}
	return n
}

// A token is printed alone, for a RunNode that is made if it is not there.
func TestNodeJoin(t *testing.T) {
	c := newNodeCluster(t)
	for range 2 {
		code, out, errs := c.call(t, "", "join", "lab-1")
		require.Zero(t, code, errs)
		assert.Equal(t, "orcon-node.lab-1\n", out)
	}
	assert.Len(t, c.nodes, 1)
}

// A key is adopted after a person has compared it, and never another one.
func TestNodeApprove(t *testing.T) {
	key := "sha256:" + strings.Repeat("a", 64)
	unjoined := v1alpha1.RunNode{}
	unjoined.Name = "new"
	c := newNodeCluster(t, machine("lab-1", key, func(n *v1alpha1.RunNode) {
		n.Spec.Namespaces, n.Spec.Order = []string{"shop"}, v1alpha1.OrderSuspended
	}), machine("old", key, func(n *v1alpha1.RunNode) { n.Spec.Order = v1alpha1.OrderRevoked }), unjoined)
	tests := map[string]struct {
		why  string
		args []string
		says string
	}{
		"None":     {"a name that is wrong", []string{"lab-2"}, "there is no RunNode lab-2: orcon job node list lists those that there are"},
		"Unjoined": {"nothing to adopt", []string{"new", "--yes"}, "no machine has joined as RunNode new: orcon job node join new prints a token"},
		"Revoked":  {"for ever", []string{"old", "--yes"}, "RunNode old is revoked, which is final: delete it, then orcon job node join old"},
		"NoCheck":  {"a check that is none", []string{"lab-1", "--yes", "--accept", "bogus"}, `--accept "bogus": there is no such check: use one of burst of 10 MiB, cancel, `},
		"None0":    {"no run at all", []string{"lab-1", "--yes", "--capacity", "0"}, "--capacity 0 is out of range: use a number from 1 to 100"},
		"Negative": {"less than none", []string{"lab-1", "--yes", "--capacity", "-1"}, "--capacity -1 is out of range: use a number from 1 to 100"},
		"Blank":    {"a name that no namespace can have", []string{"lab-1", "--yes", "--namespaces", "De mo"}, `--namespaces: "De mo" cannot be the name of a namespace: a lowercase`},
		"Large":    {"too many", []string{"lab-1", "--yes", "--capacity", "101"}, "--capacity 101 is out of range: use a number from 1 to 100"},
		"Other":    {"another machine was first", []string{"lab-1", "--key", "sha256:b"}, "has key " + key + ", not sha256:b"},
	}
	for label, tc := range tests {
		t.Run(label, func(t *testing.T) {
			code, _, errs := c.call(t, "", append([]string{"approve"}, tc.args...)...)
			assert.Equal(t, exitMisuse, code, tc.why)
			assert.Contains(t, errs, tc.says)
		})
	}
	code, _, errs := c.call(t, "n\n", "approve", "lab-1")
	assert.NotZero(t, code, errs)
	assert.Empty(t, c.nodes["lab-1"].Spec.Key)
	code, out, errs := c.call(t, "", "approve", "lab-1", "--key", key, "--namespaces", "test,shop", "--capacity", "3")
	require.Zero(t, code, errs)
	assert.Contains(t, out, "RunNode lab-1 is adopted, for runs of namespaces shop, test\n")
	want := v1alpha1.RunNodeSpec{Key: key, Namespaces: []string{"shop", "test"}, Capacity: 3}
	assert.Equal(t, want, c.nodes["lab-1"].Spec)
	for _, tc := range []struct{ args, want []string }{
		{[]string{"--accept", "out of memory", "--accept", "exit 1, and the state is kept"}, []string{"out of memory", "exit 1, and the state is kept"}},
		{nil, []string{"out of memory", "exit 1, and the state is kept"}},
		{[]string{"--accept", ""}, nil},
	} {
		code, _, errs = c.call(t, "", append([]string{"approve", "lab-1", "--yes"}, tc.args...)...)
		require.Zero(t, code, errs)
		want.Accepted = tc.want
		assert.Equal(t, want, c.nodes["lab-1"].Spec)
	}
}

// Of two machines a person names the one that the RunNode is to be; no flag decides that alone.
func TestNodeApproveOneOfTwo(t *testing.T) {
	one, two := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	c := newNodeCluster(t, machine("lab-1", two, func(n *v1alpha1.RunNode) { n.State.Former, n.Spec.Key = one, one }))
	code, _, errs := c.call(t, "y\n", "approve", "lab-1", "--yes", "--capacity", "3")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "RunNode lab-1 has a machine, with key "+one+", and another one waits, with key "+two+": say by --key which of them it is to be")
	assert.Equal(t, v1alpha1.RunNodeSpec{Key: one}, c.nodes["lab-1"].Spec)
	code, _, errs = c.call(t, "", "approve", "lab-1", "--key", "sha256:c")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "say by --key which", "to revoke it would end both")
	code, _, errs = c.call(t, "", "approve", "lab-1", "--key", one, "--capacity", "3")
	require.Zero(t, code, errs)
	code, _, errs = c.call(t, "n\n", "approve", "lab-1", "--key", two)
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "The machine with key "+two+" takes the place of the one with key "+one+", which is refused from then on: "+
		"the runs that it carries out are lost, and their programs go on there. Adopt it?")
	assert.Equal(t, v1alpha1.RunNodeSpec{Key: one, Capacity: 3}, c.nodes["lab-1"].Spec)
	code, _, errs = c.call(t, "y\n", "approve", "lab-1", "--key", two)
	require.Zero(t, code, errs)
	assert.Equal(t, v1alpha1.RunNodeSpec{Key: two, Capacity: 3}, c.nodes["lab-1"].Spec)
	code, _, errs = c.call(t, "", "approve", "lab-1", "--key", one)
	assert.Equal(t, exitMisuse, code, "its machine joins anew first")
	assert.Contains(t, errs, "has key "+two+", not "+one)
}

// A machine that may carry out runs of no namespace takes none, and the answer says so.
func TestNodeApproveNoNamespace(t *testing.T) {
	c := newNodeCluster(t, machine("lab-1", "k"))
	code, out, errs := c.call(t, "", "approve", "lab-1", "--yes")
	require.Zero(t, code, errs)
	assert.Equal(t, "RunNode lab-1 is adopted, but takes no runs: --namespaces adds namespaces whose runs it may carry out\n", out)
}

// Orcon writes to a RunNode while its agent calls. That fails no command, and an order applies to the RunNode as it is.
func TestNodeChangesMeanwhile(t *testing.T) {
	one, two := "sha256:"+strings.Repeat("a", 64), "sha256:"+strings.Repeat("b", 64)
	c := newNodeCluster(t, machine("lab-1", one))
	beat := func(n *v1alpha1.RunNode) { n.Status.Phase = "Pending" }
	c.meanwhile = []func(*v1alpha1.RunNode){beat, beat}
	code, _, errs := c.call(t, "", "approve", "lab-1", "--yes", "--namespaces", "shop")
	require.Zero(t, code, errs)
	assert.Equal(t, v1alpha1.RunNodeSpec{Key: one, Namespaces: []string{"shop"}}, c.nodes["lab-1"].Spec)
	assert.Equal(t, "Pending", c.nodes["lab-1"].Status.Phase)
	c.meanwhile = []func(*v1alpha1.RunNode){func(n *v1alpha1.RunNode) { n.Spec.Capacity = 7 }}
	code, _, errs = c.call(t, "", "drain", "lab-1")
	require.Zero(t, code, errs)
	assert.Equal(t, v1alpha1.RunNodeSpec{Key: one, Namespaces: []string{"shop"}, Capacity: 7, Order: v1alpha1.OrderSuspended}, c.nodes["lab-1"].Spec)

	c.meanwhile = []func(*v1alpha1.RunNode){func(n *v1alpha1.RunNode) { n.State = &v1alpha1.RunNodeState{Key: two} }}
	code, _, errs = c.call(t, "y\n", "approve", "lab-1")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "cannot change RunNode lab-1: another machine has joined meanwhile: run this again")
	assert.Equal(t, one, c.nodes["lab-1"].Spec.Key, "the key that a person has compared, or none")
	c.meanwhile = []func(*v1alpha1.RunNode){func(n *v1alpha1.RunNode) { n.Spec.Order = v1alpha1.OrderRevoked }}
	code, _, errs = c.call(t, "", "drain", "lab-1")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "RunNode lab-1 is revoked, which is final")
	assert.Empty(t, c.meanwhile)
}

func TestNodeOrders(t *testing.T) {
	c := newNodeCluster(t, machine("lab-1", "k"))
	code, out, errs := c.call(t, "", "drain", "lab-1")
	require.Zero(t, code, errs)
	assert.Equal(t, "RunNode lab-1 gets no further run\n", out)
	assert.Equal(t, v1alpha1.OrderSuspended, c.nodes["lab-1"].Spec.Order)
	code, _, errs = c.call(t, "n\n", "revoke", "lab-1")
	assert.Equal(t, exitMisuse, code, "it is final")
	assert.Contains(t, errs, "Each call of RunNode lab-1 is refused for ever, and its runs are lost after a minute. Revoke it? [y/N]")
	assert.Equal(t, v1alpha1.OrderSuspended, c.nodes["lab-1"].Spec.Order)
	for _, tc := range []struct{ in, flag string }{{"y\n", "--yes=false"}, {"", "--yes"}, {"", "--yes=false"}} {
		code, out, errs = c.call(t, tc.in, "revoke", "lab-1", tc.flag)
		require.Zero(t, code, errs)
		assert.Contains(t, out, "RunNode lab-1 is revoked")
		assert.Equal(t, v1alpha1.OrderRevoked, c.nodes["lab-1"].Spec.Order)
	}
	code, _, errs = c.call(t, "", "drain", "lab-1")
	assert.Equal(t, exitMisuse, code)
	assert.Contains(t, errs, "RunNode lab-1 is revoked, which is final: it gets no run any more")
	assert.Equal(t, v1alpha1.OrderRevoked, c.nodes["lab-1"].Spec.Order)
}

// A namespace that does not exist is permitted all the same, with a remark for a user who may know that.
func TestNodeOfNoNamespace(t *testing.T) {
	c := newNodeCluster(t, machine("lab-1", "k"))
	const remark = "namespace test does not exist yet"
	code, _, errs := c.call(t, "", "approve", "lab-1", "--yes", "--namespaces", "shop,test")
	require.Zero(t, code, errs)
	assert.Contains(t, errs, remark)
	assert.NotContains(t, errs, "namespace shop")
	assert.Equal(t, []string{"shop", "test"}, c.nodes["lab-1"].Spec.Namespaces)
	c.closed = true
	code, _, errs = c.call(t, "", "approve", "lab-1", "--yes", "--namespaces", "test")
	require.Zero(t, code, errs)
	assert.Empty(t, errs)
}

// A job controller that is away may be starting.
func TestNodeJoinLater(t *testing.T) {
	c := newNodeCluster(t)
	c.away = true
	code, out, errs := c.call(t, "", "join", "lab-1")
	assert.Equal(t, exitMisuse, code)
	assert.Empty(t, out)
	assert.Contains(t, errs, "cannot make a token for RunNode lab-1: the job controller is starting, or the cluster does not reach it: try again; "+
		"if it lasts, look at APIService v1alpha1.jobs.orcon.tengu.io, which tells why: ")
}

func TestNodeList(t *testing.T) {
	none := newNodeCluster(t)
	_, _, errs := none.call(t, "", "list")
	assert.Contains(t, errs, "there are no RunNodes: orcon job node join NAME prints a token for one")
	c := newNodeCluster(t, machine("b", "k"), machine("a", "k", func(n *v1alpha1.RunNode) {
		n.Spec.Namespaces, n.Status.Phase = []string{"shop"}, "Ready"
		n.Status.Seen = &metav1.Time{Time: time.Now().Add(-5 * time.Second)}
		n.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "True", Message: "it takes runs, up to 1 at once"}}
	}))
	code, out, errs := c.call(t, "", "list")
	require.Zero(t, code, errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	assert.Regexp(t, `^NODE +PHASE +SEEN +CAPACITY +NAMESPACES`, lines[0])
	assert.Regexp(t, `^a +Ready +[5-9]s +1 +shop`, lines[1])
	assert.Contains(t, out, "it takes runs, up to 1 at once")
	code, out, errs = c.call(t, "", "list", "-o", "json")
	require.Zero(t, code, errs)
	assert.Contains(t, out, `"key": "k"`)
}
