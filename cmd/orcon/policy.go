package main

import (
	"fmt"
	"os"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/adapter/policy"
)

// readPolicy returns the rules of a file; "" is a policy without any.
func readPolicy(file string) (*policy.Policy, error) {
	if file == "" {
		return policy.Compile(nil)
	}
	text, err := os.ReadFile(file) //nolint:gosec // the user names it
	if err != nil {
		return nil, fmt.Errorf("cannot read the policy: %w", err)
	}
	rules, err := policy.Parse(text)
	if err != nil {
		return nil, err
	}
	return policy.Compile(rules)
}
