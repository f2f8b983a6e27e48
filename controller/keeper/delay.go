package keeper

import (
	"fmt"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/controller/keeper/exchange"
)

// delay is why the state of a template that has ended is not stored yet, for renewals.
type delay struct {
	mutex sync.Mutex
	why   string
}

// of returns a call that notes why it fails, until it succeeds.
func (d *delay) of(what string, call func() error) func() error {
	return func() error {
		err := call()
		d.mutex.Lock()
		defer d.mutex.Unlock()
		if d.why = ""; err != nil {
			d.why = fmt.Sprintf("cannot %s: %v", what, err)
		}
		return err
	}
}

// hold notes that the container of a template that has failed is held.
func (d *delay) hold(h exchange.Failed) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.why = fmt.Sprintf("it failed with exit code %d, and its container is held for %s: a cancel ends that", h.Code, h.Hold)
}

// reason returns the reason; "" for none.
func (d *delay) reason() string {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.why
}
