package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// kind is a type of Go: as C has it, its size, and how Go's assembler moves one.
type kind struct {
	c     string
	size  int
	move  string
	float bool
}

var kinds = map[string]kind{
	"int":     {"long", 8, "MOVD", false},
	"uint32":  {"uint32_t", 4, "MOVWU", false},
	"float32": {"float", 4, "FMOVS", true},
	"float64": {"double", 8, "FMOVD", true},
}

// pointed are the types of C behind the pointers of Go.
var pointed = map[string]string{
	"uint8": "uint8_t", "uint32": "uint32_t", "int32": "int32_t", "int64": "int64_t", "uint64": "uint64_t",
	"float32": "float", "float64": "double",
}

// value is a parameter or result, and where it lies in the frame of a Go function.
type value struct {
	name string
	kind
	at int
}

// signature is a function as Go declares it, in a line of the C source that begins
// with "//go: ", behind its comment. One with more than eight integers, or with several results,
// gets in C the address of a struct with its name: its parameters and results as they lie
// in the frame.
type signature struct {
	name            string
	text            string // as Go declares it
	doc             []string
	params, results []value
	size            int // of the frame
}

const mark = "//go: "

// signatures are those of a C source, in its order.
func signatures(source string) (all []signature, err error) {
	var doc []string
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, "\n")
		declaration, marked := strings.CutPrefix(line, mark)
		switch {
		case marked:
			s, err := parse(declaration)
			if err != nil {
				return nil, err
			}
			s.doc = firstParagraph(doc)
			all = append(all, s)
		case strings.HasPrefix(line, "//"):
			doc = append(doc, strings.TrimPrefix(strings.TrimPrefix(line, "//"), " "))
		default:
			doc = nil
		}
	}
	return all, nil
}

func firstParagraph(lines []string) []string {
	for i, line := range lines {
		if line == "" {
			return lines[:i]
		}
	}
	return lines
}

func parse(declaration string) (s signature, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+declaration, 0)
	if err != nil {
		return s, fmt.Errorf("%s: %w", declaration, err)
	}
	f, ok := file.Decls[0].(*ast.FuncDecl)
	if !ok {
		return s, fmt.Errorf("not a function: %s", declaration)
	}
	s.name, s.text = f.Name.Name, declaration
	if s.params, err = s.values(f.Type.Params, ""); err != nil {
		return s, err
	}
	if f.Type.Results != nil {
		s.size = (s.size + 7) &^ 7
		s.results, err = s.values(f.Type.Results, "ret")
	}
	return s, err
}

// values gives each of the list its place behind those that have one.
func (s *signature) values(list *ast.FieldList, unnamed string) (all []value, err error) {
	for _, field := range list.List {
		k, err := kindOf(field.Type)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.text, err)
		}
		names := []string{unnamed}
		if len(field.Names) > 0 {
			names = nil
		}
		for _, n := range field.Names {
			names = append(names, n.Name)
		}
		for _, name := range names {
			s.size = (s.size + k.size - 1) / k.size * k.size
			all = append(all, value{name, k, s.size})
			s.size += k.size
		}
	}
	return all, nil
}

func kindOf(e ast.Expr) (kind, error) {
	switch e := e.(type) {
	case *ast.Ident:
		if k, ok := kinds[e.Name]; ok {
			return k, nil
		}
	case *ast.StarExpr:
		if id, ok := e.X.(*ast.Ident); ok && pointed[id.Name] != "" {
			return kind{pointed[id.Name] + " *", 8, "MOVD", false}, nil
		}
	}
	return kind{}, fmt.Errorf("a type that C is not given: %v", e)
}

// inMemory tells whether C gets the address of the frame.
func (s *signature) inMemory() bool {
	integers := 0
	for _, p := range s.params {
		if !p.float {
			integers++
		}
	}
	return integers > 8 || len(s.results) > 1
}

// prototype declares the function in C, so that the compiler finds where a definition
// is not what Go declares.
func (s *signature) prototype() string {
	if s.inMemory() {
		fields := ""
		for _, p := range s.params {
			fields += fmt.Sprintf("\t%s %s;\n", p.c, p.name)
		}
		for i, r := range s.results {
			if i == 0 {
				fields += "\t__attribute__((aligned(8)))\n"
			}
			fields += fmt.Sprintf("\t%s %s;\n", r.c, r.name)
		}
		return fmt.Sprintf("struct %s {\n%s};\nvoid %s(struct %s *);\n", s.name, fields, s.name, s.name)
	}
	result, params := "void", []string{}
	if len(s.results) == 1 {
		result = s.results[0].c
	}
	for _, p := range s.params {
		params = append(params, p.c+" "+p.name)
	}
	return fmt.Sprintf("%s %s(%s);\n", result, s.name, strings.Join(params, ", "))
}

// glue is the body of the Go function. Without a result it ends in a jump, and C
// returns to the caller.
func (s *signature) glue() string {
	var b strings.Builder
	if s.inMemory() {
		fmt.Fprintf(&b, "\tMOVD $%s+0(FP), R0\n\tJMP %s<>(SB)\n", s.params[0].name, s.name)
		return b.String()
	}
	next := map[bool]int{}
	for _, p := range s.params {
		register := map[bool]string{false: "R", true: "F"}[p.float]
		fmt.Fprintf(&b, "\t%s %s+%d(FP), %s%d\n", p.move, p.name, p.at, register, next[p.float])
		next[p.float]++
	}
	if len(s.results) == 0 {
		fmt.Fprintf(&b, "\tJMP %s<>(SB)\n", s.name)
		return b.String()
	}
	r := s.results[0]
	register := map[bool]string{false: "R0", true: "F0"}[r.float]
	move := strings.TrimSuffix(r.move, "U")
	fmt.Fprintf(&b, "\tCALL %s<>(SB)\n\t%s %s, %s+%d(FP)\n\tRET\n", s.name, move, register, r.name, r.at)
	return b.String()
}
