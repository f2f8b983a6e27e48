package room

import (
	"errors"
	"strings"
	"testing"
)

func TestPut(t *testing.T) {
	var s Shelf
	for _, name := range []string{"apple", "pear", "pear", "plum"} {
		if err := s.Put(name, 2); err != nil {
			t.Fatal(err)
		}
	}
	if all := strings.Join(s.names, " "); all != "apple pear" {
		t.Error(all)
	}
	if err := s.Put("", 3); !errors.Is(err, errUnnamed) || len(s.names) != 2 {
		t.Error(err, s.names)
	}
	if s.has("plum") {
		t.Error("plum is there")
	}
}

func TestPutTwice(t *testing.T) {
	var s Shelf
	for range 2 {
		if err := s.Put("apple", 2); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.names) != 1 {
		t.Error(s.names)
	}
}
