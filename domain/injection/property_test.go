package injection_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	evanphx "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/injection"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/jsonpatch"
)

// drawPod draws a pod with parts that this program does not know.
func drawPod(t *rapid.T) map[string]any {
	metadata := map[string]any{"name": "web", "annotations": map[string]any{
		"tengu.io/consumes":  rapid.SampledFrom([]string{"sse", "sse,db", "db:postgresql@1?!2", "a,b,c"}).Draw(t, "consumes"),
		"tengu.io/relations": "x", "other": rapid.String().Draw(t, "other"),
	}}
	if rapid.Bool().Draw(t, "default") {
		metadata["annotations"].(map[string]any)["kubectl.kubernetes.io/default-container"] = "c0" //nolint:forcetypeassert // as above
	}
	spec := map[string]any{"containers": drawContainers(t, 1, "c"), "futureField": drawAny(t, 3)}
	if rapid.Bool().Draw(t, "labels") {
		metadata["labels"] = map[string]any{"app": "web"}
	}
	if inits := drawContainers(t, 0, "i"); len(inits) > 0 {
		spec["initContainers"] = inits
	}
	if rapid.Bool().Draw(t, "volumes") {
		spec["volumes"] = []any{map[string]any{"name": "data", "futureVolume": drawAny(t, 2)}}
	}
	if rapid.Bool().Draw(t, "secrets") {
		spec["imagePullSecrets"] = []any{map[string]any{"name": "mine"}}
	}
	if rapid.Bool().Draw(t, "host") {
		spec["hostNetwork"] = true
	}
	if rapid.Bool().Draw(t, "root") {
		spec["securityContext"] = map[string]any{"runAsUser": json.Number("0")}
	}
	return map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": metadata, "spec": spec, "futureTop": drawAny(t, 2)}
}

func drawContainers(t *rapid.T, least int, prefix string) []any {
	var list []any
	for i := range rapid.IntRange(least, 3).Draw(t, "containers") {
		c := map[string]any{"name": fmt.Sprintf("%s%d", prefix, i), "future": drawAny(t, 2)}
		if rapid.IntRange(0, 4).Draw(t, "proxy") == 0 {
			c["name"], c["restartPolicy"] = "istio-proxy", "Always"
		}
		if rapid.Bool().Draw(t, "env") {
			c["env"] = []any{map[string]any{"name": rapid.SampledFrom([]string{"A", "DB_HOST", "SSE", "SERVICE_BINDING_ROOT"}).Draw(t, "name"), "value": "/bindings"}}
		}
		if rapid.Bool().Draw(t, "mounts") {
			c["volumeMounts"] = []any{map[string]any{"name": "data", "mountPath": rapid.SampledFrom([]string{"/data", "/bindings/x", "/bindings"}).Draw(t, "path"), "future": drawAny(t, 1)}}
		}
		list = append(list, c)
	}
	return list
}

// drawAny draws any JSON, with numbers that a float would not keep.
func drawAny(t *rapid.T, depth int) any {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	switch {
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return json.Number(rapid.SampledFrom([]string{"0", "1.50", "-1e400", "9007199254740993"}).Draw(t, "number"))
	case kind <= 4 || depth == 0:
		return rapid.String().Draw(t, "text")
	case kind == 5:
		return []any{drawAny(t, depth-1), drawAny(t, depth-1)}
	default:
		return map[string]any{"x": drawAny(t, depth-1), "y~/": drawAny(t, depth-1)}
	}
}

func encode(t require.TestingT, v any) []byte {
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return out
}

func plain() injection.Settings {
	return injection.Settings{Config: injection.DefaultConfig(), Namespace: "orcon-system"}
}

// INJECTION.md I2, I6, I15: a patch leaves what it does not know as it is, byte
// for byte; the library of the API server and the offline command make the same
// of it; twice is once; and it can be undone.
func TestInjectionProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pod := encode(t, drawPod(t))
		var shape injection.Shape
		require.NoError(t, json.Unmarshal(pod, &shape))
		d := injection.For(plain(), "shop", &shape)
		require.NoError(t, d.Refused)
		require.NotNil(t, d.Injection)
		operations := injection.Operations("", &shape, d.Injection)
		for _, o := range operations {
			require.Equal(t, "add", o.Op)
		}
		patched := applied(t, pod, operations)

		offline, _, err := injection.Inject(plain(), pod, nil)
		require.NoError(t, err)
		require.Equal(t, string(canonical(t, patched)), string(canonical(t, offline)))

		var again injection.Shape
		require.NoError(t, json.Unmarshal(patched, &again))
		require.Equal(t, injection.AlreadyInjected, injection.For(plain(), "shop", &again).Skip.Reason)

		back, err := injection.Uninject(patched)
		require.NoError(t, err)
		require.Equal(t, string(canonical(t, pod)), string(canonical(t, back)), "unknown parts changed")
		twice, err := injection.Uninject(back)
		require.NoError(t, err)
		require.Equal(t, string(back), string(twice))
	})
}

func applied(t require.TestingT, document []byte, operations []jsonpatch.Operation) []byte {
	patch, err := evanphx.DecodePatch(jsonpatch.Append(nil, operations))
	require.NoError(t, err)
	out, err := patch.Apply(document)
	require.NoError(t, err)
	return out
}

// canonical sorts keys and keeps numbers as they are written.
func canonical(t require.TestingT, document []byte) []byte {
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var v any
	require.NoError(t, decoder.Decode(&v))
	return encode(t, v)
}
