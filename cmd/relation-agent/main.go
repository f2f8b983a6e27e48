// Command relation-agent runs beside an application in its pod: it keeps the
// relations' data in files and opens the pod's start gate. The same binary is the
// gate's startup probe and tells a person what the agent knows.
//
// What must not come in: decisions and loops; they are controller/agent's.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/golang/glog"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/process"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/stream"
	"gitlab.ilabt.imec.be/tengu/orcon/controller/agent"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/tool"
)

// version is set when the binary is linked.
var version = "development"

const usage = `relation-agent keeps the files of a pod's relations and opens its start gate.

Usage:
  relation-agent [flags]          run the agent, until a signal
  relation-agent [flags] once     run the agent until the gate is open, as an
                                  ordinary init container
  relation-agent [flags] wait     return when the start gate is open; fail after 30 s
                                  if the controller cannot be reached, or files
                                  cannot be written
  relation-agent [flags] started  return when the first files are written, for
                                  pods that start without waiting
  relation-agent [flags] installed
                                  return when the pod's tools and the first files
                                  are there
  relation-agent [flags] gate [canary]
                                  return when the start gate is open, in a
                                  container that has the tools; with canary only
                                  if the command below succeeds
  relation-agent [flags] canary   fail unless the kubelet has read this container's
                                  variable ORCON_ENV_FILES from the agent's file
  relation-agent [flags] handle FOLDER
                                  run the executables of a folder for events, in
                                  a container that has the tools
  relation-agent [flags] run COMMAND [ARGUMENTS]
                                  run one command for every event, there too
  relation-agent [flags] status   say what the agent knows and waits for
  relation-agent [flags] tool NAME [ARGUMENTS]
                                  run one of the tools: relation-get, relation-set …
  relation-agent version          print the version

Examples:
  # why does this pod not start?
  kubectl exec POD -c relation-agent -- /relation-agent status
  # what does the other side say?
  kubectl exec POD -c relation-agent -- /relation-agent tool relation-get -r db:7 - db/0
  # the same as the first, from its log
  kubectl logs POD -c relation-agent

Settings come from the environment, as the webhook wrote it: ORCON_ADDRESS,
ORCON_SERVER_NAME, ORCON_TRUST, ORCON_CONSUMES, ORCON_ENV, ORCON_ON_CHANGE,
ORCON_BATCH, ORCON_LOG_LEVEL, ORCON_METRICS_ADDRESS (none by default),
POD_NAME, POD_NAMESPACE.

Flags:
`

func main() {
	if name := filepath.Base(os.Args[0]); tool.Is(name) {
		os.Exit(runTool(context.Background(), containerSocket, name, os.Args[1:]))
	}
	if err := process.Hide(); err != nil {
		glog.Warningf("other containers of the pod may read this container's files: %v", err)
	}
	err := run(os.Args[1:], os.Stdout)
	glog.Flush()
	var code exitError
	switch {
	case errors.Is(err, flag.ErrHelp):
	case errors.As(err, &code):
		os.Exit(int(code)) // the tool has said why
	case err != nil:
		fmt.Fprintln(os.Stderr, "relation-agent:", err)
		explain(err)
		os.Exit(1)
	}
}

// explain writes why the program ends to where the kubelet looks for it, so that the container's
// status has it. Outside a container no such file exists.
func explain(why error) {
	f, err := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	_, _ = f.WriteString(why.Error())
}

// exitError is the exit code of a tool.
type exitError int

func (c exitError) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// commands names the commands for a person who misspelt one.
const commands = "once, wait, started, installed, gate, canary, handle, run, status, tool and version"

// run carries out one command line.
func run(args []string, out io.Writer) error {
	flags := flag.CommandLine // glog's are there
	flags.Init("relation-agent", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() { fmt.Fprint(out, usage); flags.PrintDefaults() }
	at := flags.String("root", "/orcon", "folder of the agent's volumes: bindings, run, state, identity")
	_ = flags.Set("logtostderr", "true")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	root := folder(*at)
	switch command := flags.Arg(0); command {
	case "":
		return serve(ctx, root)
	case "once":
		return serveOnce(ctx, root)
	case "wait", "started", "installed", "gate", "canary":
		return probe(ctx, root, command, flags.Arg(1))
	case "handle", "run":
		of, err := programOf(command, flags.Args()[1:])
		if err != nil {
			return err
		}
		agent.Runner{Socket: containerSocket}.Run(ctx, reaping(of.handle))
		return nil
	case "status":
		return agent.Status(ctx, root.socket(), out)
	case "tool":
		if flags.NArg() < 2 {
			return fmt.Errorf("a tool is missing: the tools are %s", strings.Join(tool.Names(), ", "))
		}
		if code := runTool(ctx, root.socket(), flags.Arg(1), flags.Args()[2:]); code != 0 {
			return exitError(code)
		}
		return nil
	case "version":
		_, err := fmt.Fprintln(out, version)
		return err
	case "help":
		flags.Usage()
		return nil
	default:
		return fmt.Errorf("unknown command %q: the commands are %s; see relation-agent -help", command, commands)
	}
}

// probe carries out a command that waits or checks. A gate with the argument canary is one of a container whose
// variables come from the file.
func probe(ctx context.Context, root folder, command, argument string) error {
	switch command {
	case "wait":
		return agent.Wait(ctx, root.socket(), root.opened(), agent.Patience)
	case "started":
		return agent.WaitFor(ctx, root.socket(), agent.Patience, root.env())
	case "installed":
		return agent.WaitFor(ctx, root.socket(), agent.Patience, root.tools(), root.env())
	}
	if command == "canary" || argument == "canary" {
		if err := agent.Canary(os.Getenv); err != nil || command == "canary" {
			return err
		}
	}
	return agent.Gate(ctx, containerSocket, agent.Patience)
}

// serve runs the agent until ctx is done, and at that moment returns: nothing
// that is in flight is worth a second of a pod's deletion.
func serve(ctx context.Context, root folder) error {
	_, talk := prepare(ctx, root)
	talk(ctx)
	glog.Info("stopped by a signal")
	return nil
}

// errUnopened says that an agent ended before it had what its pod needs.
var errUnopened = errors.New("stopped before the data was complete")

// serveOnce runs the agent until the gate is open, as for a new pod: no agent has kept the data of an earlier start up to date.
// An end before that is a failure: the pod's containers must not start without their data.
func serveOnce(ctx context.Context, root folder) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := root.forget(); err != nil {
		glog.Errorf("cannot forget an earlier start: %v", err)
	}
	a, talk := prepare(ctx, root)
	go func() {
		select {
		case <-a.Opened():
			stop()
		case <-ctx.Done():
		}
	}()
	talk(ctx)
	select {
	case <-a.Opened():
		return nil
	default:
		return errUnopened
	}
}

// prepare starts an agent and returns how it talks with the controller, until
// ctx is done.
func prepare(ctx context.Context, root folder) (a *agent.Agent, talk func(context.Context)) {
	settings, problems := agent.ParseSettings(os.Getenv)
	_ = flag.Set("v", strconv.Itoa(settings.LogLevel))
	for _, p := range problems {
		glog.Warning(p.Error())
	}
	spareMemory()
	client := &stream.Client{
		Address: settings.Address, ServerName: settings.ServerName, Trust: settings.Trust,
		TrustFile: root.path("identity", "ca.crt"), TrustKept: root.path("state", "trust.crt"), TokenFile: root.path("identity", "token"),
		Pace: stream.DefaultPace(),
	}
	a = agent.New(settings, root.disk(), client, process.Containers{Proc: "/proc", Bindings: root.path("bindings"), Kill: syscall.Kill})
	client.Listener = a
	go a.ServeSocket(ctx, root.socket())
	if len(settings.Tools) > 0 {
		giveTools(ctx, a, root, settings.Tools)
	}
	a.Start()
	if settings.OnChange.Post.Port != 0 {
		go a.Post(ctx)
	}
	if settings.MetricsAddress != "" {
		go a.ServeMetrics(ctx)
	}
	return a, func(ctx context.Context) {
		go client.Run(ctx)
		a.Speech().Run(ctx)
	}
}

// giveTools installs the tools and listens for the containers that have them. A
// pod without its tools still has its data.
func giveTools(ctx context.Context, a *agent.Agent, root folder, containers []string) {
	if err := markInstalled(a, root); err != nil {
		glog.Errorf("%v; trying again", err)
		go installLater(ctx, a, root)
	}
	for _, container := range containers {
		go serveTools(ctx, a, root, container)
	}
}

// serveTools listens for a container as soon as its socket has a folder.
func serveTools(ctx context.Context, a *agent.Agent, root folder, container string) {
	at := filepath.Join("sockets", container)
	for err := makeFolder(root.path("run"), at); err != nil; err = makeFolder(root.path("run"), at) {
		glog.Errorf("cannot listen for container %s: %v; trying again", container, err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(installAgain):
		}
	}
	a.ServeTools(ctx, root.path("run", at, "agent.sock"), container)
}

// installAgain is the pause before another attempt to install the tools, or to make the folder of a socket: a volume that is
// full may have room later.
const installAgain = 5 * time.Second

// installLater installs the tools as soon as that succeeds.
func installLater(ctx context.Context, a *agent.Agent, root folder) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(installAgain):
		}
		if markInstalled(a, root) == nil {
			glog.Info("the tools are installed")
			return
		}
	}
}

// markInstalled installs the tools and writes the file that shows it.
func markInstalled(a *agent.Agent, root folder) error {
	err := installTools(root.path("tools"))
	if err == nil {
		err = root.tools().Replace(nil)
	}
	a.Hold().ToolsInstalled(err)
	return err
}

// spareMemory lets the collector run early: the agent's data is small, and the
// processor time it has is never used up (SAFETY.md I20). Go's own tables almost
// fill the limit, so that what one databag has taken is given back before the
// next is read (TRUST.md U2); the collector takes at most half of the time. Go
// also keeps memory for each processor that it uses: an agent uses one, however
// many its node has.
func spareMemory() {
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(6 << 20)
	runtime.GOMAXPROCS(1)
}
