package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"strings"
)

// checkout is the folder of a checkout. It reads what the code says.
type checkout string

// source returns the parsed files of a folder of the checkout, and of those
// below it if it ends with "/...", without tests.
func (c checkout) source(folder string) ([]*ast.File, error) {
	folder, deep := strings.CutSuffix(folder, "/...")
	top := filepath.Join(string(c), folder)
	var all []*ast.File
	err := filepath.WalkDir(top, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != top && (!deep || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		all = append(all, parsed)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", folder, err)
	}
	return all, nil
}

// spec is a constant of the code.
type spec struct {
	name, kind string
	expr       ast.Expr
	// value is set for a string.
	value string
}

// specs returns the constants of a folder in the order of its files.
func (c checkout) specs(folder string) ([]spec, error) {
	files, err := c.source(folder)
	if err != nil {
		return nil, err
	}
	var all []spec
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range v.Names {
				if i < len(v.Values) {
					all = append(all, spec{name: name.Name, kind: kindName(v.Type), expr: v.Values[i], value: text(v.Values[i])})
				}
			}
			return true
		})
	}
	return all, nil
}

// constants returns the expressions of the constants of a folder, by name.
func (c checkout) constants(folder string) (map[string]ast.Expr, error) {
	specs, err := c.specs(folder)
	all := map[string]ast.Expr{}
	for _, s := range specs {
		all[s.name] = s.expr
	}
	return all, err
}

// value evaluates a constant of a folder: numbers, units of time, and constants
// of the same folder.
func value(all map[string]ast.Expr, name string) (constant.Value, error) {
	expr, ok := all[name]
	if !ok {
		return nil, fmt.Errorf("there is no constant %s", name)
	}
	units := map[string]string{
		"Nanosecond": "1", "Microsecond": "1000", "Millisecond": "1000000",
		"Second": "1000000000", "Minute": "60000000000", "Hour": "3600000000000",
	}
	var failed error
	var text func(ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			return e.Value
		case *ast.ParenExpr:
			return "(" + text(e.X) + ")"
		case *ast.BinaryExpr:
			return text(e.X) + e.Op.String() + text(e.Y)
		case *ast.Ident:
			v, err := value(all, e.Name)
			if err != nil {
				failed = err
				return "0"
			}
			return "(" + v.ExactString() + ")"
		case *ast.SelectorExpr:
			if unit, ok := units[e.Sel.Name]; ok {
				return unit
			}
		}
		failed = fmt.Errorf("cannot evaluate constant %s", name)
		return "0"
	}
	whole := text(expr)
	if failed != nil {
		return nil, failed
	}
	result, err := types.Eval(token.NewFileSet(), nil, token.NoPos, whole)
	if err != nil {
		return nil, fmt.Errorf("cannot evaluate constant %s: %w", name, err)
	}
	return result.Value, nil
}

// kindName writes a constant's type, if it has one.
func kindName(e ast.Expr) string {
	if e == nil {
		return ""
	}
	return types.ExprString(e)
}

// text returns a string that a literal or a sum of literals writes, or "".
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if v := constant.MakeFromLiteral(e.Value, e.Kind, 0); v.Kind() == constant.String {
			return constant.StringVal(v)
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return text(e.X) + text(e.Y)
		}
	}
	return ""
}
