package negotiation_test

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/relation"
	oracle "gitlab.ilabt.imec.be/tengu/orcon/test/oracle/negotiation"
)

// likeBefore proves that the oracle decides the same, in the same order.
func likeBefore(t require.TestingT, s relation.Snapshot, decisions []relation.Decision, wake time.Time) {
	want, when := oracle.Negotiate(as[oracle.Snapshot](s))
	var got []oracle.Decision
	for _, d := range decisions {
		got = append(got, ofOracle(d))
	}
	assert.Equal(t, want, got)
	assert.Equal(t, when, wake)
	compared.Add(1)
}

// compared counts the negotiations that both have decided.
var compared atomic.Int64 //nolint:gochecknoglobals // one count of all tests

// ofOracle returns a decision as the oracle's type of the same name.
func ofOracle(decision relation.Decision) oracle.Decision {
	switch d := decision.(type) {
	case relation.Publish:
		return as[oracle.Publish](d)
	case relation.Remember:
		return as[oracle.Remember](d)
	case relation.Relate:
		return as[oracle.Relate](d)
	case relation.Update:
		return as[oracle.Update](d)
	case relation.Finish:
		return as[oracle.Finish](d)
	case relation.Release:
		return as[oracle.Release](d)
	case relation.Deliver:
		return as[oracle.Deliver](d)
	case relation.Answer:
		return as[oracle.Answer](d)
	case relation.Withdraw:
		return as[oracle.Withdraw](d)
	case relation.Forget:
		return as[oracle.Forget](d)
	case relation.Mark: // it has no such decision
		panic("the oracle knows nothing unreadable")
	default:
		panic(fmt.Sprintf("the oracle does not know %T", decision))
	}
}

// as returns a copy of v as another type with the same fields.
func as[To any](v any) To {
	from := reflect.New(reflect.TypeOf(v)).Elem()
	from.Set(reflect.ValueOf(v))
	var to To
	translate(from, reflect.ValueOf(&to).Elem())
	return to
}

func translate(from, to reflect.Value) {
	if from.Type() == to.Type() {
		to.Set(from)
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		for i := range to.NumField() {
			translate(settable(from.FieldByName(to.Type().Field(i).Name)), settable(to.Field(i)))
		}
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			translate(from.Index(i), to.Index(i))
		}
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			translate(from.Elem(), to.Elem())
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
}

// settable returns a field that may be read and set, although it is not exported.
func settable(field reflect.Value) reflect.Value {
	return reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem()
}
