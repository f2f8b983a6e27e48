package room

import "testing"

func TestPut(t *testing.T) {
	var s Shelf
	_ = s.Put("apple", 2)
	_ = s.Put("apple", 2)
	_ = s.Put("", 2)
}
