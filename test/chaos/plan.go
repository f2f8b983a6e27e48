package chaos

import "math/rand/v2"

// Kind names a step of a plan.
type Kind string

// The faults, and the changes that people make meanwhile.
const (
	AgentKilled       Kind = "agent killed"
	AgentCut          Kind = "agent cut off"
	ControllerKilled  Kind = "controller killed"
	ControllerStopped Kind = "controller stopped"
	ControllerCut     Kind = "controller cut off from the API server"
	WebhookKilled     Kind = "webhook killed"
	APIServerKilled   Kind = "API server killed"
	EtcdKilled        Kind = "etcd killed"
	CertificateNew    Kind = "certificate replaced"
	PodDeleted        Kind = "pod deleted"
	KubeletKilled     Kind = "kubelet killed"
	NodeCut           Kind = "node cut off"

	RelationEnded Kind = "relation ended"
	TenantAdded   Kind = "tenant added"
)

// Fault reports whether the step is a fault; the others are changes that people make.
func (k Kind) Fault() bool { return k != RelationEnded && k != TenantAdded }

// Share is how often a kind occurs in each round of a plan.
type Share struct {
	Kind  Kind
	Times int
}

// Step is one fault or change.
type Step struct {
	Kind Kind
	// Target chooses among what is there, modulo its number.
	Target int
	// Hold is how long a cut lasts and a pause before the next step, as a part of the longest, in [0, 1).
	Hold float64
}

// Plan is an endless list of steps, a function of its seed and its shares alone. It consists of rounds with the same
// number of steps of each kind, so that also a short run has every kind.
type Plan struct {
	random *rand.Rand
	round  []Kind
	next   int
}

// NewPlan returns the plan of a seed.
func NewPlan(seed uint64, shares ...Share) *Plan {
	p := &Plan{random: rand.New(rand.NewPCG(seed, 0))}
	for _, s := range shares {
		for range s.Times {
			p.round = append(p.round, s.Kind)
		}
	}
	p.next = len(p.round)
	return p
}

// Next returns the next step.
func (p *Plan) Next() Step {
	if p.next == len(p.round) {
		p.random.Shuffle(len(p.round), func(i, j int) { p.round[i], p.round[j] = p.round[j], p.round[i] })
		p.next = 0
	}
	p.next++
	return Step{Kind: p.round[p.next-1], Target: p.random.IntN(1 << 16), Hold: p.random.Float64()}
}

// Round returns the number of steps of a round.
func Round(shares []Share) (steps int) {
	for _, s := range shares {
		steps += s.Times
	}
	return steps
}
