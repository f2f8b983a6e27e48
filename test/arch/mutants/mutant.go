package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The kinds of mutants.
const (
	negated = "condition negated"
	dropped = "error dropped"
	leftOut = "call left out"
)

// mutant is one change of one file.
type mutant struct {
	// number identifies the mutant in its room.
	number int
	// file is the file's path from the top of the module.
	file string
	line int
	kind string
	// source is the changed expression or statement, and from and to are its offsets in the file.
	source   string
	from, to int
}

// String returns the mutant as one line: file, line, kind and source.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", m.file, m.line, m.kind, strings.Join(strings.Fields(m.source), " "))
}

// enclosure returns the text before and after the source that makes the change while the mutant is
// chosen. All that the source uses stays used, so that every mutant compiles.
func (m mutant) enclosure() (before, after string) {
	switch m.kind {
	case negated:
		return "((", fmt.Sprintf(") != (%s == %d))", chosen, m.number)
	case dropped:
		return "(", fmt.Sprintf(" && %s != %d)", chosen, m.number)
	}
	return fmt.Sprintf("if %s != %d { ", chosen, m.number), " }"
}

// mutantsOf returns all mutants of a room, in the order of the code. Tests, generated files and
// files for other platforms have none.
func mutantsOf(root, room string) ([]mutant, error) {
	folder := filepath.Join(root, filepath.FromSlash(room))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("cannot read room %s: %w", room, err)
	}
	var all []mutant
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if built, err := build.Default.MatchFile(folder, name); err != nil || !built {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return nil, fmt.Errorf("cannot read room %s: %w", room, err)
		}
		some, err := mutantsIn(path.Join(room, name), text)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	for i := range all {
		all[i].number = i + 1
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("room %s has no code to change", room)
	}
	return all, nil
}

// mutantsIn returns the mutants of one file.
func mutantsIn(file string, text []byte) ([]mutant, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	if ast.IsGenerated(parsed) {
		return nil, nil
	}
	f := finder{set: set, file: file, text: text}
	ast.Inspect(parsed, f.visit)
	// The order of the code; what encloses comes before what it encloses.
	slices.SortStableFunc(f.all, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to), cmp.Compare(a.kind, b.kind))
	})
	// A condition of && is found by itself and as part of its statement.
	return slices.CompactFunc(f.all, func(a, b mutant) bool { return a.from == b.from && a.to == b.to && a.kind == b.kind }), nil
}

// packageOf returns the name of a file's package.
func packageOf(file string, text []byte) (string, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
	if err != nil {
		return "", fmt.Errorf("cannot read %s: %w", file, err)
	}
	return parsed.Name.Name, nil
}

// shuffle puts mutants in the order of a seed.
func shuffle(all []mutant, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
}

// finder collects the mutants of a file.
type finder struct {
	set  *token.FileSet
	file string
	text []byte
	all  []mutant
}

// visit adds the mutants of a node.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.condition(n.Cond)
	case *ast.ForStmt:
		if n.Cond != nil {
			f.condition(n.Cond)
		}
	case *ast.SwitchStmt:
		if n.Tag == nil {
			f.cases(n.Body)
		}
	case *ast.BinaryExpr:
		if n.Op == token.LAND || n.Op == token.LOR {
			f.add(negated, n.X)
			f.add(negated, n.Y)
		}
	case *ast.BlockStmt:
		f.calls(n.List)
	case *ast.CaseClause:
		f.calls(n.Body)
	case *ast.CommClause:
		f.calls(n.Body)
	case *ast.GenDecl:
		return n.Tok != token.CONST // a constant cannot depend on the mutant
	}
	return true
}

// calls adds the mutants that leave out the calls of a block.
func (f *finder) calls(block []ast.Stmt) {
	for _, s := range block {
		if s, ok := s.(*ast.ExprStmt); ok {
			if call, ok := s.X.(*ast.CallExpr); ok && !exempt(call) {
				f.add(leftOut, s)
			}
		}
	}
}

// cases adds the mutants of the conditions of a switch.
func (f *finder) cases(body *ast.BlockStmt) {
	for _, s := range body.List {
		if clause, ok := s.(*ast.CaseClause); ok {
			for _, c := range clause.List {
				f.condition(c)
			}
		}
	}
}

// condition adds the mutants of a condition: its opposite, and each of its errors dropped.
func (f *finder) condition(c ast.Expr) {
	f.add(negated, c)
	f.errors(c)
}

// errors adds the mutants that drop the errors of a condition.
func (f *finder) errors(c ast.Expr) {
	switch c := c.(type) {
	case *ast.ParenExpr:
		f.errors(c.X)
	case *ast.BinaryExpr:
		switch {
		case c.Op == token.LAND || c.Op == token.LOR:
			f.errors(c.X)
			f.errors(c.Y)
		case c.Op == token.NEQ && isError(c.X) && named(c.Y, "nil"):
			f.add(dropped, c)
		}
	}
}

// add adds a mutant of a node.
func (f *finder) add(kind string, n ast.Node) {
	from, to := f.set.Position(n.Pos()), f.set.Position(n.End())
	f.all = append(f.all, mutant{
		file: f.file, line: from.Line, kind: kind, source: string(f.text[from.Offset:to.Offset]), from: from.Offset, to: to.Offset,
	})
}

// isError reports whether an expression is an error, by its name.
func isError(x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && (id.Name == "err" || strings.HasSuffix(id.Name, "Err"))
}

// exempt reports whether a call is never left out: one that writes to the log, which no test
// reads, or a panic, which may end a function that returns something.
func exempt(call *ast.CallExpr) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	return ok && (named(s.X, "glog") || named(s.X, "log")) || named(call.Fun, "panic")
}

// named reports whether an expression is an identifier.
func named(x ast.Expr, name string) bool {
	id, ok := x.(*ast.Ident)
	return ok && id.Name == name
}
