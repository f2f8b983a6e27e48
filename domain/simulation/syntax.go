package simulation

import (
	"fmt"
	"slices"
)

// command is one of the commands that a handler is made of.
//
//sumtype:decl
type command interface{ command() }

// simple is a call of a tool or of a builtin.
type simple struct{ words []word }

// chain runs right after left, depending on how left ended.
type chain struct {
	left, right command
	operator    string
}

// negated ends as its command does not.
type negated struct{ of command }

// choice is if, elif and else.
type choice struct {
	when            []command
	then, otherwise []command
}

// loop is for … in … do … done.
type loop struct {
	name string
	over []word
	body []command
}

func (simple) command()  {}
func (chain) command()   {}
func (negated) command() {}
func (choice) command()  {}
func (loop) command()    {}

// parser reads commands.
type parser struct {
	tokens []token
	at     int
}

func parseScript(text string) ([]command, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	all, err := p.list()
	if err == nil && p.at < len(p.tokens) {
		err = fmt.Errorf("%w: %q stands alone", errScript, p.reserved())
	}
	return all, err
}

// reserved returns the next token if it is text that is not quoted.
func (p *parser) reserved() string {
	if p.at >= len(p.tokens) || p.tokens[p.at].operator != "" {
		return ""
	}
	return p.tokens[p.at].word.plain()
}

func (p *parser) operator(text string) bool {
	if p.at < len(p.tokens) && p.tokens[p.at].operator == text {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	for p.operator(";") { // ends the command before
		continue
	}
	if p.reserved() != text {
		return fmt.Errorf("%w: %q is missing", errScript, text)
	}
	p.at++
	return nil
}

// list reads commands until a word that ends them.
func (p *parser) list() ([]command, error) {
	var all []command
	for {
		for p.operator(";") { // one or several
			continue
		}
		if p.at >= len(p.tokens) || slices.Contains([]string{"then", "elif", "else", "fi", "do", "done"}, p.reserved()) {
			return all, nil
		}
		c, err := p.chain()
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
}

func (p *parser) chain() (command, error) {
	left, err := p.one()
	for err == nil && p.at < len(p.tokens) && (p.tokens[p.at].operator == "&&" || p.tokens[p.at].operator == "||") {
		operator := p.tokens[p.at].operator
		p.at++
		for p.operator(";") { // a new line after it
			continue
		}
		var right command
		right, err = p.one()
		left = chain{left, right, operator}
	}
	return left, err
}

func (p *parser) one() (command, error) {
	switch p.reserved() {
	case "!":
		p.at++
		c, err := p.one()
		return negated{c}, err
	case "if":
		p.at++
		return p.choice()
	case "for":
		p.at++
		return p.loop()
	}
	var words []word
	for p.at < len(p.tokens) && p.tokens[p.at].operator == "" {
		words = append(words, p.tokens[p.at].word)
		p.at++
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("%w: a command is missing", errScript)
	}
	return simple{words}, nil
}

func (p *parser) choice() (command, error) {
	c := choice{}
	var err error
	if c.when, err = p.list(); err != nil {
		return nil, err
	}
	if err = p.expect("then"); err != nil {
		return nil, err
	}
	if c.then, err = p.list(); err != nil {
		return nil, err
	}
	switch p.reserved() {
	case "elif":
		p.at++
		next, err := p.choice()
		c.otherwise = []command{next}
		return c, err
	case "else":
		p.at++
		if c.otherwise, err = p.list(); err != nil {
			return nil, err
		}
	}
	return c, p.expect("fi")
}

func (p *parser) loop() (command, error) {
	l := loop{name: p.reserved()}
	p.at++
	if err := p.expect("in"); err != nil || l.name == "" {
		return nil, fmt.Errorf("%w: write for NAME in WORDS; do", errScript)
	}
	for p.at < len(p.tokens) && p.tokens[p.at].operator == "" {
		l.over = append(l.over, p.tokens[p.at].word)
		p.at++
	}
	if err := p.expect("do"); err != nil {
		return nil, err
	}
	var err error
	if l.body, err = p.list(); err != nil {
		return nil, err
	}
	return l, p.expect("done")
}
