package main

import (
	"fmt"
	"go/ast"
	"iter"
	"strings"
)

// reaches lists the assignments of the domain that change a value through a
// parameter or receiver, outside the file that declares the value's type.
func reaches(t *tree) []offender {
	files := map[string]string{}
	for _, d := range t.types() {
		files[d.room+"."+d.name] = d.file
	}
	var all []offender
	for s, f := range functions(t.code) {
		if f.Body == nil || !strings.HasPrefix(s.name, "domain/") {
			continue
		}
		shared := parameters(f, func(name string) bool { return files[s.room()+"."+name] == s.name })
		for target := range targets(f.Body) {
			if name, through := root(target); through && shared[name] {
				all = append(all, offender{fmt.Sprintf("%s:%d", s.name, t.line(target.Pos())), f.Name.Name + " changes " + name, s.name + f.Name.Name + name})
			}
		}
	}
	return all
}

// parameters returns the names of a function's receiver and parameters that are
// pointers or maps, without pointers to types that its file declares.
func parameters(f *ast.FuncDecl, own func(name string) bool) map[string]bool {
	shared := map[string]bool{}
	lists := []*ast.FieldList{f.Type.Params}
	if f.Recv != nil {
		lists = append(lists, f.Recv)
	}
	for _, list := range lists {
		for _, p := range list.List {
			if !isReference(p.Type) || own(baseName(p.Type)) {
				continue
			}
			for _, name := range p.Names {
				shared[name.Name] = true
			}
		}
	}
	return shared
}

// isReference reports whether a parameter of the type shares its value with the
// caller, as far as its spelling shows.
func isReference(e ast.Expr) bool {
	switch e.(type) {
	case *ast.StarExpr, *ast.MapType:
		return true
	}
	return false
}

// targets yields what the statements of a body assign to.
func targets(body ast.Node) iter.Seq[ast.Expr] {
	return func(yield func(ast.Expr) bool) {
		for n := range ast.Preorder(body) {
			var assigned []ast.Expr
			switch n := n.(type) {
			case *ast.AssignStmt:
				assigned = n.Lhs
			case *ast.IncDecStmt:
				assigned = []ast.Expr{n.X}
			}
			for _, target := range assigned {
				if !yield(target) {
					return
				}
			}
		}
	}
}

// root returns the variable that an expression begins with, and whether more
// follows.
func root(e ast.Expr) (name string, through bool) {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name, false
	case *ast.SelectorExpr:
		name, _ = root(e.X)
	case *ast.IndexExpr:
		name, _ = root(e.X)
	case *ast.StarExpr:
		name, _ = root(e.X)
	case *ast.ParenExpr:
		return root(e.X)
	}
	return name, true
}
