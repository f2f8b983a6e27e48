package tool

import (
	"slices"
	"time"
)

// changeFlags are the flags that say what is new of a secret.
type changeFlags struct {
	label, description, file string
	owner, rotate, expire    string
	pairs                    []contentPair
}

func (c *changeFlags) declare(f *flags) {
	f.StringVar(&c.label, "label", "", "the owner's `name` for the secret")
	f.StringVar(&c.description, "description", "", "`text` for people")
	f.StringVar(&c.owner, "owner", string(OwnedByApplication), "`whose` the secret is: application or unit")
	f.StringVar(&c.rotate, "rotate", "", "how `often` to be asked for a new revision: never, hourly, daily, weekly, monthly, quarterly or yearly")
	f.StringVar(&c.expire, "expire", "", "`when` the revision ends: 24h, or 2030-01-01T06:00:00")
	f.StringVar(&c.file, "file", "", "a YAML `file` of keys and values, or - for standard input")
}

func (c *changeFlags) take(args []string) (err error) {
	switch {
	case c.owner != string(OwnedByApplication) && c.owner != string(OwnedByUnit):
		return misuse("write application or unit", "secret owner not valid")
	case c.rotate != "" && !slices.Contains(rotations(), Rotation(c.rotate)):
		return misuse("see secret-add --help", "rotate policy not valid")
	}
	if _, err := parseExpire(c.expire, time.Time{}); err != nil {
		return err
	}
	c.pairs, err = parseContent(args)
	return err
}

func (c *changeFlags) reads() []string { return append(optional(c.file), files(c.pairs)...) }

// change returns what is new, with what was read.
func (c *changeFlags) change(s session) (SecretChange, error) {
	content, err := s.content(c.pairs, c.file)
	if err != nil {
		return SecretChange{}, err
	}
	expire, err := parseExpire(c.expire, s.Now)
	return SecretChange{Content: content, Label: c.label, Description: c.description, Rotation: Rotation(c.rotate), Expire: expire}, err
}

// parseExpire reads a time, in UTC where no zone stands, or a duration from now.
// Without a text it is zero.
func parseExpire(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	after, err := time.ParseDuration(text)
	if err != nil || after <= 0 {
		return time.Time{}, misuse("write a duration such as 24h or a time such as 2030-01-01T06:00:00", "expire time or duration not valid")
	}
	return now.Add(after).UTC(), nil
}
