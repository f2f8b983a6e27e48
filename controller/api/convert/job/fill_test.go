package job

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/job"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/run"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/tooltype"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/job/workspace"
)

// vocabulary returns the words that a type of the domain has, besides none.
func vocabulary() map[reflect.Type][]string {
	words := map[reflect.Type][]string{
		reflect.TypeFor[job.Cause]():     {string(job.Killed), string(job.OutOfMemory), string(job.NotStarted), string(job.Unreported)},
		reflect.TypeFor[tooltype.Type](): {string(tooltype.OpenTofu), string(tooltype.Ansible)},
		reflect.TypeFor[job.Safety]():    {string(job.ReadOnly), string(job.Idempotent), string(job.Exclusive)},
		reflect.TypeFor[workspace.Reason](): {
			string(workspace.Silent), string(workspace.Vanished), string(workspace.CaptureFailed), string(workspace.StateTooLarge),
		},
	}
	for _, o := range job.Outcomes() {
		words[reflect.TypeFor[job.Outcome]()] = append(words[reflect.TypeFor[job.Outcome]()], string(o))
	}
	for _, p := range phases() {
		words[reflect.TypeFor[run.Phase]()] = append(words[reflect.TypeFor[run.Phase]()], string(p))
	}
	return words
}

// fill draws a value for each field of a value, also for fields that are added later.
func fill(t *rapid.T, v reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		if rapid.Bool().Draw(t, "time") {
			v.Set(reflect.ValueOf(time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "seconds"), 0).UTC()))
		}
		return
	case reflect.TypeFor[any]():
		v.Set(reflect.ValueOf(rapid.SampledFrom([]any{
			"<x>", json.Number("9007199254740993"), json.Number("1.5"), true, map[string]any{"a": []any{json.Number("1"), nil}},
		}).Draw(t, "any")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	case reflect.Slice:
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(t, e)
			v.Set(reflect.Append(v, e))
		}
	case reflect.Map:
		if rapid.Bool().Draw(t, "map") {
			e := reflect.New(v.Type().Elem()).Elem()
			fill(t, e)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf(rapid.StringMatching("[A-Z]{1,3}").Draw(t, "key")), e)
		}
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.Int64Range(0, 1<<20).Draw(t, "number"))
	case reflect.String:
		words, known := vocabulary()[v.Type()]
		if !known {
			words = []string{"a", "b", "sha256:c"}
		}
		v.SetString(rapid.SampledFrom(append(words, "")).Draw(t, "text"))
	default:
		t.Fatalf("fields of type %s are not drawn", v.Type())
	}
}

// stored returns an object as it comes back from the API.
func stored[T any](t require.TestingT, o *T) *T {
	text, err := json.Marshal(o)
	require.NoError(t, err)
	back := new(T)
	require.NoError(t, json.Unmarshal(text, back))
	return back
}

// A drawn value has something in every field now and then: otherwise the property proves nothing for it.
func TestFillReachesEachField(t *testing.T) {
	missing := map[string]bool{}
	rapid.Check(t, func(t *rapid.T) {
		var l workspace.Lock
		fill(t, reflect.ValueOf(&l).Elem())
		v := reflect.ValueOf(l)
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			if _, seen := missing[name]; !seen || !v.Field(i).IsZero() {
				missing[name] = v.Field(i).IsZero()
			}
		}
	})
	for name, is := range missing {
		assert.False(t, is, name)
	}
}
