package main

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// inC are the types of Go, by themselves or behind pointers, as C has them.
var inC = map[string]string{
	"int": "long", "uint8": "uint8_t", "uint32": "uint32_t", "int32": "int32_t", "int64": "int64_t",
	"uint64":  "uint64_t",
	"float32": "float", "float64": "double",
}

// moves are how Go's assembler moves a parameter or result that is no pointer.
var moves = map[string]string{"int": "MOVD", "uint32": "MOVWU", "float32": "FMOVS", "float64": "FMOVD"}

// value is a parameter or result, its type in C, how Go's assembler moves it, and where it lies
// in the frame of a Go function.
type value struct {
	name, c, move string
	at            int64
}

func (v value) float() bool { return strings.HasPrefix(v.move, "F") }

// signature is a function as Go declares it, in a line of the C source that begins
// with "//go: ", behind its comment. One with more than eight integers, or with several results,
// gets in C the address of a struct with its name: its parameters and results as they lie
// in the frame.
type signature struct {
	name            string
	text            string // as Go declares it
	doc             []string
	params, results []value
	size            int64 // of the frame
}

const mark = "//go: "

// signatures returns the signatures in a C source, in its order.
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
	name, rest, _ := strings.Cut(strings.TrimPrefix(declaration, "func "), "(")
	expression, err := types.Eval(token.NewFileSet(), nil, token.NoPos, "func("+rest)
	if err != nil {
		return s, fmt.Errorf("%s: %w", declaration, err)
	}
	f := expression.Type.(*types.Signature)
	s.name, s.text = name, declaration
	all := slices.Collect(f.Params().Variables())
	if f.Results().Len() > 0 { // they begin at a multiple of 8
		all = append(all, types.NewParam(token.NoPos, nil, "", types.NewArray(types.Typ[types.Int64], 0)))
	}
	all = slices.AppendSeq(all, f.Results().Variables())
	sizes := types.SizesFor("gc", "arm64")
	for i, at := range sizes.Offsetsof(all) {
		s.size = at + sizes.Sizeof(all[i].Type())
		if i == f.Params().Len() {
			continue
		}
		v, err := valueOf(all[i], at)
		if err != nil {
			return s, fmt.Errorf("%s: %w", declaration, err)
		}
		if i < f.Params().Len() {
			s.params = append(s.params, v)
		} else {
			s.results = append(s.results, v)
		}
	}
	return s, nil
}

func valueOf(v *types.Var, at int64) (value, error) {
	t, name := v.Type(), cmp.Or(v.Name(), "ret")
	if p, ok := t.(*types.Pointer); ok && inC[p.Elem().String()] != "" {
		return value{name, inC[p.Elem().String()] + " *", "MOVD", at}, nil
	}
	if move := moves[t.String()]; move != "" {
		return value{name, inC[t.String()], move, at}, nil
	}
	return value{}, fmt.Errorf("a type that C is not given: %v", t)
}

// inMemory reports whether C gets the address of the frame.
func (s *signature) inMemory() bool {
	integers := 0
	for _, p := range s.params {
		if !p.float() {
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
		register := map[bool]string{false: "R", true: "F"}[p.float()]
		fmt.Fprintf(&b, "\t%s %s+%d(FP), %s%d\n", p.move, p.name, p.at, register, next[p.float()])
		next[p.float()]++
	}
	if len(s.results) == 0 {
		fmt.Fprintf(&b, "\tJMP %s<>(SB)\n", s.name)
		return b.String()
	}
	r := s.results[0]
	register := map[bool]string{false: "R0", true: "F0"}[r.float()]
	move := strings.TrimSuffix(r.move, "U")
	fmt.Fprintf(&b, "\tCALL %s<>(SB)\n\t%s %s, %s+%d(FP)\n\tRET\n", s.name, move, register, r.name, r.at)
	return b.String()
}
