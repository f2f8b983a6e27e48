package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"iter"
	"maps"
	"slices"
	"strings"
)

// declared is a named type of a package.
type declared struct {
	room, name string
	// place is the file and line of its declaration.
	place, file string
	// fields are the names of a struct's fields.
	fields []string
	// methods are its methods, and the functions of its package that take a pointer to
	// it.
	methods []offender
	// behaves reports that it has a method of its own.
	behaves bool
}

// types lists the named types of the code, by package and name.
func (t *tree) types() []*declared {
	found := map[string]*declared{}
	for _, s := range t.code {
		for _, d := range s.parsed.Decls {
			if general, ok := d.(*ast.GenDecl); ok {
				t.declareAll(found, s, general)
			}
		}
	}
	for s, f := range functions(t.code) {
		place := fmt.Sprintf("%s:%d", s.name, t.line(f.Pos()))
		attribute(f, place, func(name string) *declared { return found[s.room()+"."+name] })
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *declared) int { return cmp.Compare(a.room+"."+a.name, b.room+"."+b.name) })
}

// functions yields the functions of files, with their files.
func functions(sources []source) iter.Seq2[source, *ast.FuncDecl] {
	return func(yield func(source, *ast.FuncDecl) bool) {
		for _, s := range sources {
			for _, d := range s.parsed.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && !yield(s, f) {
					return
				}
			}
		}
	}
}

// declareAll adds the types of a declaration.
func (t *tree) declareAll(found map[string]*declared, s source, general *ast.GenDecl) {
	for _, spec := range general.Specs {
		if named, ok := spec.(*ast.TypeSpec); ok {
			found[s.room()+"."+named.Name.Name] = t.declare(s, named)
		}
	}
}

// declare describes a type from its declaration.
func (t *tree) declare(s source, named *ast.TypeSpec) *declared {
	d := &declared{room: s.room(), name: named.Name.Name, file: s.name, place: fmt.Sprintf("%s:%d", s.name, t.line(named.Pos()))}
	if structure, ok := named.Type.(*ast.StructType); ok {
		for _, f := range structure.Fields.List {
			if len(f.Names) == 0 {
				d.fields = append(d.fields, baseName(f.Type))
			}
			for _, name := range f.Names {
				d.fields = append(d.fields, name.Name)
			}
		}
	}
	return d
}

// attribute adds a function to the types that it belongs to.
func attribute(f *ast.FuncDecl, place string, find func(name string) *declared) {
	var owners []*declared
	if f.Recv != nil {
		if d := find(baseName(f.Recv.List[0].Type)); d != nil {
			d.behaves = true
			owners = append(owners, d)
		}
	}
	for _, p := range f.Type.Params.List {
		if pointer, ok := p.Type.(*ast.StarExpr); ok {
			if d := find(baseName(pointer.X)); d != nil && !slices.Contains(owners, d) {
				owners = append(owners, d)
			}
		}
	}
	for _, d := range owners {
		d.methods = append(d.methods, offender{place, f.Name.Name + " of " + d.name, d.room + "." + d.name + "." + f.Name.Name})
	}
}

// baseName returns the name of a type without pointer, package and parameters.
func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.IndexListExpr:
		return baseName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// Limits of a type.
const (
	mostMethods = 15
	mostFields  = 12
)

// manyMethods lists the types with too many methods. Functions of the package
// that take a pointer to the type count as methods.
func manyMethods(t *tree) []offender {
	var all []offender
	for _, d := range t.types() {
		if len(d.methods) > mostMethods {
			all = append(all, offender{d.place, fmt.Sprintf("%s has %d methods", d.name, len(d.methods)), d.room + "." + d.name})
		}
	}
	return all
}

// excess counts the methods over the limit, of all types together.
func excess(t *tree) int {
	n := 0
	for _, d := range t.types() {
		n += max(0, len(d.methods)-mostMethods)
	}
	return n
}

// methodsOfLarge lists the methods of the types with too many.
func methodsOfLarge(t *tree) []offender {
	var all []offender
	for _, d := range t.types() {
		if len(d.methods) > mostMethods {
			all = append(all, d.methods...)
		}
	}
	return all
}

// manyFields lists the structs with methods and too many fields.
func manyFields(t *tree) []offender {
	var all []offender
	for _, d := range t.types() {
		if d.behaves && len(d.fields) > mostFields {
			all = append(all, offender{d.place, fmt.Sprintf("%s has methods and %d fields", d.name, len(d.fields)), d.room + "." + d.name})
		}
	}
	return all
}

// Structs are twins from this many common fields, and this part of the smaller, in
// percent.
const (
	twinFields = 5
	twinPart   = 60
)

// twins lists the pairs of structs in two packages that are one type twice. Types
// of the API and of the domain may be alike: they are mapped onto each other. All kinds have the fields of an object.
func twins(t *tree) []offender {
	types := slices.DeleteFunc(t.types(), func(d *declared) bool {
		return len(d.fields) < twinFields || slices.Contains(d.fields, "TypeMeta")
	})
	var all []offender
	for i, a := range types {
		for _, b := range types[i+1:] {
			if a.room == b.room || mapped(a.room, b.room) || mapped(b.room, a.room) {
				continue
			}
			shared := common(a.fields, b.fields)
			if shared >= twinFields && 100*shared >= twinPart*min(len(a.fields), len(b.fields)) {
				what := fmt.Sprintf("%s and %s of %s share %d fields", a.name, b.name, b.place, shared)
				all = append(all, offender{a.place, what, a.room + "." + a.name + " " + b.room + "." + b.name})
			}
		}
	}
	return all
}

// mapped reports whether the types of one package are those of the API for the other.
func mapped(api, domain string) bool {
	return strings.HasPrefix(api, "controller/api/") && strings.HasPrefix(domain, "domain/")
}

// common counts the names of two lists that differ in case at the most.
func common(a, b []string) int {
	n := 0
	for _, name := range a {
		if name != "_" && slices.ContainsFunc(b, func(other string) bool { return strings.EqualFold(name, other) }) {
			n++
		}
	}
	return n
}

// mostTypes is how many types may have one name.
const mostTypes = 3

// nouns lists the names that too many types have.
func nouns(t *tree) []offender {
	named := map[string][]*declared{}
	for _, d := range t.types() {
		noun := strings.ToLower(d.name)
		named[noun] = append(named[noun], d)
	}
	var all []offender
	for noun, types := range named {
		if len(types) > mostTypes {
			var rooms []string
			for _, d := range types {
				rooms = append(rooms, d.room)
			}
			all = append(all, offender{types[0].place, fmt.Sprintf("%d types are named %s: %s", len(types), noun, strings.Join(rooms, ", ")), noun})
		}
	}
	slices.SortFunc(all, func(a, b offender) int { return cmp.Compare(a.key, b.key) })
	return all
}
