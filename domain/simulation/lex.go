package simulation

import (
	"errors"
	"fmt"
	"strings"
)

// errScript says that a handler is written in more of the shell than is known here.
var errScript = errors.New("cannot read the handler")

// token is a word, or an operator: ";", "&&", "||" or the end.
type token struct {
	operator string
	word     word
}

// word is a word of the shell, before it is expanded.
type word []part

// part is a piece of a word: text, a variable or the output of a command.
type part struct {
	text     string
	variable string
	// otherwise is for a variable that is empty; script is the command's text.
	otherwise, script string
	isScript, quoted  bool
}

// plain returns the word if it is nothing but text that is not quoted.
func (w word) plain() string {
	if len(w) == 1 && !w[0].quoted && w[0].variable == "" && !w[0].isScript {
		return w[0].text
	}
	return ""
}

// lexer reads tokens of the small part of the POSIX shell that handlers need.
type lexer struct {
	text string
	at   int
}

func lex(text string) ([]token, error) {
	l := &lexer{text: text}
	var all []token
	for {
		t, more, err := l.next()
		if err != nil || !more {
			return all, err
		}
		all = append(all, t)
	}
}

func (l *lexer) peek(prefix string) bool { return strings.HasPrefix(l.text[l.at:], prefix) }

// next returns the next token.
func (l *lexer) next() (t token, more bool, err error) {
	for l.at < len(l.text) && (l.text[l.at] == ' ' || l.text[l.at] == '\t' || l.text[l.at] == '\r' || l.peek("\\\n")) {
		if l.peek("\\\n") {
			l.at++
		}
		l.at++
	}
	if l.peek("#") {
		end := strings.IndexByte(l.text[l.at:], '\n')
		if end < 0 {
			return t, false, nil
		}
		l.at += end
	}
	switch {
	case l.at >= len(l.text):
		return t, false, nil
	case l.peek("&&"), l.peek("||"):
		l.at += 2
		return token{operator: l.text[l.at-2 : l.at]}, true, nil
	case l.peek("\n"), l.peek(";"):
		l.at++
		return token{operator: ";"}, true, nil
	case l.peek("|"), l.peek("("), l.peek(")"), l.peek("<"), l.peek("`"):
		return t, false, fmt.Errorf("%w: %q is not known here; use tools, variables, $( ), [ ], if, for, && and ||",
			errScript, l.text[l.at:l.at+1])
	}
	t.word, err = l.word()
	return t, true, err
}

// word reads one word.
func (l *lexer) word() (word, error) {
	w := word{}
	for l.at < len(l.text) && !strings.ContainsRune(" \t\r\n;|()", rune(l.text[l.at])) && !l.peek("&&") {
		var err error
		switch c := l.text[l.at]; c {
		case '\'':
			err = l.single(&w)
		case '"':
			err = l.double(&w)
		case '$':
			err = l.dollar(&w, false)
		case '\\':
			l.at = min(l.at+2, len(l.text))
			w.add(l.text[l.at-1:l.at], true)
		default:
			w.add(string(c), false)
			l.at++
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *word) add(text string, quoted bool) {
	if last := len(*w) - 1; last >= 0 && (*w)[last].quoted == quoted && (*w)[last].variable == "" && !(*w)[last].isScript {
		(*w)[last].text += text
		return
	}
	*w = append(*w, part{text: text, quoted: quoted})
}

func (l *lexer) single(w *word) error {
	end := strings.IndexByte(l.text[l.at+1:], '\'')
	if end < 0 {
		return fmt.Errorf("%w: a quote is not closed", errScript)
	}
	w.add(l.text[l.at+1:l.at+1+end], true)
	l.at += end + 2
	return nil
}

func (l *lexer) double(w *word) error {
	l.at++
	w.add("", true)
	for l.at < len(l.text) && l.text[l.at] != '"' {
		switch {
		case l.peek("$"):
			if err := l.dollar(w, true); err != nil {
				return err
			}
		case l.peek("\\") && l.at+1 < len(l.text):
			w.add(l.text[l.at+1:l.at+2], true)
			l.at += 2
		default:
			w.add(l.text[l.at:l.at+1], true)
			l.at++
		}
	}
	if l.at >= len(l.text) {
		return fmt.Errorf("%w: a quote is not closed", errScript)
	}
	l.at++
	return nil
}

// dollar reads a variable or the output of a command.
func (l *lexer) dollar(w *word, quoted bool) error {
	l.at++
	switch {
	case l.peek("("):
		end := closing(l.text[l.at:])
		if end < 0 {
			return fmt.Errorf("%w: $( is not closed", errScript)
		}
		*w = append(*w, part{script: l.text[l.at+1 : l.at+end], isScript: true, quoted: quoted})
		l.at += end + 1
	case l.peek("{"):
		end := strings.IndexByte(l.text[l.at:], '}')
		if end < 0 {
			return fmt.Errorf("%w: ${ is not closed", errScript)
		}
		name, otherwise, _ := strings.Cut(l.text[l.at+1:l.at+end], ":-")
		*w = append(*w, part{variable: name, otherwise: otherwise, quoted: quoted})
		l.at += end + 1
	default:
		end := l.at
		for end < len(l.text) && (isLetter(l.text[end]) || l.text[end] >= '0' && l.text[end] <= '9') {
			end++
		}
		if end == l.at {
			w.add("$", quoted)
			return nil
		}
		*w = append(*w, part{variable: l.text[l.at:end], quoted: quoted})
		l.at = end
	}
	return nil
}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// closing returns where the parenthesis that the text begins with is closed, or -1.
func closing(text string) int {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}
