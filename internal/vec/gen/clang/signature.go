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

// value is a parameter or result, its type in C, how Go's assembler moves it, and where it lies
// in the frame of a Go function.
type value struct {
	name, c, move string
	at            int64
}

func (v value) float() bool { return v.c == "float" || v.c == "double" }

// signature is a function as Go declares it, in a line of the C source that begins
// with "//go: ", behind its comment. SIMD in it stands for the name of the set of instructions. One with more than
// eight integers, or with several results, gets in C the address of a struct with its name: its parameters and
// results as they lie in the frame.
type signature struct {
	*processor
	inSource, name  string
	text            string // as Go declares it
	doc             []string
	params, results []value
	size            int64 // of the frame
}

const mark, anySet = "//go: ", "SIMD"

// signatures returns the signatures in a C source, in its order.
func signatures(source string, of set) (all []signature, err error) {
	var doc []string
	for line := range strings.Lines(source) {
		line = strings.TrimRight(line, "\n")
		declaration, marked := strings.CutPrefix(line, mark)
		switch {
		case marked:
			s, err := parse(strings.ReplaceAll(declaration, anySet, of.name), of.processor)
			if err != nil {
				return nil, err
			}
			s.inSource, _, _ = strings.Cut(strings.TrimPrefix(declaration, "func "), "(")
			for _, line := range firstParagraph(doc) {
				s.doc = append(s.doc, strings.ReplaceAll(line, anySet, of.name))
			}
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

func parse(declaration string, p *processor) (s signature, err error) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(declaration, "func "), "(")
	expression, err := types.Eval(token.NewFileSet(), nil, token.NoPos, "func("+rest)
	if err != nil {
		return s, fmt.Errorf("%s: %w", declaration, err)
	}
	f := expression.Type.(*types.Signature)
	s.processor, s.name, s.text = p, name, declaration
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
		v, err := p.value(all[i], at)
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

func (p *processor) value(v *types.Var, at int64) (value, error) {
	t, name := v.Type(), cmp.Or(v.Name(), "ret")
	if to, ok := t.(*types.Pointer); ok && inC[to.Elem().String()] != "" {
		return value{name, inC[to.Elem().String()] + " *", p.moves["int"], at}, nil
	}
	if move := p.moves[t.String()]; move != "" {
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
	text := ""
	if s.inSource != s.name {
		text = fmt.Sprintf("#define %s %s\n", s.inSource, s.name)
	}
	result, params := "void", []string{}
	switch {
	case s.inMemory():
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
		text += fmt.Sprintf("struct %s {\n%s};\n", s.name, fields)
		params = append(params, "struct "+s.name+" *")
	default:
		if len(s.results) == 1 {
			result = s.results[0].c
		}
		for _, p := range s.params {
			params = append(params, p.c+" "+p.name)
		}
	}
	if len(params) == 0 {
		params = append(params, "void")
	}
	return fmt.Sprintf("%s%s %s %s(%s);\n", text, s.convention, result, s.name, strings.Join(params, ", "))
}

// glue is the body of the Go function. Without a result it ends in a jump, and C
// returns to the caller.
func (s *signature) glue() string {
	var b strings.Builder
	if s.inMemory() {
		fmt.Fprintf(&b, "\t%s\n\tJMP %s(SB)\n", fmt.Sprintf(s.address, s.params[0].name), s.code())
		return b.String()
	}
	next := map[bool]int{}
	for _, p := range s.params {
		register := map[bool][]string{false: s.integers, true: s.floats}[p.float()][next[p.float()]]
		fmt.Fprintf(&b, "\t%s %s+%d(FP), %s\n", p.move, p.name, p.at, register)
		next[p.float()]++
	}
	if len(s.results) == 0 {
		fmt.Fprintf(&b, "\tJMP %s(SB)\n", s.code())
		return b.String()
	}
	r := s.results[0]
	register := map[bool]string{false: s.result, true: s.floats[0]}[r.float()]
	move := strings.TrimSuffix(r.move, "U")
	fmt.Fprintf(&b, "\tCALL %s(SB)\n\t%s %s, %s+%d(FP)\n\tRET\n", s.code(), move, register, r.name, r.at)
	return b.String()
}

// code is the symbol of what C is compiled to.
func (s *signature) code() string { return "·" + s.name + "C<>" }
