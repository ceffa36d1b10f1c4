package house

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// receivers are the names of types before methods.
func receivers(f *ast.File) map[*ast.Ident]bool {
	all := map[*ast.Ident]bool{}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Recv != nil {
			ast.Inspect(d.Recv, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					all[id] = true
				}
				return true
			})
		}
	}
	return all
}

// TestTextsAreReadOnce: modes, optimizers and families of models are types. Their texts are
// compared where they are read, in config and in model.
func TestTextsAreReadOnce(t *testing.T) {
	inRoot(t)
	texts := append([]string{"delayed", "delayed:", "sgd", "momentum", "adam", "adagrad",
		"mlp", "mlp:", "softmax", "convnet", "conv", "factor", "factor:", "cut"}, config.Modes...)
	for _, s := range sources(t) {
		if s.tests || s.dir() == "hogwild/config" || s.dir() == "hogwild/model" ||
			strings.HasPrefix(s.path, "internal/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			var compared []ast.Expr
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					compared = []ast.Expr{n.X, n.Y}
				}
			case *ast.CaseClause:
				compared = n.List
			case *ast.CallExpr:
				if called(n) == "HasPrefix" || called(n) == "CutPrefix" {
					compared = n.Args
				}
			}
			for _, x := range compared {
				if l, ok := x.(*ast.BasicLit); ok && l.Kind == token.STRING &&
					slices.Contains(texts, strings.Trim(l.Value, "\"`")) {
					t.Errorf("%s: compares a text with %s; config and model have types", s.at(x), l.Value)
				}
			}
			return true
		})
	}
}

// TestRacyStoresStandInOneFile: in host memory only hogwild/cpu/racy.go touches the numbers
// of shared weights, but for those who read a view of them: to compute, or to copy.
func TestRacyStoresStandInOneFile(t *testing.T) {
	inRoot(t)
	readers := []string{"Grad", "Read", "copy", "Axpy", "replace"}
	for _, s := range sources(t) {
		if s.dir() != "hogwild/cpu" || s.tests || s.path == "hogwild/cpu/racy.go" {
			continue
		}
		reads := map[ast.Node]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && slices.Contains(readers, called(call)) {
				for i, arg := range call.Args {
					if slice, ok := arg.(*ast.SliceExpr); ok {
						arg = slice.X
					}
					// Of copy and Axpy the first is where numbers go to, or a factor.
					reads[arg] = called(call) != "copy" && called(call) != "Axpy" || i == 1
				}
			}
			return true
		})
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "w" || n.Sel.Name == "bits" && s.path != "hogwild/cpu/sample.go" {
					t.Errorf("%s: .%s is for racy.go", s.at(n), n.Sel.Name)
				}
			case *ast.CallExpr:
				if called(n) == "view" && !reads[n] {
					t.Errorf("%s: a view of shared weights is for reading: an argument of %s", s.at(n),
						strings.Join(readers, ", "))
				}
			}
			return true
		})
	}
}

// called is the name of the function that is called.
func called(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
