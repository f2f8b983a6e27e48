package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// imageRefs are refs of upstreams by environment. It implements flag.Value.
type imageRefs map[string]string

// Set replaces the refs by those of a text such as "stage=main,prod=v1".
func (r *imageRefs) Set(text string) error {
	all := imageRefs{}
	for one := range strings.FieldsFuncSeq(text, func(c rune) bool { return c == ',' || c == ' ' }) {
		environment, ref, _ := strings.Cut(one, "=")
		if environment == "" || ref == "" {
			return errors.New("use ENVIRONMENT=REF, such as stage=main")
		}
		all[environment] = ref
	}
	*r = all
	return nil
}

// String returns the text that Set reads.
func (r *imageRefs) String() string {
	var all []string
	for _, environment := range slices.Sorted(maps.Keys(*r)) {
		all = append(all, environment+"="+(*r)[environment])
	}
	return strings.Join(all, ",")
}
