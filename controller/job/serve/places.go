package serve

import (
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// portion is a part of a body, in bytes, and portionWithin how long it may take. A sender that is slower loses its place.
	portion       = 1 << 20
	portionWithin = 30 * time.Second
)

// Places are those of bodies that are received at once. They are shared out between tenants: one that sends slowly, or
// much, keeps out no other.
type Places struct {
	most   int
	within time.Duration

	mutex sync.Mutex
	// taken has the places in the order in which they were taken.
	taken []*place
}

// NewPlaces returns so many places.
func NewPlaces(most int) *Places { return &Places{most: most, within: portionWithin} }

// place is that of one body.
type place struct {
	io.ReadCloser

	tenant  string
	control *http.ResponseController
	within  time.Duration
	// left is how much of a portion has not come, lost that another tenant has the place now.
	left int
	lost atomic.Bool
}

// Take gives the body of a request a place until leave is called. If all are taken, the tenant with the most gives its
// oldest up to one that has fewer; else the error says to try again.
func (p *Places) Take(w http.ResponseWriter, r *http.Request, tenant string) (leave func(), err error) {
	taken := &place{ReadCloser: r.Body, tenant: tenant, control: http.NewResponseController(w), within: p.within}
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.taken) >= p.most {
		oldest := p.surplus(tenant)
		if oldest == nil {
			return nil, errBusy
		}
		p.remove(oldest)
		oldest.lose()
	}
	p.taken = append(p.taken, taken)
	r.Body = taken
	return func() {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.remove(taken)
	}, nil
}

// surplus returns the oldest place of the tenant with the most, if that has more than another one would have with one
// more; else nil.
func (p *Places) surplus(tenant string) (oldest *place) {
	count := map[string]int{}
	for _, one := range p.taken {
		count[one.tenant]++
	}
	most := count[tenant] + 1
	for _, one := range p.taken {
		if count[one.tenant] > most {
			most, oldest = count[one.tenant], one
		}
	}
	return oldest
}

func (p *Places) remove(gone *place) {
	for i, one := range p.taken {
		if one == gone {
			p.taken = append(p.taken[:i], p.taken[i+1:]...)
			return
		}
	}
}

// lose ends the body.
func (b *place) lose() {
	b.lost.Store(true)
	_ = b.control.SetReadDeadline(time.Unix(1, 0)) // HTTP/1 and HTTP/2 can
}

// Read implements io.Reader.
func (b *place) Read(into []byte) (int, error) {
	if b.left <= 0 {
		b.left = portion
		_ = b.control.SetReadDeadline(time.Now().Add(b.within)) // as above
	}
	if b.lost.Load() {
		return 0, errBusy
	}
	n, err := b.ReadCloser.Read(into)
	b.left -= n
	if err != nil && !b.lost.Load() {
		_ = b.control.SetReadDeadline(time.Time{}) // what follows the body may take longer
	}
	return n, err
}
