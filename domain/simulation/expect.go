package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gitlab.ilabt.imec.be/tengu/orcon/domain/condition"
	"gitlab.ilabt.imec.be/tengu/orcon/domain/conversation"
)

// expectHears compares what a unit heard since it was last compared.
func expectHears(w *world, s step) error {
	a, err := w.unit(s.words["UNIT"])
	if err != nil {
		return err
	}
	got := a.log
	a.log = nil
	return s.compare(got)
}

// expectSees compares a bag as one unit sees it, or the refusal.
func expectSees(w *world, s step) error {
	a, err := w.living(s)
	if err != nil {
		return err
	}
	r, err := w.relationCalled(s.words["ID"])
	if err != nil {
		return err
	}
	snapshot, err := a.snapshot(w.now)
	if err != nil {
		return err
	}
	bag, err := conversation.Read(snapshot, conversation.Address{Relation: r.UID, Owner: s.words["OWNER"]})
	var got []string
	for _, key := range sortedKeys(bag) {
		got = append(got, key+": "+bag[key])
	}
	if err != nil {
		got = []string{string(conversation.RefusalOf(err)) + ": " + err.Error()}
	}
	return s.compare(got)
}

func expectRelations(w *world, s step) error {
	var got []string
	for _, r := range values(w.relations) {
		got = append(got, fmt.Sprintf("%d %s %s%s", r.State.ID, r.Requirer, r.Provider.Written(namespace), stateOf(r.Relation)))
	}
	slices.SortFunc(got, func(a, b string) int {
		return strings.Compare(fmt.Sprintf("%10s", strings.Fields(a)[0]), fmt.Sprintf("%10s", strings.Fields(b)[0]))
	})
	return s.compare(got)
}

func expectUnits(w *world, s step) error {
	record, err := w.record(s.words["NAME"])
	if err != nil {
		return err
	}
	var got []string
	for _, u := range w.records[record].State.Units {
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s/%d %s", record, u.Number, u.Gone)))
	}
	return s.compare(got)
}

func (w *world) record(name string) (string, error) {
	if _, there := w.records[name]; !there {
		return name, fmt.Errorf("there is no record of an application %s%s", name, suggestion(name, sortedKeys(w.records)))
	}
	return name, nil
}

func expectLeader(w *world, s step) error {
	got := "none"
	if l := w.leaders[s.words["NAME"]]; l.Term > 0 && l.Expires.After(w.now) {
		got = conversation.Unit{Application: s.words["NAME"], Number: l.Unit}.String()
	}
	if got != s.words["UNIT"] {
		return &differenceError{[]string{s.words["UNIT"]}, []string{got}}
	}
	return nil
}

// conditions returns those of an application, or of relation:ID.
func (w *world) conditions(name string) ([]condition.Condition, error) {
	if id, ok := strings.CutPrefix(name, "relation:"); ok {
		r, err := w.relationCalled(id)
		return r.State.Conditions, err
	}
	_, err := w.record(name)
	return w.records[name].State.Conditions, err
}

func expectCondition(w *world, s step) error {
	all, err := w.conditions(s.words["NAME"])
	if err != nil {
		return err
	}
	c, there := condition.Find(all, condition.Type(s.words["TYPE"]))
	if !there {
		return fmt.Errorf("there is no condition %s", s.words["TYPE"])
	}
	if c.Type == condition.Ready {
		c = condition.Why(all)
	}
	status := map[bool]string{true: "True", false: "False"}[c.True]
	if want, got := s.words["STATUS"]+" "+s.words["REASON"], status+" "+c.Reason; want != got {
		return &differenceError{[]string{want}, []string{got + ": " + c.Message}}
	}
	if len(s.expected) == 0 {
		return nil
	}
	return s.compare([]string{c.Message})
}

func expectNoCondition(w *world, s step) error {
	all, err := w.conditions(s.words["NAME"])
	if c, there := condition.Find(all, condition.Type(s.words["TYPE"])); err == nil && there {
		err = fmt.Errorf("there is one: %s: %s", c.Reason, c.Message)
	}
	return err
}

func expectRollouts(w *world, s step) error {
	if got := strconv.Itoa(w.rollouts[s.words["NAME"]]); got != s.words["TIMES"] {
		return &differenceError{[]string{s.words["TIMES"]}, []string{got}}
	}
	return nil
}

func expectOnTheWay(w *world, s step) error {
	a, err := w.unit(s.words["UNIT"])
	if err != nil {
		return err
	}
	if got := strconv.Itoa(len(a.waiting)); got != s.words["COUNT"] {
		return &differenceError{[]string{s.words["COUNT"]}, []string{got}}
	}
	return nil
}
