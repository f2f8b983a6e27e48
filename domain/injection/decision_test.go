package injection_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
)

func shape(t *testing.T, manifest string) *injection.Shape {
	t.Helper()
	var s injection.Shape
	require.NoError(t, json.Unmarshal(toJSON(t, manifest), &s))
	return &s
}

// TestForSkips: a pod that gets nothing is told why (INJECTION.md I1, I6, I11,
// SAFETY.md D13, I21, I22).
func TestForSkips(t *testing.T) {
	declares := "metadata: {name: p, annotations: {tengu.io/consumes: sse, tengu.io/relations: x}}\n"
	tests := map[string]struct {
		why       string
		pod       string
		namespace string
		settings  func(*injection.Settings)
		want      injection.SkipReason
	}{
		"Undeclared":         {why: "nothing is asked for", pod: "metadata: {name: p}\nspec: {containers: [{name: a}]}", want: injection.Undeclared},
		"ProvidesOnly":       {why: "a provider without code needs no agent", pod: "metadata: {annotations: {tengu.io/provides: sse}}", want: injection.Undeclared},
		"Again":              {why: "I6: decided by the container, not by a label or annotation", pod: `{metadata: {labels: {tengu.io/injected: "true"}, annotations: {tengu.io/consumes: sse}}, spec: {initContainers: [{name: relation-agent}]}}`, want: injection.AlreadyInjected},
		"AnnotatedOut":       {why: "the author's wish", pod: "metadata: {annotations: {tengu.io/consumes: sse, injector.tengu.io/inject: 'false'}}", want: injection.OptedOut},
		"LabelledOut":        {why: "the same by label, which an object selector can read", pod: "metadata: {labels: {injector.tengu.io/inject: 'false'}, annotations: {tengu.io/consumes: sse}}", want: injection.OptedOut},
		"Mirror":             {why: "only the kubelet can change it", pod: "metadata: {annotations: {tengu.io/consumes: sse, kubernetes.io/config.mirror: x}}", want: injection.MirrorPod},
		"WindowsByOS":        {why: "no agent for Windows", pod: declares + "spec: {os: {name: windows}}", want: injection.WindowsPod},
		"WindowsBySelector":  {why: "older way to say so", pod: declares + "spec: {nodeSelector: {kubernetes.io/os: windows}}", want: injection.WindowsPod},
		"WindowsByContext":   {why: "only Windows has these options", pod: declares + "spec: {securityContext: {windowsOptions: {}}}", want: injection.WindowsPod},
		"WindowsByAffinity":  {why: "a way to say so, too", pod: declares + "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}, {key: kubernetes.io/os, operator: In, values: [windows]}]}]}}}}", want: injection.WindowsPod},
		"VirtualByAffinity":  {why: "the same", pod: declares + "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: type, operator: In, values: [virtual-kubelet]}]}]}}}}", want: injection.VirtualNode},
		"EitherByAffinity":   {why: "it may run on Linux", pod: declares + "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: disk, operator: Exists}, {key: kubernetes.io/os, operator: In, values: [windows]}]}, {matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux]}]}]}}}}"},
		"BothByAffinity":     {why: "the same", pod: declares + "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: In, values: [linux, windows]}]}]}}}}"},
		"NoWindows":          {why: "it runs elsewhere", pod: declares + "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/os, operator: NotIn, values: [windows]}]}]}}}}"},
		"Orcon":              {why: "Orcon must start without Orcon", pod: declares, namespace: "orcon-system", want: injection.OrconItself},
		"System":             {why: "and so must the cluster", pod: declares, namespace: "kube-system", want: injection.OrconItself},
		"VirtualNode":        {why: "TRUST.md A5: it would start with empty variables", pod: declares + "spec: {nodeSelector: {type: virtual-kubelet}}", want: injection.VirtualNode},
		"Adopted":            {why: "TRUST.md A8: a pod of a controller has its data", pod: `{metadata: {ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]}, spec: {initContainers: [{name: relation-agent}]}}`, want: injection.AlreadyInjected},
		"Released":           {why: "TRUST.md A8: a copy that does not wait already", pod: `{spec: {initContainers: [{name: relation-agent, env: [{name: ORCON_GATE, value: none}]}]}}`, want: injection.AlreadyInjected},
		"OldCluster":         {why: "D13: its kubelets read no environment from files", pod: declares, settings: func(s *injection.Settings) { s.Unsupported = "1.34" }, want: injection.OldCluster},
		"MarkedButNotDone":   {why: "I22: a forged mark is no agent", pod: "metadata: {labels: {tengu.io/injected: 'true'}, annotations: {tengu.io/consumes: sse, tengu.io/relations: x, injector.tengu.io/status: injected}}\nspec: {containers: [{name: a}]}"},
		"HostNetwork":        {why: "I1: is injected", pod: declares + "spec: {hostNetwork: true, containers: [{name: a}]}"},
		"SharedProcesses":    {why: "is injected", pod: declares + "spec: {shareProcessNamespace: true, containers: [{name: a}]}"},
		"EphemeralContainer": {why: "is of no concern", pod: declares + "spec: {containers: [{name: a}], ephemeralContainers: [{name: b}]}"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := plain()
			if tc.settings != nil {
				tc.settings(&s)
			}
			namespace := tc.namespace
			if namespace == "" {
				namespace = "shop"
			}
			d := injection.For(s, namespace, shape(t, tc.pod))
			require.NoError(t, d.Refused)
			assert.Equal(t, tc.want, d.Skip.Reason, tc.why)
			assert.Equal(t, tc.want == "", d.Injection != nil, tc.why)
			assert.Equal(t, tc.want == "", d.Skip.Message == "", "a skip says why")
		})
	}
}

// TestForRefuses: what is wrong in the pod alone is refused at the person who
// wrote it, and does not stop what a controller makes (SAFETY.md I27, P8, P9).
func TestForRefuses(t *testing.T) {
	owned := ", ownerReferences: [{kind: ReplicaSet, name: web, controller: true}]"
	tests := map[string]struct {
		why      string
		metadata string
		spec     string
		bare     string
		owned    string
	}{
		"OneWrongOfTwo":  {why: "the right one works for the controller's pod", metadata: "tengu.io/consumes: 'sse,D B'", bare: `"D B"`},
		"AllWrong":       {why: "the pod would start bare", metadata: "tengu.io/consumes: 'D B'", bare: `"D B"`, owned: `"D B"`},
		"ConsumesWrong":  {why: "it would start without what it needs, whatever it provides", metadata: "tengu.io/provides: web, tengu.io/consumes: 'D B'", bare: `"D B"`, owned: `"D B"`},
		"HandlersRight":  {why: "a provider's handlers run, whatever is wrong beside them", metadata: "tengu.io/handlers: /h, injector.tengu.io/handler-image: i, injector.tengu.io/log-level: debug", bare: `"debug"`},
		"HandlersWrong":  {why: "nothing is left", metadata: "tengu.io/handlers: /h", bare: "in which image", owned: "in which image"},
		"ToolsRight":     {why: "the tools are there", metadata: "injector.tengu.io/tools: 'true', tengu.io/retain: soon", bare: `"soon"`},
		"Empty":          {why: "an empty list is a typing error", metadata: "tengu.io/consumes: ''", bare: "empty", owned: "empty"},
		"LoaderAsked":    {why: "P8", metadata: "tengu.io/consumes: ld, tengu.io/env: ld=preload", bare: "LD_PRELOAD"},
		"SameName":       {why: "P9", metadata: "tengu.io/consumes: db, tengu.io/env: 'db=a-b,a.b'", bare: "DB_A_B"},
		"Mode":           {why: "I11", metadata: "tengu.io/consumes: db, injector.tengu.io/mode: sidecat", bare: "sidecat"},
		"Inject":         {why: "a wish that is not understood must not be ignored", metadata: "tengu.io/consumes: db, injector.tengu.io/inject: 'no'", bare: "neither true, false nor required"},
		"TakenContainer": {why: "the API server would refuse it with a riddle", metadata: "tengu.io/consumes: db", spec: "containers: [{name: relation-agent}]", bare: "spec.containers[0].name", owned: "spec.containers[0].name"},
		"TakenMount":     {why: "SAFETY.md I28: one of them holds the agent's token", metadata: "tengu.io/consumes: db", spec: "containers: [{name: a}, {name: b, volumeMounts: [{name: data, mountPath: /data}, {name: orcon-identity, mountPath: /x}]}]", bare: "spec.containers[1].volumeMounts[1].name", owned: "spec.containers[1].volumeMounts[1].name"},
		"InitMount":      {why: "the same", metadata: "tengu.io/consumes: db", spec: "initContainers: [{name: a, volumeMounts: [{name: orcon-run, mountPath: /x}]}]", bare: "spec.initContainers[0].volumeMounts[0].name", owned: "spec.initContainers[0].volumeMounts[0].name"},
		"OnChange":       {why: "I24, and the right entries work for the controller's pod", metadata: "tengu.io/consumes: db, tengu.io/on-change: 'http://elsewhere:80/x'", bare: "write http::80/x"},
		"TakenVolume":    {why: "the same", metadata: "tengu.io/consumes: db", spec: "volumes: [{name: a}, {name: orcon-run}]", bare: "spec.volumes[1].name", owned: "spec.volumes[1].name"},
	}
	for name, tc := range tests {
		for made, want := range map[string]string{"": tc.bare, owned: tc.owned} {
			t.Run(name+map[bool]string{true: "/bare", false: "/owned"}[made == ""], func(t *testing.T) {
				d := injection.For(plain(), "shop", shape(t, "metadata: {annotations: {tengu.io/relations: x, "+tc.metadata+"}"+made+"}\nspec: {"+tc.spec+"}"))
				if want == "" {
					require.NoError(t, d.Refused, tc.why)
					assert.NotNil(t, d.Injection, tc.why)
					assert.NotEmpty(t, d.Told, "what is wrong is told")
					return
				}
				require.Error(t, d.Refused, tc.why)
				assert.Contains(t, d.Refused.Error(), want, tc.why)
				assert.Nil(t, d.Injection)
			})
		}
	}
}

// A pod that requires an agent does not start without one (TRUST.md A11).
func TestForRequires(t *testing.T) {
	tests := map[string]struct {
		why, metadata, spec string
		settings            func(*injection.Settings)
		refused             string
	}{
		"Undeclared": {why: "its keys were not copied", refused: `"required": the pod would start without an agent: the pod has no annotation tengu.io/consumes`},
		"Windows":    {why: "nor can it have one", metadata: ", tengu.io/consumes: db", spec: "os: {name: windows}", refused: "Windows"},
		"OldCluster": {why: "nor can any", metadata: ", tengu.io/consumes: db", settings: func(s *injection.Settings) { s.Unsupported = "the cluster is too old" }, refused: "the cluster is too old"},
		"Declared":   {why: "it gets its agent", metadata: ", tengu.io/consumes: db"},
		"Injected":   {why: "it has it", spec: "initContainers: [{name: relation-agent}]"},
		"Mirror":     {why: "it has started", metadata: ", kubernetes.io/config.mirror: x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := plain()
			if tc.settings != nil {
				tc.settings(&s)
			}
			d := injection.For(s, "shop", shape(t, "metadata: {annotations: {injector.tengu.io/inject: required"+tc.metadata+"}}\nspec: {"+tc.spec+"}"))
			if tc.refused == "" {
				require.NoError(t, d.Refused, tc.why)
				return
			}
			require.ErrorContains(t, d.Refused, tc.refused, tc.why)
			assert.Nil(t, d.Injection)
			assert.Empty(t, d.Skip)
		})
	}
}

// TestPreview: the author of a template hears what nobody reads at its pods
// (INJECTION.md I1, I14).
func TestPreview(t *testing.T) {
	declares := "metadata: {annotations: {tengu.io/consumes: sse}}\n"
	tests := map[string]struct {
		why  string
		pod  string
		want string
	}{
		"Nothing":   {why: "nothing declared, nothing to say", pod: "metadata: {}"},
		"Fine":      {why: "nothing wrong, nothing to say", pod: declares + "spec: {containers: [{name: a}]}"},
		"Windows":   {why: "would be skipped", pod: declares + "spec: {os: {name: windows}}", want: "Windows"},
		"OptedOut":  {why: "says two things", pod: "metadata: {annotations: {tengu.io/consumes: sse, injector.tengu.io/inject: 'false'}}", want: "opt out"},
		"Kept":      {why: "I14", pod: declares + "spec: {containers: [{name: a, env: [{name: SSE, value: x}]}]}", want: "SSE"},
		"Clash":     {why: "pods would be refused", pod: declares + "spec: {containers: [{name: relation-agent}]}", want: "will be refused"},
		"NoSuch":    {why: "a choice of nothing", pod: "metadata: {annotations: {tengu.io/consumes: sse, injector.tengu.io/containers: b}}\nspec: {containers: [{name: a}]}", want: "no such container"},
		"Required":  {why: "TRUST.md A11: they declare nothing, and must not start", pod: "metadata: {annotations: {injector.tengu.io/inject: required}}", want: "the pods will be refused: the pod has no annotation tengu.io/consumes"},
		"NoWindows": {why: "TRUST.md A11: they cannot have an agent, and must not start", pod: "metadata: {annotations: {tengu.io/consumes: sse, injector.tengu.io/inject: required}}\nspec: {os: {name: windows}}", want: "the pods will be refused: it is for Windows nodes"},
		"Injected":  {why: "done offline", pod: declares + "spec: {initContainers: [{name: relation-agent}]}"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			problems := injection.Preview(plain(), "shop", shape(t, tc.pod))
			if tc.want == "" {
				assert.Empty(t, problems, tc.why)
				return
			}
			require.Len(t, problems, 1, tc.why)
			assert.True(t, problems[0].Warning)
			assert.Contains(t, problems[0].Error(), tc.want, tc.why)
		})
	}
}
