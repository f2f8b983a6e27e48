package conversation_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

func TestUnanswered(t *testing.T) {
	refusal := func(wait time.Duration) error {
		return fmt.Errorf("cannot do it: %w", &conversation.Error{Kind: conversation.NotYet, Message: "no", Cure: "wait", Wait: wait})
	}
	tests := map[string]struct {
		err  error
		want bool
	}{
		"Answered":    {nil, false},
		"Refused":     {refusal(0), false},
		"PutOff":      {refusal(time.Second), true},
		"Unreachable": {errors.New("connection refused"), true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, conversation.Unanswered(test.err)) })
	}
}
