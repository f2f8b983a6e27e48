package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the main module's path; what begins with it is a folder of ours.
const module = "gitlab.ilabt.imec.be/tengu/orcon/"

// Groups of outside modules that the floors share.
const (
	kubeTypes  = "k8s.io/api k8s.io/apimachinery"
	kubeClient = kubeTypes + " k8s.io/client-go sigs.k8s.io/controller-runtime"
	wire       = "connectrpc.com/connect google.golang.org/protobuf"
	watched    = "github.com/golang/glog github.com/prometheus/client_golang"
)

// mayImport says, for each folder, which folders and outside modules its
// non-test files may use besides the standard library. Most specific wins; a star
// stands for one folder name. A name allows what lies below it too.
//
//nolint:gochecknoglobals // the table itself; adding an edge is a reviewed one-line change
var mayImport = map[string]string{
	"domain/application":          "gopkg.in/yaml.v3 domain/databag domain/spelling domain/status",
	"domain/budget":               "",
	"domain/bundle":               "domain/condition domain/spelling",
	"domain/condition":            "",
	"domain/destination":          "",
	"domain/egress":               "",
	"domain/event":                "",
	"domain/conversation":         "domain/application domain/databag",
	"domain/crowd":                "",
	"domain/databag":              "",
	"domain/fleet":                "gopkg.in/yaml.v3 github.com/santhosh-tekuri/jsonschema/v6 domain/fleet/data domain/weight",
	"domain/fleet/data":           "gopkg.in/yaml.v3 domain/spelling",
	"domain/fleet/integrationset": "domain/condition",
	"domain/fleet/rendering":      "domain/bundle",
	"domain/fleet/schema":         "",
	"domain/health":               "",
	"domain/health/library":       "gopkg.in/yaml.v3",
	"domain/history":              "domain/conversation domain/databag",
	"domain/identity":             "",
	"domain/job":                  "domain/spelling",
	"domain/job/approval":         "domain/condition domain/job/workspace",
	"domain/job/check":            "domain/condition domain/job domain/job/workspace github.com/robfig/cron/v3",
	"domain/job/log":              "",
	"domain/job/redact":           "",
	"domain/job/conformance":      "",
	"domain/job/node":             "domain/condition domain/job/conformance",
	"domain/job/retention":        "domain/job/workspace",
	"domain/job/program":          "github.com/santhosh-tekuri/jsonschema/v6 domain/job domain/job/run domain/job/tooltype domain/spelling domain/weight",
	"domain/job/run":              "domain/condition domain/job domain/job/node domain/job/tooltype domain/job/workspace domain/spelling",
	"domain/job/template":         "domain/condition domain/job domain/job/contract domain/job/program domain/job/run domain/job/tooltype domain/spelling",
	"domain/job/tooltype":         "domain/spelling",
	"domain/job/workspace":        "domain/condition domain/job",
	"domain/job/contract":         "",
	"domain/leadership":           "",
	"domain/injection":            "gopkg.in/yaml.v3 domain/application domain/jsonpatch domain/spelling",
	"domain/jsonpatch":            "",
	"domain/negotiation":          "domain/application domain/condition domain/conversation domain/databag domain/injection domain/relation domain/schema domain/secret domain/spelling domain/stale domain/status",
	"domain/openshift":            "domain/spelling",
	"domain/piece":                "domain/databag",
	"domain/queue":                "",
	"domain/relation":             "domain/application domain/condition domain/conversation domain/databag domain/leadership domain/schema domain/secret domain/stale domain/status",
	"domain/retry":                "",
	"domain/schema":               "gopkg.in/yaml.v3 github.com/santhosh-tekuri/jsonschema/v6 domain/application domain/condition domain/databag domain/spelling",
	"domain/secret":               "domain/conversation",
	"domain/simulation":           "gopkg.in/yaml.v3 golang.org/x/tools/txtar domain/application domain/condition domain/conversation domain/databag domain/history domain/injection domain/leadership domain/negotiation domain/relation domain/retry domain/schema domain/secret domain/spelling domain/status domain/tool domain/transaction",
	"domain/spelling":             "",
	"domain/stale":                "domain/application domain/conversation domain/databag domain/secret",
	"domain/status":               "",
	"domain/transaction":          "domain/application domain/budget domain/conversation domain/databag domain/history domain/relation domain/schema domain/secret",
	"domain/weight":               "github.com/santhosh-tekuri/jsonschema/v6",
	"domain/tool":                 "gopkg.in/yaml.v3 github.com/spf13/pflag domain/application domain/conversation domain/spelling domain/status",

	// What the rooms share of reading a review and answering it.
	"webhook/internal/*": "domain webhook/internal " + kubeTypes + " " + watched,

	// No client among them: nothing is asked of the API while it waits for an
	// answer (INJECTION.md I9).
	"webhook/*": "domain webhook/internal controller/api " + kubeTypes + " sigs.k8s.io/controller-runtime/pkg/webhook " + watched,

	"controller/*":        "domain controller/api controller/adapter " + kubeClient + " " + wire + " " + watched,
	"controller/relation": "domain controller/api/v1alpha1 controller/adapter/kube/object " + kubeClient + " " + watched,
	"controller/schema":   "controller/api/v1alpha1 " + kubeClient,
	"controller/secret":   "domain/secret github.com/golang/glog",
	// The adapters of these two count the bytes of a call and prove a connection, and hold no object.
	"controller/serve": "domain controller/adapter/listener controller/api/convert/agent controller/api/relations controller/serve/limit " +
		"golang.org/x/sync/semaphore sigs.k8s.io/controller-runtime/pkg/metrics " + wire + " " + watched,
	"controller/serve/limit": "controller/adapter/kube/meter controller/api/relations domain/budget domain/conversation domain/identity domain/status " +
		"sigs.k8s.io/controller-runtime/pkg/metrics " + wire + " " + watched,
	"controller/agent":  "domain controller/api/convert/agent controller/api/relations controller/adapter google.golang.org/protobuf github.com/golang/glog golang.org/x/sys/unix",
	"controller/bundle": "domain/bundle",
	// The one room that joins what brings content to what carries it out.
	"controller/bundledeployment":    "domain controller/api/convert/bundle controller/api/bundle/v1alpha1 controller/adapter/cluster controller/adapter/crdify controller/adapter/kube/object controller/adapter/policy controller/bundle controller/content controller/supply github.com/golang/glog " + kubeClient,
	"controller/content":             "domain/bundle domain/destination controller/adapter",
	"controller/content/render":      "domain/bundle domain/openshift controller/adapter controller/content",
	"controller/fleet":               "domain controller/api/bundle/v1alpha1 controller/api/convert/bundle controller/api/convert/value controller/api/fleet/v1alpha1 controller/adapter/kube/object controller/content controller/supply " + watched + " " + kubeClient,
	"controller/job/executor":        "domain/job domain/job/contract domain/job/run",
	"controller/job":                 "domain controller/adapter/blob controller/adapter/kube/object controller/adapter/kube/templates controller/api/convert/job controller/api/convert/value controller/api/job/v1alpha1 controller/job/evidence controller/job/executor " + watched + " " + kubeClient,
	"controller/job/approval":        "controller/api/convert/job controller/api/convert/value controller/api/job/v1alpha1 domain/job domain/job/approval domain/job/run " + kubeClient,
	"controller/job/build":           "controller/adapter/archive controller/adapter/blob controller/adapter/oci controller/api/convert/job controller/api/convert/value controller/api/job/v1alpha1 controller/content controller/job/contents domain/bundle domain/condition domain/job/contract domain/job/template " + kubeClient,
	"controller/job/collection":      "controller/adapter/blob controller/adapter/kube/object controller/api/convert/job controller/api/job/v1alpha1 controller/job/contents controller/job/evidence domain/job domain/job/log domain/job/retention domain/job/workspace github.com/prometheus/client_golang/prometheus k8s.io/api k8s.io/apimachinery/pkg/types k8s.io/client-go/tools/events sigs.k8s.io/controller-runtime/pkg/client sigs.k8s.io/controller-runtime/pkg/metrics",
	"controller/job/contents":        "controller/adapter/archive controller/adapter/blob domain/bundle",
	"controller/job/evidence":        "controller/adapter/archive/state controller/adapter/blob controller/api/job/v1alpha1 controller/job/contents domain/job/workspace github.com/golang/glog",
	"controller/job/logs":            "controller/adapter/blob domain/job/log",
	"controller/job/agent":           "controller/adapter/envelope controller/api/node controller/job/executor domain/job domain/job/conformance domain/job/node domain/job/run domain/job/tooltype domain/retry github.com/golang/glog " + wire,
	"controller/job/node":            "controller/adapter/certificate controller/api/node controller/api/runner controller/job/executor controller/job/serve domain/job/node domain/job/run domain/job/workspace github.com/golang/glog " + wire,
	"controller/job/people":          "controller/adapter/archive controller/adapter/archive/state controller/adapter/blob controller/api/convert/job controller/api/job/v1alpha1 controller/api/people controller/job/contents controller/job/evidence controller/job/logs controller/job/serve domain/bundle domain/job domain/job/contract domain/job/log domain/job/node domain/job/retention domain/job/workspace domain/spelling github.com/golang/glog k8s.io/apimachinery/pkg/apis/meta/v1 k8s.io/apimachinery/pkg/types",
	"controller/job/selftest":        "controller/adapter/archive/state controller/adapter/blob controller/job/executor controller/keeper controller/keeper/chunk controller/keeper/exchange domain/job domain/job/conformance domain/job/contract domain/job/log domain/job/run github.com/golang/glog",
	"controller/job/serve":           "controller/adapter/blob controller/adapter/envelope controller/api/runner controller/job/contents controller/job/evidence domain/job domain/job/contract domain/job/log domain/job/run domain/job/workspace github.com/golang/glog",
	"controller/job/executor/offer":  "controller/api/node controller/job/executor domain/job domain/job/run domain/job/tooltype",
	"controller/keeper":              "controller/adapter/archive controller/adapter/archive/state controller/adapter/blob controller/job/logs controller/keeper/backend controller/keeper/chunk controller/keeper/exchange controller/keeper/redaction domain/bundle domain/job domain/job/contract domain/job/log domain/retry github.com/golang/glog golang.org/x/sys/unix",
	"controller/keeper/backend":      "domain/job/contract",
	"controller/keeper/chunk":        "controller/keeper/exchange controller/keeper/redaction domain/job/log",
	"controller/keeper/exchange":     "",
	"controller/keeper/redaction":    "domain/job/redact github.com/golang/glog",
	"controller/keeper/shim":         "controller/keeper/exchange controller/keeper/redaction domain/job/contract domain/job/tooltype github.com/golang/glog golang.org/x/sys/unix",
	"controller/supply":              "domain/bundle domain/queue controller/adapter/sandbox controller/content github.com/golang/glog k8s.io/apimachinery/pkg/types",
	"controller/api/v1alpha1":        "k8s.io/apimachinery",
	"controller/api/bundle/v1alpha1": "k8s.io/apimachinery",
	"controller/api/node":            "controller/api/node " + wire,
	"controller/api/people":          "controller/api/job/v1alpha1 k8s.io/apimachinery/pkg/apis/meta/v1",
	"controller/api/runner":          "",
	"controller/api/fleet/v1alpha1":  "controller/api/bundle/v1alpha1 k8s.io/apimachinery",
	"controller/api/job/v1alpha1":    "k8s.io/apimachinery",
	// Maps between API types and the domain. Agents link convert/agent: of the domain it may have what
	// they have.
	"controller/api/convert/agent":    "domain/application domain/conversation domain/databag domain/secret domain/status domain/tool controller/api/relations google.golang.org/protobuf",
	"controller/api/convert/bundle":   "domain/bundle domain/condition controller/api/bundle/v1alpha1 controller/api/convert/value k8s.io/apimachinery",
	"controller/api/convert/job":      "domain/condition domain/job domain/job/conformance domain/job/node domain/job/program domain/job/run domain/job/template domain/job/tooltype domain/job/workspace domain/spelling controller/api/job/v1alpha1 controller/api/convert/value k8s.io/apimachinery",
	"controller/api/convert/relation": "domain controller/api/v1alpha1 controller/api/convert/value k8s.io/apimachinery",
	"controller/api/convert/value":    "domain/condition k8s.io/apimachinery",
	"controller/api/relations":        "controller/api/relations " + wire,

	"controller/adapter/*":                      "domain controller/api " + watched,
	"controller/adapter/archive":                "domain/bundle",
	"controller/adapter/archive/state":          "github.com/klauspost/compress/zstd",
	"controller/adapter/blob":                   "",
	"controller/adapter/blob/directory":         "controller/adapter/blob",
	"controller/adapter/blob/s3":                "controller/adapter/blob github.com/minio/minio-go/v7",
	"controller/adapter/blob/sealed":            "controller/adapter/blob filippo.io/age",
	"controller/adapter/certificate/revocation": "domain/application " + kubeClient,
	"controller/adapter/certificate":            "domain controller/adapter/certificate/revocation github.com/cert-manager/cert-manager/pkg/server/tls github.com/fsnotify/fsnotify github.com/go-logr/glogr " + kubeClient + " " + watched,
	"controller/adapter/cluster":                "domain/bundle domain/health controller/adapter/kube/object sigs.k8s.io/structured-merge-diff/v6 " + kubeClient,
	"controller/adapter/crdify":                 "domain/bundle k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1 k8s.io/apimachinery sigs.k8s.io/crdify",
	"controller/adapter/directory":              "domain/bundle",
	// What adapters of servers share: which they may reach, and what their errors may quote.
	"controller/adapter/egress": "domain/destination golang.org/x/net/proxy",
	"controller/adapter/git":    "domain/bundle controller/adapter/egress github.com/go-git/go-git/v5 golang.org/x/crypto/ssh golang.org/x/net/proxy",
	"controller/adapter/helm":   "domain/bundle domain/spelling helm.sh/helm/v4 github.com/santhosh-tekuri/jsonschema/v6",
	// What the parts of the cluster adapter share is in object; the parts do not know each other.
	"controller/adapter/kube/aggregation":  "controller/adapter/kube/object controller/api/job/v1alpha1 controller/api/people controller/job/people github.com/golang/glog " + kubeClient,
	"controller/adapter/kube/commits":      "domain controller/api controller/adapter/kube/object " + "k8s.io/utils/lru golang.org/x/sync/errgroup " + kubeClient,
	"controller/adapter/kube/copies":       "domain controller/adapter/kube/object " + kubeClient,
	"controller/adapter/kube/counts":       "domain controller/api controller/adapter/kube/object github.com/golang/glog " + kubeClient,
	"controller/adapter/kube/election":     kubeClient + " github.com/golang/glog",
	"controller/adapter/kube/history":      "domain controller/api " + kubeClient,
	"controller/adapter/kube/identity":     "domain controller/api controller/adapter/kube/object github.com/go-jose/go-jose/v4 golang.org/x/time/rate " + kubeClient + " " + watched,
	"controller/adapter/kube/installation": "domain controller/api k8s.io/component-helpers " + kubeClient,
	"controller/adapter/kube/interfaces":   "domain controller/api controller/adapter/kube/object " + kubeClient + " " + watched,
	"controller/adapter/kube/networks":     kubeClient,
	"controller/adapter/kube/jobs":         "controller/adapter/kube/templates controller/api/convert/job controller/api/job/v1alpha1 controller/api/people controller/job/serve domain/condition domain/job " + kubeClient,
	"controller/adapter/kube/meter":        "",
	"controller/adapter/kube/nodes":        "controller/api/convert/job controller/api/job/v1alpha1 controller/job/executor controller/job/node domain/job/node domain/job/run domain/job/workspace " + kubeClient,
	"controller/adapter/kube/object":       "domain controller/api " + kubeClient + " " + watched,
	"controller/adapter/kube/removal":      "domain controller/api controller/adapter/kube/object " + kubeClient,
	"controller/adapter/kube/scope":        "domain controller/api controller/adapter/kube/object github.com/golang/glog " + kubeClient + " " + watched,
	"controller/adapter/kube/secrets":      "domain controller/api controller/adapter/kube/object " + kubeClient + " " + watched,
	"controller/adapter/kube/settle":       "domain controller/api controller/adapter/kube/object " + kubeClient + " " + watched,
	"controller/adapter/kube/templates":    "controller/api/convert/job controller/api/job/v1alpha1 domain/job domain/job/program k8s.io/apimachinery/pkg/api/errors sigs.k8s.io/controller-runtime/pkg/client",
	"controller/adapter/kube/views":        "domain controller/api controller/adapter/kube/object github.com/golang/glog " + kubeClient,
	"controller/adapter/policy":            "domain/bundle domain/health github.com/google/cel-go sigs.k8s.io/yaml",
	"controller/adapter/kubejob":           "controller/api/job/v1alpha1 controller/job/executor domain/job/contract domain/job/run " + kubeTypes + " sigs.k8s.io/controller-runtime/pkg/client",
	"controller/adapter/envelope":          "",
	"controller/adapter/dockerjob":         "controller/job/executor controller/keeper/exchange domain/job/contract domain/job/run domain/retry github.com/golang/glog github.com/containerd/errdefs github.com/moby/moby",
	// It is the ledger and the stores of a keeper, in the keeper's words.
	"controller/adapter/jobprocess": "controller/job/executor controller/keeper/exchange domain/job/contract domain/job/run github.com/golang/glog",
	"controller/adapter/jobsapi":    "controller/adapter/blob controller/api/runner controller/keeper domain/job filippo.io/age github.com/golang/glog",
	"controller/adapter/kustomize":  "domain/bundle sigs.k8s.io/kustomize/api sigs.k8s.io/kustomize/kyaml/filesys gopkg.in/yaml.v3",
	"controller/adapter/metadata":   "domain/bundle github.com/golang/glog " + kubeClient,
	"controller/adapter/oci":        "domain/bundle controller/adapter/egress github.com/google/go-containerregistry",
	"controller/adapter/plain":      "domain/bundle k8s.io/apimachinery sigs.k8s.io/yaml",
	// A protocol over the web, with the web adapter's limits.
	"controller/adapter/qontract":   "domain/bundle controller/adapter/web",
	"controller/adapter/sandbox":    "github.com/landlock-lsm/go-landlock/landlock golang.org/x/sys/unix",
	"controller/adapter/stream":     "domain/conversation controller/api/relations " + wire + " " + watched,
	"controller/adapter/registryv1": "domain/bundle domain/spelling sigs.k8s.io/yaml",
	"controller/adapter/web":        "domain/bundle domain/destination",
	// Servers for tests; no binary imports them.
	"controller/job/serve/servetest":            "controller/adapter/blob controller/job/serve domain/job/workspace",
	"controller/adapter/blob/blobtest":          "controller/adapter/blob github.com/stretchr/testify",
	"controller/adapter/kube/settle/settletest": "domain controller/api controller/adapter/kube/kubetest controller/adapter/kube/object controller/adapter/kube/settle github.com/stretchr/testify " + kubeClient,
	"controller/adapter/kube/kubetest":          "domain controller/api controller/adapter/kube/object github.com/stretchr/testify sigs.k8s.io/yaml " + kubeClient,
	"controller/adapter/stream/streamtest":      "controller/api/relations connectrpc.com/connect github.com/stretchr/testify",

	"cmd/*":              "domain webhook controller " + kubeClient + " " + watched + " github.com/go-logr/glogr github.com/spf13/cobra",
	"cmd/orcon":          "domain deployment controller/api/convert controller/api/v1alpha1 controller/api/bundle/v1alpha1 controller/api/fleet/v1alpha1 controller/api/job/v1alpha1 controller/api/people controller/adapter/archive controller/adapter/certificate/revocation controller/adapter/cluster controller/adapter/crdify controller/adapter/git controller/adapter/kube/history controller/adapter/kube/installation controller/adapter/kube/interfaces controller/adapter/kube/object controller/adapter/kube/removal controller/adapter/kube/templates controller/adapter/oci controller/adapter/policy controller/bundle controller/content controller/content/render controller/job/build github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term gopkg.in/yaml.v3 k8s.io/api/authentication/v1 k8s.io/apimachinery k8s.io/client-go/rest k8s.io/client-go/tools/clientcmd k8s.io/client-go/util/retry sigs.k8s.io/controller-runtime/pkg/client sigs.k8s.io/controller-runtime/pkg/log sigs.k8s.io/yaml",
	"cmd/job-runner":     "controller/adapter/archive/state controller/adapter/dockerjob controller/adapter/jobsapi controller/job/agent controller/job/executor controller/job/selftest controller/keeper domain/job domain/job/conformance domain/job/contract domain/job/node domain/retry domain/spelling github.com/golang/glog github.com/moby/moby/client golang.org/x/sys/unix",
	"cmd/relation-agent": "domain controller/agent controller/adapter/bindings controller/adapter/process controller/adapter/spool controller/adapter/stream github.com/golang/glog",

	// Only embedded: orcon installs what lies there.
	"deployment": "",

	"build/*": "github.com/in-toto/attestation google.golang.org/protobuf github.com/google/go-containerregistry",
	// The chart is what the manifests render to.
	"build/chart": "deployment domain/bundle controller/content controller/content/render sigs.k8s.io/yaml",
	// What code says of itself, as pages.
	"build/docs": "domain sigs.k8s.io/yaml",
	"test/*":     "*",
}

// pure are folders that decide and do nothing else: no operating system, no
// network, no clock, no deadline.
const pure = "domain/"

// impure is what a pure folder may not have of the standard library.
//
//nolint:gochecknoglobals // a table
var impure = map[string]bool{
	"os": true, "os/exec": true, "os/signal": true, "os/user": true, "syscall": true, "path/filepath": true,
	"net": true, "crypto/tls": true, "database/sql": true,
	"context": true, "log": true, "log/slog": true, "math/rand": true, "math/rand/v2": true, "crypto/rand": true, "testing": true,
}

// clock are the functions of package time that look at it.
//
//nolint:gochecknoglobals // a table
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// floors lists the top-level folders that hold code.
const floors = "cmd domain webhook controller deployment build scripts test"

// texts is the top-level folder that holds text only.
const texts = "docs"

// brokenWalls walks a repository and names every import that the table does not
// allow, and every use of the clock in a pure folder.
func brokenWalls(root string, table map[string]string) ([]string, error) {
	var broken []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return enter(root, file, entry)
		case !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return err
		}
		found, err := brokenIn(file, filepath.ToSlash(folder), table)
		broken = append(broken, found...)
		return err
	})
	return broken, err
}

// enter leaves out what is not of the main module.
func enter(root, dir string, entry fs.DirEntry) error {
	if dir == root {
		return nil
	}
	if strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" || entry.Name() == "bin" || entry.Name() == "dist" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func brokenIn(file, folder string, table map[string]string) ([]string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	name := folder + "/" + filepath.Base(file)
	rule, known := ruleFor(folder, table)
	if !known {
		return []string{fmt.Sprintf("%s: folder %s has no row in mayImport", name, folder)}, nil
	}
	var broken []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return nil, fmt.Errorf("cannot read an import of %s: %w", file, err)
		}
		if why := refusal(folder, imported, rule); why != "" {
			broken = append(broken, name+": "+why)
		}
	}
	if strings.HasPrefix(folder, pure) {
		broken = append(broken, looksAtClock(parsed, name)...)
	}
	return broken, nil
}

// ruleFor returns the row of the table that fits the folder best: its own, else
// its parent's, with a row without a star before one with.
func ruleFor(folder string, table map[string]string) (string, bool) {
	for at := folder; at != "."; at = path.Dir(at) {
		if rule, ok := table[at]; ok {
			return rule, true
		}
		if rule, ok := table[path.Dir(at)+"/*"]; ok {
			return rule, true
		}
	}
	return "", false
}

// refusal says why a folder may not import a package, or nothing.
func refusal(folder, imported, rule string) string {
	local, ours := strings.CutPrefix(imported, module)
	first, _, _ := strings.Cut(imported, "/")
	switch {
	case !strings.Contains(first, "."):
		if strings.HasPrefix(folder, pure) && (impure[imported] || strings.HasPrefix(imported, "net/") && imported != "net/netip") {
			return fmt.Sprintf("a domain room imports %q: it holds values and decisions only", imported)
		}
		return ""
	case ours && strings.HasPrefix(local, "cmd/"):
		return "a binary is imported: " + local
	case ours && (strings.HasPrefix(local, "test/") || strings.HasPrefix(local, "build/")) && !strings.HasPrefix(folder, "test/"):
		return local + " is imported by what it builds or tests"
	case ours:
		imported = local
	}
	for allowed := range strings.FieldsSeq(rule) {
		if allowed == "*" || imported == allowed || strings.HasPrefix(imported, allowed+"/") {
			return ""
		}
	}
	return fmt.Sprintf("imports %q, which mayImport does not allow to %s", imported, folder)
}

// looksAtClock names each use of the clock.
func looksAtClock(file *ast.File, name string) []string {
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(clock, selector.Sel.Name) {
			found = append(found, fmt.Sprintf("%s: a domain room uses time.%s: take the time as an argument", name, selector.Sel.Name))
		}
		return true
	})
	return found
}
