package main

import (
	"fmt"
	"go/constant"
	"time"
)

// number, size and span write the value of a constant: as it is, in bytes, or as a
// time.
func (c checkout) number(folder, name string) (string, error) {
	n, err := c.integer(folder, name)
	return fmt.Sprint(n), err
}

func (c checkout) size(folder, name string) (string, error) {
	n, err := c.integer(folder, name)
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20), err
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10), err
	}
	return fmt.Sprintf("%d bytes", n), err
}

func (c checkout) span(folder, name string) (string, error) {
	n, err := c.integer(folder, name)
	d := time.Duration(n)
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if d%u.of == 0 {
			return fmt.Sprintf("%d %s", d/u.of, u.name), err
		}
	}
	return d.String(), err
}

// integer reads a constant of a folder.
func (c checkout) integer(folder, name string) (int64, error) {
	constants, err := c.constants(folder)
	if err != nil {
		return 0, err
	}
	v, err := value(constants, name)
	if err != nil {
		return 0, fmt.Errorf("cannot read %s in %s: %w", name, folder, err)
	}
	n, _ := constant.Int64Val(v)
	return n, nil
}
