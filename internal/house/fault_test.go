package house

import (
	"go/ast"
	"slices"
	"strconv"
	"testing"

	"hogwild/internal/fault"
)

// TestFaultPointsAreInTheTable: each call of fault.Point names a point of the table, and each of the table is
// somewhere. The error is ignored exactly where the table says that there is none.
func TestFaultPointsAreInTheTable(t *testing.T) {
	inRoot(t)
	placed := map[string]bool{}
	for _, s := range sources(t) {
		if s.tests || s.dir() == "internal/fault" {
			continue
		}
		ignored := map[ast.Expr]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == 1 {
				id, ok := a.Lhs[0].(*ast.Ident)
				ignored[a.Rhs[0]] = ok && id.Name == "_"
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || called(call) != "Point" || len(call.Args) != 1 {
				return true
			}
			text, ok := call.Args[0].(*ast.BasicLit)
			if !ok {
				t.Errorf("%s: the name of a fault point is not a literal", s.at(n))
				return true
			}
			name, _ := strconv.Unquote(text.Value)
			i := slices.IndexFunc(fault.Points, func(p fault.Place) bool { return p.Name == name })
			if i < 0 {
				t.Errorf("%s: fault point %s is not in the table of internal/fault", s.at(n), name)
			} else if fault.Points[i].NoError != ignored[call] {
				t.Errorf("%s: fault point %s: error ignored: %v, the table says %v", s.at(n), name, ignored[call],
					fault.Points[i].NoError)
			}
			placed[name] = true
			return true
		})
	}
	for _, p := range fault.Points {
		if !placed[p.Name] {
			t.Errorf("fault point %s of the table is nowhere in the source", p.Name)
		}
	}
}
