package tool

import "maps"

// relationSet writes keys of the unit's or the application's bag.
type relationSet struct {
	relation string
	app      bool
	file     string
	keys     map[string]string
}

func (t *relationSet) declare(f *flags) {
	f.relation(&t.relation, "the `relation`, as 7 or db:7")
	f.BoolVar(&t.app, "app", false, "the application's bag, which its leader writes")
	f.StringVar(&t.file, "file", "", "a YAML `file` of keys and values, or - for standard input")
	f.String("format", "", "nothing")
	f.hidden("format")
}

func (t *relationSet) take(args []string) (err error) {
	t.keys, err = parsePairs(args)
	return err
}

func (t *relationSet) reads() []string { return optional(t.file) }

// run writes what stands in the file, and over it what was given as arguments.
func (t *relationSet) run(s session) (any, error) {
	keys := map[string]string{}
	if t.file != "" {
		content, err := s.file(t.file)
		if err != nil {
			return nil, err
		}
		if keys, err = parseMap(fileName(t.file), content); err != nil {
			return nil, err
		}
	}
	maps.Copy(keys, t.keys)
	r, err := s.relation(t.relation)
	if err != nil {
		return nil, err
	}
	return nil, s.Relations.Set(r.UID, t.app, keys)
}
