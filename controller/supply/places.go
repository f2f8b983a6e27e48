package supply

import (
	"context"
	"slices"
	"sync"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/queue"
)

// places are where work runs, a few at a time, in the order that domain/queue decides.
type places struct {
	limits queue.Limits

	mu      sync.Mutex
	running []queue.Job
	waiting []*ticket
	stored  map[queue.Job]int64
}

// ticket is a job that waits for a place.
type ticket struct {
	job queue.Job
	// called is closed when the job has a place.
	called chan struct{}
}

func newPlaces(limits queue.Limits) *places {
	return &places{limits: limits, stored: map[queue.Job]int64{}}
}

// enter takes a place, which its user leaves.
func (p *places) enter(ctx context.Context, job queue.Job) error {
	t := &ticket{job, make(chan struct{})}
	p.mu.Lock()
	p.waiting = append(p.waiting, t)
	p.call()
	p.mu.Unlock()
	select {
	case <-t.called:
		return nil
	case <-ctx.Done():
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.waiting, t); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	} else {
		p.remove(job)
	}
	p.call()
	return context.Cause(ctx)
}

// leave gives a place back. The result of the job takes so many bytes until it is freed.
func (p *places) leave(job queue.Job, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(job)
	p.store(job, size)
	p.call()
}

// free notes that a result is used up.
func (p *places) free(job queue.Job, size int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.store(job, -size)
	p.call()
}

// store changes what is stored.
func (p *places) store(job queue.Job, size int64) {
	if p.stored[job] += size; p.stored[job] == 0 {
		delete(p.stored, job)
	}
}

// remove ends a running job.
func (p *places) remove(job queue.Job) {
	i := slices.Index(p.running, job)
	p.running = slices.Delete(p.running, i, i+1)
}

// call starts all jobs that may start.
func (p *places) call() {
	for {
		s := queue.State{Running: p.running, Stored: p.stored}
		for _, t := range p.waiting {
			s.Waiting = append(s.Waiting, t.job)
		}
		i, ok := p.limits.Next(s)
		if !ok {
			return
		}
		t := p.waiting[i]
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.running = append(p.running, t.job)
		close(t.called)
	}
}
