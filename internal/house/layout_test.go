// Package house holds the tests of the whole: the order of the packages, the size of files and functions, what may
// stand where, and what pages and the release say of it. They run in the root of the tree.
package house

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

// order is the order of imports, which is the order of reading: a package imports
// only those before it. A folder below one of these belongs to it.
var order = []string{
	"internal/check", "internal/half", "internal/vec", "internal/human", "internal/figure", "internal/machine",
	"internal/traceback",
	"internal/lastwords", "internal/wire", "internal/self", "internal/fault", "internal/atomicfile", "shm",
	"hogwild/nodes", "hogwild/data", "hogwild/model",
	"hogwild/config", "hogwild/clock", "hogwild/plan", "hogwild/tuning", "hogwild/control", "hogwild/device",
	"hogwild/cpu", "hogwild/program", "hogwild/workers", "hogwild/rundir", "hogwild/score",
	"hogwild/saved", "hogwild/display", "hogwild/worker", "hogwild/core", "hogwild/progress", "hogwild/elastic",
	"hogwild/programs", "hogwild/ability", "hogwild/run", "hogwild/tune", "hogwild/peers", "hogwild/words",
	"hogwild/export",
	".", "cuda", "bench", "internal/chaos", "hogwild/arrays", "hogwild/data/get", "cmd/hogwild", "internal/house",
}

// forTests are packages that only tests import.
var forTests = []string{"internal/check", "hogwild/config/configtest", "hogwild/program/programtest",
	"hogwild/run/runtest"}

// rooms are abilities that can be taken away: a package, and the only file outside of it that names it.
var rooms = map[string]string{"hogwild/data/get": "cmd/hogwild/dataget.go", "hogwild/export": "cmd/hogwild/export.go",
	"hogwild/peers": "cmd/hogwild/nodes.go", "bench/live": "cmd/hogwild/dashboard.go",
	"hogwild/arrays":  "cmd/hogwild/arrays.go",
	"hogwild/ability": abilities, "hogwild/elastic": abilities, "hogwild/programs": abilities,
	"hogwild/progress": abilities}

// abilities is the list of what a run can do apart from training.
const abilities = "hogwild/run/abilities.go"

// Limits in lines.
const (
	maxFile     = 400
	maxFunction = 80
)

// source is one Go file of the tree.
type source struct {
	path  string // from the root, with slashes
	text  []byte
	file  *ast.File
	fset  *token.FileSet
	tests bool // it is a test, or a file of forTests
}

func (s *source) dir() string { return path.Dir(s.path) }

func (s *source) at(n ast.Node) string {
	return s.path + ":" + strconv.Itoa(s.line(n.Pos()))
}

func (s *source) line(p token.Pos) int { return s.fset.Position(p).Line }

// inRoot has a test find files by their paths from the root. TestMain would be too early: what go test knows of the
// files that a test reads, for its cache, begins with the tests.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}

// files lists the files of the tree with one of the extensions.
func files(t *testing.T, extensions ...string) []string {
	t.Helper()
	all, err := walk(extensions...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// walk is files. Folders with a go.mod of their own are other modules.
func walk(extensions ...string) (all []string, err error) {
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if p != "." && (foreign(p) || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if slices.Contains(extensions, filepath.Ext(p)) {
			all = append(all, filepath.ToSlash(p))
		}
		return nil
	})
	return all, err
}

// sources returns every Go file, whatever tags it is built with.
func sources(t *testing.T) []*source {
	t.Helper()
	all, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var parsed = sync.OnceValues(func() (all []*source, err error) {
	paths, err := walk(".go")
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		s := &source{path: p, fset: token.NewFileSet(), tests: strings.HasSuffix(p, "_test.go")}
		s.tests = s.tests || slices.Contains(forTests, s.dir())
		if s.text, err = os.ReadFile(p); err != nil {
			return nil, err
		}
		if s.file, err = parser.ParseFile(s.fset, p, s.text, parser.ParseComments); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

func foreign(dir string) bool {
	switch dir {
	case "bin", "build", "dist", "runs":
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// rank is a folder's place in order, the longest match; -1 when it has none.
func rank(dir string) int {
	best := -1
	for i, o := range order {
		if (dir == o || strings.HasPrefix(dir, o+"/")) && (best < 0 || len(o) > len(order[best])) {
			best = i
		}
	}
	return best
}

func TestImportsPointOneWay(t *testing.T) {
	inRoot(t)
	for _, s := range sources(t) {
		from := rank(s.dir())
		example := strings.HasPrefix(s.path, "examples/")
		if from < 0 && !example && s.dir() != "." {
			t.Errorf("%s: %s has no place in the order of packages", s.path, s.dir())
		}
		for _, spec := range s.file.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			dir, ours := strings.CutPrefix(name, "hogwild/")
			if !ours {
				continue
			}
			if slices.Contains(forTests, dir) && !s.tests {
				t.Errorf("%s: imports %s, which is for tests", s.at(spec), name)
			}
			if door := rooms[dir]; door != "" && s.path != door && !s.tests {
				t.Errorf("%s: imports %s, which is for %s alone", s.at(spec), name, door)
			}
			to := rank(dir)
			switch {
			case to < 0:
				t.Errorf("%s: imports %s, which has no place in the order of packages", s.at(spec), name)
			case example && order[to] == "cmd/hogwild":
				t.Errorf("%s: an example imports the command", s.at(spec))
			case !example && to > from && !strings.HasSuffix(s.file.Name.Name, "_test"): // tests from outside may
				t.Errorf("%s: %s comes before %s, and may not import it", s.at(spec), order[from], order[to])
			}
		}
	}
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	inRoot(t)
	for _, s := range sources(t) {
		if n := bytes.Count(s.text, []byte("\n")); n > maxFile {
			t.Errorf("%s has %d lines, %d is the limit", s.path, n, maxFile)
		}
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				if n := s.line(f.End()) - s.line(f.Pos()) + 1; n > maxFunction {
					t.Errorf("%s: %s has %d lines, %d is the limit", s.at(f), f.Name.Name, n, maxFunction)
				}
			}
		}
	}
}

func TestFilesInOtherLanguagesAreShort(t *testing.T) {
	inRoot(t)
	for _, p := range files(t, ".c", ".cc", ".cu", ".h", ".py", ".sh") {
		text, err := os.ReadFile(p)
		if n := bytes.Count(text, []byte("\n")); err != nil || n > maxFile {
			t.Errorf("%s has %d lines (%v), %d is the limit", p, n, err, maxFile)
		}
	}
}

func TestUnsafeHasTwoPlaces(t *testing.T) {
	inRoot(t)
	for _, s := range sources(t) {
		if strings.HasPrefix(s.path, "cuda/") {
			continue
		}
		for _, spec := range s.file.Imports {
			switch name := spec.Path.Value; {
			case name == `"unsafe"` && s.path != "shm/view.go":
				t.Errorf("%s: unsafe is for shm/view.go and cuda/", s.at(spec))
			case name == `"C"`:
				t.Errorf("%s: cgo is for cuda/", s.at(spec))
			}
		}
	}
}

// TestOnlyMainExits lets no library end the program: it would take from the caller
// the chance to save.
func TestOnlyMainExits(t *testing.T) {
	inRoot(t)
	exits := map[string]bool{"os.Exit": true, "log.Fatal": true, "log.Fatalf": true, "log.Fatalln": true}
	for _, s := range sources(t) {
		if s.tests || s.file.Name.Name == "main" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && exits[x.Name+"."+sel.Sel.Name] {
					t.Errorf("%s: %s.%s outside a main package", s.at(n), x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestPackagesHaveMeaning(t *testing.T) {
	inRoot(t)
	documented := map[string]bool{}
	for _, s := range sources(t) {
		switch name := s.file.Name.Name; name {
		case "util", "utils", "common", "helper", "helpers", "misc":
			t.Errorf("%s: package %s says nothing of what is in it", s.path, name)
		}
		documented[s.dir()] = documented[s.dir()] || s.file.Doc != nil
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no file has a package comment", dir)
		}
	}
}

// TestLinesAreShort: a line has at most 120 columns, where a tab counts as 4. Quoted texts of several words in
// backquotes, and names of files on the network, stay whole.
func TestLinesAreShort(t *testing.T) {
	inRoot(t)
	const most = 120
	for _, s := range sources(t) {
		if ast.IsGenerated(s.file) {
			continue
		}
		whole := map[int]bool{}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && (l.Value[0] == '`' || strings.Contains(l.Value, "://")) {
				for line := s.line(l.Pos()); line <= s.line(l.End()); line++ {
					whole[line] = true
				}
			}
			return true
		})
		n := 0
		for line := range strings.Lines(string(s.text)) {
			n++
			columns := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) + 3*strings.Count(line, "\t")
			if columns > most && !whole[n] {
				t.Errorf("%s:%d: %d columns, %d is the limit", s.path, n, columns, most)
			}
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	inRoot(t)
	for _, s := range sources(t) {
		if s.tests {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if exported(d) && d.Doc == nil {
					t.Errorf("%s: %s has no comment", s.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name := undocumented(d, spec); name != "" {
						t.Errorf("%s: %s has no comment", s.at(spec), name)
					}
				}
			}
		}
	}
}

// exported is false for a method of a type that is not exported: it is there for
// an interface, which says what it does.
func exported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return f.Name.IsExported()
	}
	receiver := ""
	ast.Inspect(f.Recv.List[0].Type, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && receiver == "" {
			receiver = id.Name
		}
		return true
	})
	return f.Name.IsExported() && ast.IsExported(receiver)
}

// undocumented is the exported name of a type, constant or variable to which no
// comment belongs, its own or its group's.
func undocumented(d *ast.GenDecl, spec ast.Spec) string {
	if d.Doc != nil {
		return ""
	}
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && spec.Doc == nil && spec.Comment == nil {
			return spec.Name.Name
		}
	case *ast.ValueSpec:
		for _, name := range spec.Names {
			if name.IsExported() && spec.Doc == nil && spec.Comment == nil {
				return name.Name
			}
		}
	}
	return ""
}
