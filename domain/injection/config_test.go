package injection_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/application"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

// TestParseConfig: tenguconfig.yaml is read strictly, and every fault names its
// field (PROTOTYPE.md, Its data).
func TestParseConfig(t *testing.T) {
	tests := map[string]struct {
		why    string
		text   string
		faults []string
	}{
		"Empty":          {why: "the defaults"},
		"Comment":        {why: "the defaults", text: "# nothing\n"},
		"Prototype":      {why: "the prototype's own file", text: "initContainers:\n- name: unit\n  image: tengu/unit\n  command: [sh]\n"},
		"Nulls":          {why: "unset", text: "initContainers:\nagent:\ncontroller:\n"},
		"NotYAML":        {why: "said as such", text: "\t:", faults: []string{"not YAML"}},
		"NotAMap":        {why: "said as such", text: "- a", faults: []string{"not a map"}},
		"Unknown":        {why: "a typing error", text: "agent:\n  imge: x\n", faults: []string{"agent.imge: there is no such field (line 2)"}},
		"UnknownTop":     {why: "a typing error", text: "agnet: {}\n", faults: []string{"agnet: there is no such field"}},
		"Twice":          {why: "which one counts?", text: "bindingsRoot: /a\nbindingsRoot: /b\n", faults: []string{"bindingsRoot: it is there twice"}},
		"Image":          {why: "no reference", text: "agent: {image: 'a b'}", faults: []string{"agent.image"}},
		"PullPolicy":     {why: "a word of three", text: "agent: {imagePullPolicy: Sometimes}", faults: []string{"agent.imagePullPolicy"}},
		"PullSecrets":    {why: "each item", text: "agent: {imagePullSecrets: [ok, 'B A D']}", faults: []string{"agent.imagePullSecrets[1]"}},
		"PullSecretText": {why: "a list", text: "agent: {imagePullSecrets: ok}", faults: []string{"agent.imagePullSecrets: it is not a list"}},
		"LogLevel":       {why: "a small number", text: "agent: {logLevel: 11}", faults: []string{"agent.logLevel"}},
		"Quantity":       {why: "a quantity", text: "agent: {resources: {limits: {cpu: much}}}", faults: []string{"agent.resources.limits.cpu"}},
		"Inverted":       {why: "the API server would refuse every pod", text: "agent: {resources: {requests: {cpu: '1'}}}", faults: []string{"agent.resources: cpu: the request 1 is more than the limit 200m"}},
		"TooSmall":       {why: "I19: the limit covers what the agent may hold", text: "agent: {resources: {limits: {memory: 40Mi}}}", faults: []string{"less than 48Mi"}},
		"Address":        {why: "tokens travel by TLS only", text: "controller: {address: 'http://x'}", faults: []string{"controller.address"}},
		"Root":           {why: "would hide the image", text: "bindingsRoot: /", faults: []string{"bindingsRoot"}},
		"RootByDot":      {why: "the same", text: "bindingsRoot: /./", faults: []string{"bindingsRoot"}},
		"RelativeRoot":   {why: "relative to what?", text: "bindingsRoot: a", faults: []string{"bindingsRoot"}},
		"Containers":     {why: "a list", text: "initContainers: {name: a}", faults: []string{"initContainers: it is not a list"}},
		"NoContainer":    {why: "each item", text: "initContainers: [a]", faults: []string{"initContainers[0]"}},
		"NoName":         {why: "each item", text: "initContainers: [{image: a}]", faults: []string{"initContainers[0].name"}},
		"NoImage":        {why: "each item", text: "initContainers: [{name: a}]", faults: []string{"initContainers[0].image"}},
		"AgentsName":     {why: "would make every pod look injected", text: "initContainers: [{name: relation-agent, image: a}]", faults: []string{"initContainers[0].name"}},
		"TwoOfAName":     {why: "the API server refuses that", text: "initContainers: [{name: a, image: a}, {name: a, image: b}]", faults: []string{"initContainers[1].name"}},
		"All":            {why: "all at once", text: "x: 1\nagent: {y: 1, logLevel: z}\n", faults: []string{"x: there", "agent.y: there", "agent.logLevel"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := injection.ParseConfig([]byte(tc.text))
			if tc.faults == nil {
				require.NoError(t, err, tc.why)
				return
			}
			require.ErrorIs(t, err, injection.ErrConfig, tc.why)
			for _, fault := range tc.faults {
				assert.Contains(t, err.Error(), fault, tc.why)
			}
		})
	}
}

func TestParseConfigReadsEveryField(t *testing.T) {
	config, err := injection.ParseConfig([]byte(`
initContainers: [{name: unit, image: unit:1, resources: {limits: {cpu: 1}}}]
agent:
  image: registry.example.org:5000/agent@sha256:` + strings.Repeat("a", 64) + `
  imagePullPolicy: Always
  imagePullSecrets: [one, two.three]
  logLevel: 3
  resources: {requests: {cpu: 1m, memory: 50Mi}, limits: {cpu: 0.5, memory: 0.1Gi}}
controller: {address: "https://[fd00::1]:8443", serverName: orcon.example.org}
bindingsRoot: /platform/bindings
`))
	require.NoError(t, err)
	assert.Equal(t, injection.Config{
		InitContainers: []injection.InitContainer{{Name: "unit", JSON: json.RawMessage(`{"image":"unit:1","name":"unit","resources":{"limits":{"cpu":1}}}`)}},
		Agent: injection.AgentConfig{
			Image: "registry.example.org:5000/agent@sha256:" + strings.Repeat("a", 64), PullPolicy: "Always", PullSecrets: []string{"one", "two.three"}, LogLevel: "3",
			Resources: injection.Resources{CPURequest: "1m", CPULimit: "0.5", MemoryRequest: "50Mi", MemoryLimit: "0.1Gi"},
		},
		ControllerAddress: "https://[fd00::1]:8443", ControllerServerName: "orcon.example.org", BindingsRoot: "/platform/bindings",
	}, config)
}

// FuzzParseConfig: no text stops the process, and what is refused says why.
func FuzzParseConfig(f *testing.F) {
	f.Add("agent: {image: a}\ninitContainers: [{name: a, image: b}]\n")
	f.Add("a: &a [*a]")
	f.Add("? {a: b}\n: c")
	f.Fuzz(func(t *testing.T, text string) {
		config, err := injection.ParseConfig([]byte(text))
		if err != nil {
			require.ErrorIs(t, err, injection.ErrConfig)
			return
		}
		for _, c := range config.InitContainers {
			require.True(t, json.Valid(c.JSON))
		}
	})
}

func annotated(key, value string) *injection.Shape {
	return &injection.Shape{Metadata: injection.Metadata{Annotations: map[string]string{key: value}}}
}

// TestParseOptions: each annotation of a pod is validated (INJECTION.md I11) and
// what is wrong leaves the installation's choice.
func TestParseOptions(t *testing.T) {
	tests := map[string]struct {
		why   string
		key   string
		good  string
		wrong []string
	}{
		"Inject":        {why: "a truth value", key: application.KeyInject, good: "true", wrong: []string{"", "no", "False"}},
		"Mode":          {why: "two words", key: application.KeyMode, good: "init", wrong: []string{"", "Init"}},
		"Containers":    {why: "names", key: application.KeyContainers, good: "a, b-c", wrong: []string{"", "a,", "A", "a_b"}},
		"Image":         {why: "a reference", key: application.KeyImage, good: "r.example.org/a:1", wrong: []string{"", "a b", "$(X)", "https://x//y"}},
		"Secrets":       {why: "names", key: application.KeyPullSecrets, good: "a,b.c", wrong: []string{"", "a..b", "A"}},
		"LogLevel":      {why: "a small number", key: application.KeyLogLevel, good: "9", wrong: []string{"", "10", "-1", "x"}},
		"MetricsPort":   {why: "a port that the agent may open", key: application.KeyMetricsPort, good: "9465", wrong: []string{"", "0", "80", "65536", "http", ":9465", "09465", "+9465"}},
		"OnChange":      {why: "SAFETY.md I24", key: application.KeyOnChange, good: "http::8080/x", wrong: []string{"http:", "signal:HUP", "exec:reload"}},
		"Batch":         {why: "nobody would hear of it", key: application.KeyBatch, good: "false", wrong: []string{"true", "yes"}},
		"CPURequest":    {why: "a quantity", key: application.KeyCPURequest, good: "20m", wrong: []string{"", "0", "20 m", "1e3", "2"}},
		"CPULimit":      {why: "not less than the request", key: application.KeyCPULimit, good: "1", wrong: []string{"5m", "-1"}},
		"MemoryRequest": {why: "not more than the limit", key: application.KeyMemoryRequest, good: "40Mi", wrong: []string{"1Gi", "Mi"}},
		"MemoryLimit":   {why: "enough", key: application.KeyMemoryLimit, good: "1Gi", wrong: []string{"1Mi", "64MB"}},
	}
	agent := injection.DefaultConfig().Agent
	agent.PullSecrets = []string{"installed"}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := injection.ParseOptions(annotated(tc.key, tc.good), agent)
			assert.Empty(t, problems, tc.why)
			for _, wrong := range tc.wrong {
				o, problems := injection.ParseOptions(annotated(tc.key, wrong), agent)
				require.Len(t, problems, 1, "%q: %s", wrong, tc.why)
				assert.Equal(t, tc.key, problems[0].Key)
				assert.NotEmpty(t, problems[0].Cure)
				assert.Equal(t, injection.Options{Agent: agent}, o)
			}
		})
	}
	assert.Equal(t, []string{"installed"}, agent.PullSecrets, "the installation's list is shared")
}

// TRUST.md R7: a port that the agent cannot have for its metrics is refused at admission, with the cure.
func TestMetricsPortIsFree(t *testing.T) {
	web := injection.Container{Name: "web", Ports: []injection.Port{{ContainerPort: 9465}, {ContainerPort: 9466, Protocol: "UDP"}}}
	tests := map[string]struct {
		why, port, key, value, reason string
		init                          bool
	}{
		"Free":      {why: "no container has it", port: "9464"},
		"UDP":       {why: "metrics are served over TCP", port: "9466"},
		"Taken":     {why: "two cannot listen", port: "9465", reason: "container web has it"},
		"TakenInit": {why: "a sidecar listens as well", port: "9465", init: true, reason: "container web has it"},
		"Events":    {why: "the pod listens there, though it declares no port", port: "8080", key: application.KeyOnChange, value: "http::8080/x", reason: "the pod receives its events there"},
		"Init":      {why: "nothing serves them", port: "9464", key: application.KeyMode, value: "init", reason: "a pod in mode init has no container that serves metrics"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := annotated(application.KeyMetricsPort, tc.port)
			if tc.key != "" {
				pod.Metadata.Annotations[tc.key] = tc.value
			}
			if pod.Spec.Containers = []injection.Container{web}; tc.init {
				pod.Spec.InitContainers, pod.Spec.Containers = pod.Spec.Containers, nil
			}
			o, problems := injection.ParseOptions(pod, injection.DefaultConfig().Agent)
			if tc.reason == "" {
				assert.Empty(t, problems, tc.why)
				assert.Equal(t, tc.port, o.MetricsPort)
				return
			}
			require.Len(t, problems, 1, tc.why)
			assert.Equal(t, application.KeyMetricsPort, problems[0].Key)
			assert.Equal(t, tc.reason, problems[0].Reason, tc.why)
			assert.NotEmpty(t, problems[0].Cure)
			assert.Empty(t, o.MetricsPort)
		})
	}
}

// FuzzParseOptions: no annotation stops the process.
func FuzzParseOptions(f *testing.F) {
	f.Add(application.KeyMemoryLimit, "64Mi")
	f.Add(application.KeyImage, "a@sha256:b")
	f.Add(application.KeyHandlers, "/handlers")
	f.Add(application.KeyOnChange, "exec:reload")
	f.Fuzz(func(t *testing.T, key, value string) {
		o, problems := injection.ParseOptions(annotated(key, value), injection.DefaultConfig().Agent)
		if len(problems) > 0 {
			require.Equal(t, injection.Options{Agent: injection.DefaultConfig().Agent}, o)
		}
	})
}

// FuzzInject: no manifest stops the process, and what is injected can be undone.
func FuzzInject(f *testing.F) {
	f.Add(`{"kind":"Pod","metadata":{"annotations":{"tengu.io/consumes":"a"}},"spec":{"containers":[{"name":"a"}]}}`)
	f.Add(`{"kind":"CronJob","metadata":{"annotations":{"tengu.io/consumes":"a"}},"spec":{"jobTemplate":{"spec":{"template":{}}}}}`)
	f.Add(`{"kind":"Pod","metadata":null,"spec":{"initContainers":[null]}}`)
	f.Fuzz(func(t *testing.T, manifest string) {
		out, _, err := injection.Inject(plain(), []byte(manifest), nil)
		if err != nil {
			return
		}
		_, err = injection.Uninject(out)
		require.NoError(t, err)
	})
}
