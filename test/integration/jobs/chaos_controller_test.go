package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/blob/directory"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/jobprocess"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/aggregation"
	kubejobs "gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/kube/jobs"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/job/v1alpha1"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/api/runner"
	controller "gitlab.ilabt.imec.be/tengu/orcon/controller/job"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/executor"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/people"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/job/serve"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
	"gitlab.ilabt.imec.be/tengu/orcon/test/chaos"
)

// controllerVariable has this program be a controller, with its settings as JSON.
const controllerVariable = "ORCON_TEST_CONTROLLER"

// process is the controller in a process of its own, wired as cmd/job-controller is, but that attempts are processes, and
// that whoever reaches its port is a person who may do anything.
type process struct {
	// Kubeconfig is used with another address of the API server.
	Kubeconfig, APIServer, Namespace string
	// Port is that of the jobs API, Courier how keepers reach it.
	Port    int
	Courier string
	// Store, Received, Attempts are folders; Trouble is a file that has what is wrong with the store.
	Store, Received, Attempts, Trouble string
	Runner, Log                        string
	// Renew is how often keepers renew their hold.
	Renew string

	command *exec.Cmd
}

// start starts the process; end kills it and waits for its end.
func (p *process) start() error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	p.command = exec.Command(os.Args[0])
	p.command.Env = append(os.Environ(), controllerVariable+"="+string(text))
	p.command.Stdout, p.command.Stderr, p.command.SysProcAttr = log, log, &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return p.command.Start()
}

func (p *process) end() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// serve is the main function of the process.
func (p *process) serve(ctx context.Context) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
	if err = errors.Join(err, flag.Set("logtostderr", "true")); err != nil {
		return err
	}
	cfg.Host, cfg.QPS = "https://"+p.APIServer, -1
	m, err := ctrl.NewManager(cfg, manager.Options{
		Scheme: chaosScheme(), Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultTransform:  controller.Cached,
			DefaultNamespaces: map[string]cache.Config{p.Namespace: {}},
		},
	})
	if err == nil {
		err = kubejobs.Index(ctx, m.GetFieldIndexer())
	}
	if err != nil {
		return err
	}
	opened, err := directory.Open(p.Store)
	for err != nil && ctx.Err() == nil { // a process that was started just then has its lock until it executes its program
		<-time.After(20 * time.Millisecond)
		opened, err = directory.Open(p.Store)
	}
	if err != nil {
		return err
	}
	store := &sick{Store: opened, file: p.Trouble}
	renewals := signs{kubejobs.Renewals{Live: m.GetAPIReader(), Writer: m.GetClient(), Namespace: p.Namespace}}
	begun := time.Now()
	r := &controller.Reconciler{
		Client: m.GetClient(), Reader: m.GetAPIReader(), Store: store, Signs: renewals, Events: m.GetEventRecorder("job-controller"),
		Now: time.Now, Clock: func() time.Duration { return time.Since(begun) }, Executor: p.executor(),
		ClaimWait: controller.DefaultClaimWait,
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p.Port))
	if err := errors.Join(err, r.SetupWithManager(m)); err != nil {
		return err
	}
	api := &http.Server{Handler: p.handler(m, store, renewals), ReadHeaderTimeout: time.Minute}
	go func() { _ = api.Serve(listener) }()
	return m.Start(ctx)
}

// executor carries out attempts as processes, whose tokens name them.
func (p *process) executor() executor.Executor {
	return &jobprocess.Machine{
		Folder: p.Attempts, Command: []string{p.Runner}, Address: p.Courier,
		Keeper: []string{"--renew", p.Renew, "--retry", "200ms", "--checkpoint", "250ms", "--drain", "5s", "--timeout", "5s"},
		Identify: func(n executor.Name, id, where string) (string, error) {
			return strings.Join([]string{n.Namespace, n.Run, n.UID, id, where}, "/"), nil
		},
	}
}

// handler serves keepers and persons.
func (p *process) handler(m manager.Manager, store blob.Store, renewals serve.Renewals) http.Handler {
	objects := kubejobs.Objects{Cache: m.GetCache(), Live: m.GetAPIReader()}
	workspaces, limits := kubejobs.Workspaces{Objects: objects, Writer: m.GetClient()}, serve.DefaultLimits()
	limits.Folder = p.Received
	mux := http.NewServeMux()
	mux.Handle(runner.Path, (&serve.API{
		Workspaces: workspaces, Runs: kubejobs.Runs{Objects: objects, Writer: m.GetClient()}, Renewals: renewals,
		Callers: callers{m.GetCache(), m.GetAPIReader(), &sync.Map{}}, Store: store, Limits: limits, Clock: time.Now,
	}).Handler())
	mux.Handle("/apis/", (&people.API{
		Workspaces: workspaces, Store: store, Persons: anybody{}, Rights: anybody{}, Objects: aggregation.Objects{Reader: m.GetAPIReader()},
		Journal: anybody{}, Limits: limits, Clock: time.Now, Poll: time.Second,
	}).Handler())
	return mux
}

// signs has renewals in the words of the reconciler.
type signs struct{ kubejobs.Renewals }

// Last implements controller.Signs.
func (s signs) Last(ctx context.Context, run string) (controller.Sign, error) {
	last, err := s.Renewals.Last(ctx, run)
	return controller.Sign{Fence: last.Fence, Number: last.Number, Delay: last.Delay}, err
}

// callers knows keepers by their tokens, and remembers those that were good, as those of pods do.
type callers struct {
	cache, live client.Reader

	known *sync.Map
}

// Identify implements serve.Callers.
func (c callers) Identify(r *http.Request) (serve.Caller, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if known, ok := c.known.Load(token); ok {
		return known.(serve.Caller), nil
	}
	parts := strings.SplitN(token, "/", 5)
	if len(parts) != 5 {
		return serve.Caller{}, serve.ErrForbidden
	}
	o := &v1alpha1.JobRun{}
	key := client.ObjectKey{Namespace: parts[0], Name: parts[1]}
	if err := c.cache.Get(r.Context(), key, o); err != nil || string(o.UID) != parts[2] || len(o.OwnerReferences) == 0 {
		o = &v1alpha1.JobRun{} // the cache is behind
		if err := c.live.Get(r.Context(), key, o); err != nil {
			return serve.Caller{}, err
		}
	}
	if string(o.UID) != parts[2] || len(o.OwnerReferences) == 0 {
		return serve.Caller{}, serve.ErrForbidden
	}
	caller := serve.Caller{
		Workspace: string(o.OwnerReferences[0].UID), Run: workspace.Run{UID: parts[2], Name: parts[1]},
		Claimant: workspace.Claimant{ID: parts[3], Where: parts[4]},
	}
	c.known.Store(token, caller)
	return caller, nil
}

// anybody is a person who may do anything.
type anybody struct{}

// Identify implements people.Persons, Permit people.Rights, and Record people.Journal.
func (anybody) Identify(*http.Request) (people.Person, error)              { return people.Person{Name: "ann"}, nil }
func (anybody) Permit(context.Context, people.Person, people.Access) error { return nil }
func (anybody) Record(context.Context, people.Deed)                        {}

// sick is a store that has the trouble which a file names.
type sick struct {
	*directory.Store

	file string
}

// trouble returns the error of the store, if it has one now.
func (s *sick) trouble() error {
	text, _ := os.ReadFile(s.file)
	if chaos.Kind(text) == chaos.StoreSlow {
		<-time.After(500 * time.Millisecond)
	}
	if chaos.Kind(text) == chaos.StoreDown {
		return fmt.Errorf("the store is down: %w", syscall.EIO)
	}
	return nil
}

// Put implements blob.Store. A full store takes a part of the content.
func (s *sick) Put(ctx context.Context, key blob.Key, content io.ReadSeeker) error {
	if err := s.trouble(); err != nil {
		return err
	}
	if text, _ := os.ReadFile(s.file); chaos.Kind(text) == chaos.StoreFull {
		_, _ = content.Read(make([]byte, 10))
		return fmt.Errorf("cannot store blob %s: %w", key, syscall.ENOSPC)
	}
	return s.Store.Put(ctx, key, content)
}

// Get implements blob.Store, as the following do.
func (s *sick) Get(ctx context.Context, key blob.Key) (io.ReadCloser, error) {
	if err := s.trouble(); err != nil {
		return nil, err
	}
	return s.Store.Get(ctx, key)
}

func (s *sick) Fences(ctx context.Context, uid string) ([]int64, error) {
	if err := s.trouble(); err != nil {
		return nil, err
	}
	return s.Store.Fences(ctx, uid)
}

func (s *sick) Below(ctx context.Context, uid string, fence int64, prefix string) ([]blob.Info, error) {
	if err := s.trouble(); err != nil {
		return nil, err
	}
	return s.Store.Below(ctx, uid, fence, prefix)
}
