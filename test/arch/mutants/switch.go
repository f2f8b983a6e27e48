package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	// chosen is the variable of the room under test that holds the number of a mutant; 0 for none.
	chosen = "mutantOfThisRun"
	// variable is the environment variable that it is read from.
	variable = "ORCON_MUTANT"
)

// chooser is the file that declares the variable.
const chooser = `package %s

import (
	mutantos "os"
	mutantstrconv "strconv"
)

var %s, _ = mutantstrconv.Atoi(mutantos.Getenv(%q))
`

// enclose returns the text of a file with all its mutants, which are in the order of mutantsIn.
func enclose(text []byte, all []mutant) string {
	var b strings.Builder
	var open []mutant // the innermost last
	at := 0
	upTo := func(offset int) {
		b.Write(text[at:offset])
		at = offset
	}
	closeUpTo := func(offset int) {
		for len(open) > 0 && open[len(open)-1].to <= offset {
			inner := open[len(open)-1]
			open = open[:len(open)-1]
			upTo(inner.to)
			_, after := inner.enclosure()
			b.WriteString(after)
		}
	}
	for _, m := range all {
		closeUpTo(m.from)
		upTo(m.from)
		before, _ := m.enclosure()
		b.WriteString(before)
		open = append(open, m)
	}
	closeUpTo(len(text))
	upTo(len(text))
	return b.String()
}

// overlay writes the files of a room with all mutants to a folder, and with them the list that has
// them compiled in place of the real ones. It returns the file of the list.
func overlay(root, room string, all []mutant, folder string) (string, error) {
	files := map[string][]mutant{}
	for _, m := range all {
		files[m.file] = append(files[m.file], m)
	}
	replaced, name := map[string]string{}, ""
	add := func(file, text string) error {
		original, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return fmt.Errorf("cannot find %s: %w", file, err)
		}
		replaced[original] = filepath.Join(folder, path.Base(file))
		return save(replaced[original], []byte(text))
	}
	for file, some := range files {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if err != nil {
			return "", fmt.Errorf("cannot read %s: %w", file, err)
		}
		if name, err = packageOf(file, text); err != nil {
			return "", err
		}
		if err := add(file, enclose(text, some)); err != nil {
			return "", err
		}
	}
	if err := add(path.Join(room, "mutant_of_this_run.go"), fmt.Sprintf(chooser, name, chosen, variable)); err != nil {
		return "", err
	}
	list, err := json.Marshal(map[string]map[string]string{"Replace": replaced})
	if err != nil {
		return "", fmt.Errorf("cannot list the mutants of %s: %w", room, err)
	}
	file := filepath.Join(folder, "overlay.json")
	return file, save(file, list)
}

// save writes a file.
func save(file string, text []byte) error {
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return fmt.Errorf("cannot write %s: %w", file, err)
	}
	return nil
}
