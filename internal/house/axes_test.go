package house

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// axis is a dimension of what the program can do. Its owner knows all members; others are to ask the value a question
// (mode.Barrier, family.Short), so that a new member is a change of the owner alone.
type axis struct {
	owners  []string // the beginnings of the paths of their files
	members []string // names whose use outside the owners asks for a member: see named
	text    []string // literals with which a comparison asks the same
	of      []string // the names of what is compared with such a text; nil: any
	files   int      // that ask today; this may only fall
}

// axes lists all of them. Before they had owners 34 files asked for a mode, 50 for a kind, 28 for a family, 20 for the
// solver, 33 for a device and 27 for nodes.
var axes = map[string]axis{
	"mode": {owners: []string{"hogwild/config/"}, members: []string{"hogwild/config.ModeKind.*"},
		text: []string{"async", "atomic", "locked", "ordered", "sync", "clock", "blocks"}, files: 0},
	// Package data has much to do with kinds: it counts as well, but for the file of each kind.
	"kind of data": {owners: []string{"hogwild/data/meta.go", "hogwild/data/bytes.go", "hogwild/data/floats.go",
		"hogwild/data/sparse.go", "hogwild/data/pairs.go", "hogwild/data/tokens.go", "hogwild/data/indices.go",
		"hogwild/data/facts.go", "hogwild/data/format/row.go"}, members: []string{
		"hogwild/data.Bytes", "hogwild/data.Floats", "hogwild/data.Sparse", "hogwild/data.Pairs", "hogwild/data.Tokens",
		"hogwild/data.Indices", "hogwild/data.Facts", "hogwild/data/format.Bytes", "hogwild/data/format.Floats",
		"hogwild/data/format.Sparse", "hogwild/data/format.Pairs"},
		text: []string{"bytes", "floats", "sparse", "pairs", "tokens", "indices", "facts"},
		of:   []string{"Kind", "kind"}, files: 9},
	"model family": {owners: []string{"hogwild/model/"}, members: []string{"hogwild/model.Family.*"},
		text: []string{"linear", "mlp", "convnet", "conv", "factor", "cut", "word2vec", "text", "kge"},
		of:   []string{"Model", "Name", "model", "name", "family"}, files: 1},
	"solver": {owners: []string{"hogwild/config/", "hogwild/ability/dual.go", "hogwild/model/dual.go"},
		members: []string{"hogwild/config.Dual", "hogwild/config.PlainSGD", "hogwild/model.Dual",
			"hogwild/model.NewDual", "hogwild/control.Weights.Dual", "hogwild/control.Weights.Bounds"},
		text: []string{"dual"}, files: 5},
	"device": {owners: []string{"hogwild/device/"}, members: []string{"hogwild/device.GPUOwner"},
		text: []string{""}, of: []string{"GPU"}, files: 12},
	"nodes": {owners: []string{"hogwild/nodes/", "hogwild/peers/", "hogwild/config/", "cmd/hogwild/nodes.go"},
		members: []string{"hogwild/core.Run.Several", "hogwild/config.Config.Nodes", "hogwild/config.Config.HostNodes"},
		files:   14},
	// What formats and scalings of data call auto is their own.
	"setting": {owners: []string{"hogwild/config/", "hogwild/data/"}, text: []string{"auto"}, files: 0},
}

// TestAxesHaveOwners counts, for each axis, the files outside its owners that ask for a member: that use one of its
// names, or compare (==, != or case) with its text. Who only gives a constant (x = Sparse, {Kind: Sparse}, return
// Sparse), or assigns to a field, says what something is, and does not ask. Tests are not counted. A file counts once,
// however often it asks.
func TestAxesHaveOwners(t *testing.T) {
	inRoot(t)
	uses := map[string]map[string]types.Object{} // of each file, by where
	for _, p := range typed(t) {
		for id, object := range p.uses {
			at := p.fset.Position(id.Pos())
			if uses[at.Filename] == nil {
				uses[at.Filename] = map[string]types.Object{}
			}
			uses[at.Filename][place(at)] = object
		}
	}
	asking := map[string][]string{}
	for _, s := range sources(t) {
		if s.tests {
			continue
		}
		var names []string
		given, written := given(s)
		for at, object := range uses[s.path] {
			if _, constant := object.(*types.Const); !(constant && given[at] || written[at]) {
				names = append(names, named(object)...)
			}
		}
		comparisons := compared(s.file)
		for name, a := range axes {
			owned := func(of string) bool { return strings.HasPrefix(s.path, of) }
			member := func(used string) bool { return slices.Contains(a.members, used) }
			literal := func(c comparison) bool {
				return slices.Contains(a.text, c.text) && (a.of == nil || slices.Contains(a.of, c.of))
			}
			if !slices.ContainsFunc(a.owners, owned) &&
				(slices.ContainsFunc(names, member) || slices.ContainsFunc(comparisons, literal)) {
				asking[name] = append(asking[name], s.path)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(axes)) {
		a, n := axes[name], len(asking[name])
		switch {
		case n > a.files:
			t.Errorf("%s: %d files ask for a member, at most %d may: ask the owner a question instead\n\t%s", name, n,
				a.files, strings.Join(asking[name], "\n\t"))
		case n < a.files:
			t.Errorf("%s: %d files ask for a member: write that for %d in axes", name, n, a.files)
		}
		t.Logf("%s: %d", name, n)
	}
}

// place is where in a file something stands.
func place(at token.Position) string { return fmt.Sprint(at.Line, ":", at.Column) }

// given returns where a name is the value of something, of a variable, a field or a function, and where one is assigned
// to.
func given(s *source) (values, targets map[string]bool) {
	values, targets = map[string]bool{}, map[string]bool{}
	add := func(all map[string]bool, values ...ast.Expr) {
		for _, v := range values {
			switch name := v.(type) {
			case *ast.Ident:
				all[place(s.fset.Position(name.Pos()))] = true
			case *ast.SelectorExpr:
				all[place(s.fset.Position(name.Sel.Pos()))] = true
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			add(values, n.Rhs...)
			add(targets, n.Lhs...)
		case *ast.ValueSpec:
			add(values, n.Values...)
		case *ast.ReturnStmt:
			add(values, n.Results...)
		case *ast.KeyValueExpr:
			add(values, n.Value)
		}
		return true
	})
	return values, targets
}

// named returns the names of an object: its folder, its type if it is a field or a method, and its own name; of a
// member of an enumeration, which is a constant or a pointer, also its type with a star.
func named(object types.Object) []string {
	if object.Pkg() == nil {
		return nil
	}
	dir := strings.TrimPrefix(object.Pkg().Path(), "hogwild/")
	all := []string{dir + "." + object.Name()}
	switch o := object.(type) {
	case *types.Const:
		if of, ok := o.Type().(*types.Named); ok {
			all = append(all, dir+"."+of.Obj().Name()+".*")
		}
	case *types.Var:
		if o.IsField() {
			return fieldNames(o, dir)
		}
		if of, ok := o.Type().(*types.Pointer); ok && o.Parent() == o.Pkg().Scope() { // a member that is no constant
			if of, ok := of.Elem().(*types.Named); ok {
				all = append(all, dir+"."+of.Obj().Name()+".*")
			}
		}
	case *types.Func:
		if recv := o.Signature().Recv(); recv != nil {
			of := recv.Type()
			if pointer, ok := of.(*types.Pointer); ok {
				of = pointer.Elem()
			}
			if of, ok := of.(*types.Named); ok {
				return []string{dir + "." + of.Obj().Name() + "." + o.Name()}
			}
		}
	}
	return all
}

// fieldNames returns the field's name behind the name of each struct of its package that has it.
func fieldNames(field *types.Var, dir string) (all []string) {
	scope := field.Pkg().Scope()
	for _, name := range scope.Names() {
		if s, ok := scope.Lookup(name).Type().Underlying().(*types.Struct); ok {
			for f := range s.Fields() {
				if f == field {
					all = append(all, dir+"."+name+"."+field.Name())
				}
			}
		}
	}
	return all
}

// comparison is one with a literal; of is the name of the variable or field that is compared.
type comparison struct{ of, text string }

// compared returns the comparisons of a file with literals.
func compared(file *ast.File) (all []comparison) {
	add := func(literal, with ast.Expr) {
		b, ok := literal.(*ast.BasicLit)
		if !ok || b.Kind != token.STRING {
			return
		}
		c := comparison{}
		c.text, _ = strconv.Unquote(b.Value)
		switch with := with.(type) {
		case *ast.SelectorExpr:
			c.of = with.Sel.Name
		case *ast.Ident:
			c.of = with.Name
		}
		all = append(all, c)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				add(n.X, n.Y)
				add(n.Y, n.X)
			}
		case *ast.SwitchStmt:
			for _, clause := range n.Body.List {
				for _, e := range clause.(*ast.CaseClause).List {
					add(e, n.Tag)
				}
			}
		}
		return true
	})
	return all
}
