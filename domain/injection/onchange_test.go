package injection_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// SAFETY.md I24: data goes to loopback alone, no shell reads a command, and only
// what a process can handle is sent to it.
func TestParseOnChange(t *testing.T) {
	post := func(port int, path string) injection.OnChange {
		return injection.OnChange{Post: injection.Post{Port: port, Path: path}}
	}
	run := func(words ...string) injection.OnChange { return injection.OnChange{Command: words} }
	tests := map[string]struct {
		why    string
		text   string
		want   injection.OnChange
		reason string
		cure   string
	}{
		"Nothing": {why: "files alone"},
		"Files":   {why: "nothing of the pod", text: "files"},
		"Restart": {why: "the controller's", text: "restart"},

		"Port":        {why: "the short form", text: "http::8080/relations", want: post(8080, "/relations")},
		"Address":     {why: "as a URL", text: "http://127.0.0.1:8080/a/b", want: post(8080, "/a/b")},
		"Localhost":   {why: "the same", text: "http://localhost:1/", want: post(1, "/")},
		"Six":         {why: "the same", text: "http://[::1]:65535/x", want: post(65535, "/x")},
		"Query":       {why: "servers route by it", text: "http::80/x?a=b&c=%20", want: post(80, "/x?a=b&c=%20")},
		"Elsewhere":   {why: "no data leaves the pod", text: "http://evil.example:8080/x", reason: "evil.example is not this pod", cure: "write http::8080/x"},
		"OtherIP":     {why: "no data leaves the pod", text: "http://10.0.0.1:8080/x", reason: "10.0.0.1 is not this pod", cure: "write http::8080/x"},
		"AllOfIt":     {why: "is every interface, not loopback", text: "http://0.0.0.0:8080/x", reason: "0.0.0.0 is not this pod"},
		"Disguised":   {why: "a user is no host", text: "http://127.0.0.1:80@evil/x", reason: "a port and a path alone"},
		"LooksLike":   {why: "a name that begins so", text: "http://localhost.evil:80/x", reason: "localhost.evil is not this pod"},
		"Trailing":    {why: "another name", text: "http://localhost.:80/x", reason: "localhost. is not this pod"},
		"NoPort":      {why: "which?", text: "http://localhost/x", reason: "no port", cure: "http::8080/relations"},
		"PortZero":    {why: "is none", text: "http::0/x", reason: "no port"},
		"PortHigh":    {why: "there is none", text: "http::65536/x", reason: "no port"},
		"PortWord":    {why: "a number", text: "http::web/x", reason: "a port and a path alone"},
		"NoPath":      {why: "which?", text: "http::8080", reason: "no path", cure: "http::8080"},
		"NoColon":     {why: "is it a port?", text: "http:8080/x", reason: "neither"},
		"Empty":       {why: "nothing", text: "http:", reason: "neither"},
		"TLS":         {why: "loopback needs none", text: "https://localhost:80/x"},
		"Space":       {why: "two requests?", text: "http::80/x y", reason: "neither"},
		"Lines":       {why: "two requests?", text: "http::80/x\r\nHost: y", reason: "neither"},
		"Fragment":    {why: "is never sent", text: "http::80/x#y", reason: "a port and a path alone"},
		"LongPath":    {why: "in every request", text: "http::80/" + strings.Repeat("x", 1024), reason: "more than 1024 bytes"},
		"Words":       {why: "the short form", text: "exec:/bin/reload --now x", want: run("/bin/reload", "--now", "x")},
		"List":        {why: "for what words cannot say", text: `exec:["/bin/sh","-c","echo $X > /tmp/x"]`, want: run("/bin/sh", "-c", "echo $X > /tmp/x")},
		"Quotes":      {why: "would be arguments with quotes in them", text: `exec:sh -c "echo hi"`, reason: "no shell", cure: "JSON list"},
		"Variable":    {why: "would be taken as it is", text: "exec:reload $HOME", reason: "no shell", cure: "JSON list"},
		"Pipe":        {why: "would be an argument", text: "exec:a | b", reason: "no shell", cure: "JSON list"},
		"NoCommand":   {why: "nothing to run", text: "exec: ", reason: "no command"},
		"EmptyList":   {why: "nothing to run", text: "exec:[]", reason: "no command"},
		"EmptyWord":   {why: "nothing to run", text: `exec:["","x"]`, reason: "no command"},
		"Numbers":     {why: "texts", text: "exec:[1]", reason: "not a JSON list"},
		"NUL":         {why: "ends an argument", text: `exec:["a","b\u0000c"]`, reason: "NUL"},
		"Signal":      {why: "the short name", text: "signal:HUP", want: injection.OnChange{Signal: "HUP"}},
		"LongSignal":  {why: "the long one", text: "signal:SIGUSR1", want: injection.OnChange{Signal: "USR1"}},
		"Kill":        {why: "that is a restart", text: "signal:SIGKILL", reason: "no process can handle it", cure: "restart"},
		"LowerCase":   {why: "one way to write it", text: "signal:hup", reason: "not a signal", cure: "did you mean signal:HUP?"},
		"Typo":        {why: "the nearest", text: "signal:SIGTREM", reason: "not a signal", cure: "did you mean signal:TERM?"},
		"NoSignal":    {why: "which?", text: "signal:", reason: "not a signal", cure: "write one of"},
		"Number":      {why: "differs by machine", text: "signal:1", reason: "not a signal", cure: "write one of"},
		"Segmented":   {why: "is of the kernel", text: "signal:SEGV", reason: "not a signal"},
		"Realtime":    {why: "not of every system", text: "signal:RTMIN+3", reason: "not a signal"},
		"OtherPrefix": {why: "refused where declarations are read", text: "mail:me"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, problem := injection.ParseOnChange(tc.text)
			assert.Equal(t, tc.want, got, tc.why)
			if tc.reason == "" {
				assert.Nil(t, problem, tc.why)
				return
			}
			require.NotNil(t, problem, tc.why)
			assert.Equal(t, application.KeyOnChange, problem.Key)
			assert.Equal(t, tc.text, problem.Entry)
			assert.Contains(t, problem.Reason, tc.reason, tc.why)
			assert.Contains(t, problem.Cure, tc.cure, tc.why)
			assert.NotEmpty(t, problem.Cure)
		})
	}
}

// FuzzParseOnChange: no text stops the process, and what is taken can be carried
// out: an address that means the same when it is read again, a command with a name,
// a known signal.
func FuzzParseOnChange(f *testing.F) {
	for _, text := range []string{"http::8080/x?y", "http://[::1]:80//", "http::80/%zz", `exec:["a","b"]`, "exec:a b", "signal:SIGHUP"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o, problem := injection.ParseOnChange(text)
		if problem != nil {
			require.Equal(t, injection.OnChange{}, o)
			require.NotEmpty(t, problem.Error())
			require.NotEmpty(t, problem.Cure)
			return
		}
		if o.Post.Port != 0 {
			require.Regexp(t, `^/[!-~]*$`, o.Post.Path)
			again, problem := injection.ParseOnChange(o.Post.String())
			require.Nil(t, problem)
			require.Equal(t, o, again)
		}
		if o.Command != nil {
			require.NotEmpty(t, o.Command[0])
		}
		if o.Signal != "" {
			require.Contains(t, injection.Signals(), o.Signal)
		}
	})
}

// SAFETY.md I24: a signal only where the processes are shared already, and the
// user fits; and one way to hear of a change.
func TestOnChangeFitsThePod(t *testing.T) {
	const shared = "shareProcessNamespace: true, "
	const image = ", injector.tengu.io/handler-image: i"
	tests := map[string]struct {
		why        string
		annotation string
		spec       string
		reason     string
		cure       string
	}{
		"Fits":           {why: "one user, shared processes", annotation: "tengu.io/on-change: signal:HUP", spec: shared + "securityContext: {runAsUser: 1000}, containers: [{name: a}, {name: b, securityContext: {runAsUser: 1000}}]"},
		"NotShared":      {why: "the agent would see nobody", annotation: "tengu.io/on-change: signal:HUP", spec: "securityContext: {runAsUser: 1000}, containers: [{name: a}]", reason: "do not share", cure: "spec.shareProcessNamespace"},
		"HostsAreNot":    {why: "the node's processes are nobody's to signal", annotation: "tengu.io/on-change: signal:HUP", spec: "hostPID: true, securityContext: {runAsUser: 1000}, containers: [{name: a}]", reason: "do not share"},
		"NoUser":         {why: "the image's is not known here", annotation: "tengu.io/on-change: signal:HUP", spec: shared + "containers: [{name: a}]", reason: "does not say who", cure: "spec.securityContext.runAsUser"},
		"Root":           {why: "the agent never is", annotation: "tengu.io/on-change: signal:HUP", spec: shared + "securityContext: {runAsUser: 0}, containers: [{name: a}]", reason: "not root"},
		"OtherUser":      {why: "the kernel would refuse it", annotation: "tengu.io/on-change: signal:HUP", spec: shared + "securityContext: {runAsUser: 1000}, containers: [{name: a}, {name: b, securityContext: {runAsUser: 1001}}]", reason: "container b runs as user 1001 and the agent as 1000", cure: "injector.tengu.io/containers"},
		"OtherNotServed": {why: "who gets no files gets no signal", annotation: "tengu.io/on-change: signal:HUP, injector.tengu.io/containers: a", spec: shared + "securityContext: {runAsUser: 1000}, containers: [{name: a}, {name: b, securityContext: {runAsUser: 1001}}]"},
		"Mesh":           {why: "nor does a mesh's", annotation: "tengu.io/on-change: signal:HUP", spec: shared + "securityContext: {runAsUser: 1000}, containers: [{name: a}, {name: istio-proxy, securityContext: {runAsUser: 1337}}]"},
		"HTTP":           {why: "needs nothing of the pod", annotation: "tengu.io/on-change: 'http::80/x', tengu.io/batch: 'true'", spec: "containers: [{name: a}]"},
		"Exec":           {why: "with an image", annotation: "tengu.io/on-change: exec:reload, tengu.io/batch: 'true'" + image, spec: "containers: [{name: a}]"},
		"ExecNowhere":    {why: "in which image?", annotation: "tengu.io/on-change: exec:reload", spec: "containers: [{name: a}]", reason: "in which image", cure: "injector.tengu.io/handler-image"},
		"Init":           {why: "nobody is left to tell of it", annotation: "tengu.io/on-change: 'http::80/x', injector.tengu.io/mode: init", spec: "containers: [{name: a}]", reason: "no container that receives events"},
		"Both":           {why: "one memory of what was told", annotation: "tengu.io/on-change: 'http::80/x', tengu.io/handlers: /h" + image, spec: "containers: [{name: a}]", reason: "hears of each change already", cure: "keep one"},
		"BatchOfNothing": {why: "a signal tells of no event", annotation: "tengu.io/on-change: signal:HUP, tengu.io/batch: 'true'", spec: shared + "securityContext: {runAsUser: 1000}, containers: [{name: a}]", reason: "nothing in the pod hears", cure: "tengu.io/handlers"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := shape(t, "metadata: {annotations: {"+tc.annotation+"}}\nspec: {"+tc.spec+"}")
			o, problems := injection.ParseOptions(pod, injection.DefaultConfig().Agent)
			if tc.reason == "" {
				assert.Empty(t, problems, tc.why)
				assert.NotEqual(t, injection.OnChange{}, o.OnChange)
				return
			}
			require.Len(t, problems, 1, tc.why)
			assert.Contains(t, problems[0].Reason, tc.reason, tc.why)
			assert.Contains(t, problems[0].Cure, tc.cure, tc.why)
			assert.Equal(t, injection.OnChange{}, o.OnChange, "a pod of a controller starts without it")
		})
	}
}
