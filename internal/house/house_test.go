package house

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The numbers of this file may only fall: see docs/designs/house.md.

// maxMembers is how many fields a struct has at most, and how many methods a type.
const maxMembers = 25

// large are types with more, how many more they may have today, and why.
var large = map[string]struct {
	fields, methods int
	why             string
}{
	"hogwild/config.Config":      {95, 60, "a setting is a field"},
	"hogwild/rundir.Result":      {74, 13, "a report: a line of JSON is a field"},
	"hogwild/rundir.plainResult": {74, 2, "Result without its methods, for JSON"},
	"hogwild/control.Block":      {14, 49, "all that processes share, each word by a method"},
	"hogwild/cpu.cpu":            {52, 48, "the device of a worker, in whose loop nothing may be looked up"},
	"hogwild/model.convStage":    {28, 19, "sizes and buffers of a layer"},
	"hogwild/data.Meta":          {27, 20, "what a set is: a line of JSON is a field"},
	"hogwild/data.Set":           {44, 65, "embeds what its file says of it"},
	"hogwild/data.Options":       {27, 29, "how a file is read, asked by each kind of reader"},
	"hogwild/data.pairs":         {32, 25, "embeds what its file says of it"},
	"hogwild/data.table":         {42, 56, "a set that is being read"},
	"hogwild/data/format.table":  {40, 37, "a reader of CSV"},
	"hogwild/data/format.block":  {27, 11, "some rows, and all that is read of them"},
	"hogwild/data/format.libsvm": {36, 17, "embeds what all readers have"},
	"hogwild/data/format.rowsOf": {31, 5, "embeds what all readers have"},
	"cuda.job":                   {59, 1, "struct Job of kernels/dev.h, field by field"},
	"cuda.owner":                 {17, 47, "the coordinator's side of a run on GPUs"},
	"cuda.trainer":               {28, 21, "a worker's side, whose kernel is told all of it"},
	"bench.Experiment":           {13, 57, "results, of which a page and a text ask much"},
}

// TestTypesAreSmall counts fields and methods, embedded structs' of the same package included. A struct embedded by its
// pointer is a layer below, which has a type of its own to be counted: see package run.
func TestTypesAreSmall(t *testing.T) {
	inRoot(t)
	for dir, p := range typed(t) {
		for _, name := range p.types.Scope().Names() {
			object, ok := p.types.Scope().Lookup(name).(*types.TypeName)
			if !ok || object.IsAlias() {
				continue
			}
			fields, methods := members(object.Type().(*types.Named))
			limit := large[dir+"."+name]
			if fields > max(maxMembers, limit.fields) || methods > max(maxMembers, limit.methods) {
				t.Errorf("%s.%s has %d fields and %d methods, with those of embedded structs, at most %d and %d", dir,
					name, fields, methods, max(maxMembers, limit.fields), max(maxMembers, limit.methods))
			}
			if limit.why != "" && fields <= maxMembers && methods <= maxMembers {
				t.Errorf("%s.%s has %d fields and %d methods: take it out of the list of large types", dir, name,
					fields, methods)
			}
		}
	}
}

// members counts a type's fields and methods, with its embedded structs' if they are of its package.
func members(of *types.Named) (fields, methods int) {
	methods = of.NumMethods()
	switch u := of.Underlying().(type) {
	case *types.Interface:
		return 0, u.NumMethods()
	case *types.Struct:
		for f := range u.Fields() {
			if in, ok := f.Type().(*types.Named); ok && f.Embedded() && in.Obj().Pkg() == of.Obj().Pkg() {
				more, with := members(in)
				fields, methods = fields+more, methods+with
				continue
			}
			fields++
		}
	}
	return fields, methods
}

// listed is a line of a package's comment that names one of its files.
var listed = regexp.MustCompile(`(?m)^\t([a-z0-9_]+\.go) `)

// upward is how many uses of a name in a package stand in a file that comes after its declaration's, in the order of
// the package's comment. Methods count as names, fields do not. Packages that are missing here have none.
var upward = map[string]int{
	"hogwild/program/programtest": 3,
}

// unordered are packages of several files whose comment does not list them, so that nothing is counted.
var unordered = []string{"internal/check", "internal/fault", "shm", "hogwild/model"}

// TestArrowsPointDown: see upward.
func TestArrowsPointDown(t *testing.T) {
	inRoot(t)
	for dir, p := range typed(t) {
		if dir == "internal/vec" {
			continue // which has other files on other processors
		}
		if some := p.order != nil || len(p.files) < 2; some == slices.Contains(unordered, dir) {
			t.Errorf("%s: its comment must list its files, or unordered in house_test.go name it", dir)
		}
		for _, name := range p.files {
			if p.order != nil && !slices.Contains(p.order, path.Base(name)) {
				t.Errorf("%s: the comment of its package does not list it", name)
			}
		}
		up, example := 0, ""
		for _, id := range p.receivers {
			delete(p.uses, id)
		}
		for id, object := range p.uses {
			if v, ok := object.(*types.Var); ok && v.IsField() || object.Pkg() != p.types || !object.Pos().IsValid() ||
				object.Parent() != nil && object.Parent() != p.types.Scope() {
				continue
			}
			from, to := p.place(id.Pos()), p.place(object.Pos())
			if from >= 0 && to >= 0 && to < from {
				up++
				example = fmt.Sprintf("%s uses %s of %s", p.fset.Position(id.Pos()), id.Name,
					path.Base(p.fset.Position(object.Pos()).Filename))
			}
		}
		if up > upward[dir] {
			t.Errorf("%s: %d uses point up, %d are allowed: %s", dir, up, upward[dir], example)
		} else if up < upward[dir] {
			t.Errorf("%s: %d uses point up: write that for %d in house_test.go", dir, up, upward[dir])
		}
	}
}

// checked is a package with its types.
type checked struct {
	fset  *token.FileSet
	types *types.Package
	uses  map[*ast.Ident]types.Object
	files []string // that declare something
	order []string // the files, as the comment lists them

	receivers []*ast.Ident // types before methods, which may stand in other files
}

// place returns where a file stands in the order; -1: it is not listed.
func (c *checked) place(at token.Pos) int {
	return slices.Index(c.order, path.Base(c.fset.Position(at).Filename))
}

// typed returns all packages but tests with their types.
func typed(t *testing.T) map[string]*checked {
	t.Helper()
	all, err := typechecked()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// typechecked checks the types of all packages but tests, as they are built without tags; cuda as it is built with its
// own.
var typechecked = sync.OnceValues(func() (map[string]*checked, error) {
	list := exec.Command("go", "list", "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{join .GoFiles \" \"}}", "./...")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	exports, ours := map[string]string{}, map[string][]string{}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[f[0]] = f[1]
		if dir, mine := strings.CutPrefix(f[2], here+"/"); mine && f[3] != "" {
			for name := range strings.FieldsSeq(f[3]) {
				ours[dir] = append(ours[dir], dir+"/"+name)
			}
		}
	}
	if ours["cuda"], err = taggedCUDA(); err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	read := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	all := map[string]*checked{}
	for _, dir := range slices.Sorted(maps.Keys(ours)) {
		c := &checked{fset: fset, uses: map[*ast.Ident]types.Object{}}
		var trees []*ast.File
		for _, name := range ours[dir] {
			f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			trees = append(trees, f)
			if len(f.Decls) > 0 {
				c.files = append(c.files, name)
			}
			c.receivers = slices.AppendSeq(c.receivers, maps.Keys(receivers(f)))
			for _, m := range listed.FindAllStringSubmatch(f.Doc.Text(), -1) {
				c.order = append(c.order, m[1])
			}
		}
		info := &types.Info{Uses: c.uses}
		conf := types.Config{Importer: read, FakeImportC: true}
		if dir == "cuda" { // the driver's packages need its headers: what comes from them has no type here
			conf.Error = func(error) {}
		}
		if c.types, err = conf.Check("hogwild/"+dir, fset, trees, info); err != nil && conf.Error == nil {
			return nil, err
		}
		all[dir] = c
	}
	return all, nil
})

// taggedCUDA lists the files of package cuda that are built with the tag cuda. That needs no header of the driver.
func taggedCUDA() (paths []string, err error) {
	context := build.Default
	context.BuildTags, context.CgoEnabled = []string{"cuda"}, true
	p, err := context.ImportDir("cuda", 0)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		paths = append(paths, "cuda/"+name)
	}
	return paths, nil
}
