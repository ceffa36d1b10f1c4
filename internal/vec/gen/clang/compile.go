package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// function is a signature and its code.
type function struct {
	signature
	code []instruction
}

// instruction is the bytes of one and what it says, behind the labels that lead to it.
type instruction struct {
	data   []byte
	text   string
	labels []string
}

// processor is what Go calls an architecture: how C is compiled for it and called from Go.
type processor struct {
	name    string
	flags   []string // of clang
	comment string   // what begins one in a listing
	step    int      // the most bytes in a line of assembly
	// convention is the attribute of functions, integers and floats are where they take parameters, and moves how
	// Go's assembler moves one of a type; result is an integer's, address takes that of the frame.
	convention       string
	integers, floats []string
	moves            map[string]string
	result, address  string
	directives       []directive
	free             func([]instruction) error
}

// directive puts some bytes into the code.
type directive struct {
	name  string
	bytes int
}

// set is a set of instructions of a processor, as functions of C are named after it.
type set struct {
	*processor
	name  string
	flags []string
}

// flags: the compiler makes no vectors, fused operations, tables or calls but those that the source has.
var flags = strings.Fields(`-O3 -Wall -Werror -ffreestanding -fno-builtin -fno-math-errno -fno-pic -ffp-contract=off
	-fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fno-jump-tables -fno-asynchronous-unwind-tables
	-mllvm -enable-shrink-wrap=false -falign-functions=32`)

// compile makes the functions of a C file, once as text and from that as an object: the
// text says what the bytes are.
func compile(file string, s set) ([]function, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := signatures(string(source), s)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "clang")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	prototypes, text, object := filepath.Join(dir, "go.h"), filepath.Join(dir, "c.s"), filepath.Join(dir, "c.o")
	declared := "#include <stdint.h>\n"
	for _, s := range all {
		declared += s.prototype()
	}
	if err := os.WriteFile(prototypes, []byte(declared), 0o600); err != nil {
		return nil, err
	}
	if err := clang(slices.Concat(flags, s.processor.flags, s.flags,
		[]string{"-include", prototypes, "-S", file, "-o", text})...); err != nil {
		return nil, err
	}
	listing, err := os.ReadFile(text)
	if err != nil {
		return nil, err
	}
	marked := s.mark(string(listing))
	if err := os.WriteFile(text, []byte(marked), 0o600); err != nil {
		return nil, err
	}
	if err := clang(s.processor.flags[0], "-c", text, "-o", object); err != nil {
		return nil, err
	}
	return s.assemble(all, marked, object)
}

func clang(arguments ...string) error {
	out, err := exec.Command("clang-19", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("clang-19: %w\n%s", err, out)
	}
	return nil
}

// said is what a line of a listing says: nothing, a label, a directive or an instruction.
func (s set) said(line string) (text string, label, instruction bool) {
	line, _, _ = strings.Cut(line, s.comment)
	line = strings.TrimRight(line, " \t\n")
	text = strings.Join(strings.Fields(line), " ")
	label = strings.HasSuffix(line, ":")
	return text, label, strings.HasPrefix(line, "\t") && text != "" && text[0] != '.' && !label
}

// symbol is what mark numbers; gap is the directive that may put bytes between instructions.
const symbol, gap = "at.", ".p2align"

// mark puts a symbol before each instruction of a listing and before each gap: the object says where they lie.
func (s set) mark(listing string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(listing) {
		if text, _, instruction := s.said(line); instruction || strings.HasPrefix(text, gap) {
			fmt.Fprintf(&b, "%s%d:\n", symbol, n)
			n++
		}
		b.WriteString(line)
	}
	return b.String()
}

// assemble joins the bytes of the object with the lines of the listing.
func (s set) assemble(all []signature, listing, object string) ([]function, error) {
	f, err := elf.Open(object)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Size > 0 && (s.Type == elf.SHT_RELA || s.Type == elf.SHT_REL ||
			s.Flags&elf.SHF_ALLOC != 0 && s.Name != ".text") {
			return nil, fmt.Errorf("the object has %s: the code needs data or a function beside it, for which there "+
				"is no place", s.Name)
		}
	}
	data, err := f.Section(".text").Data()
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	at, places := map[string]elf.Symbol{}, map[string]int{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			at[s.Name] = s
		}
		places[s.Name] = int(s.Value)
	}
	if len(at) != len(all) {
		return nil, fmt.Errorf("%d functions in C, %d that Go declares: others are to be inlined", len(at), len(all))
	}
	var functions []function
	for _, signature := range all {
		symbol, ok := at[signature.name]
		if !ok {
			return nil, fmt.Errorf("no function %s in C", signature.name)
		}
		code, err := s.lines(listing, signature.name, data[:symbol.Value+symbol.Size], places)
		if err == nil {
			err = s.free(code)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", signature.name, err)
		}
		functions = append(functions, function{signature, code})
	}
	return functions, nil
}

// lines are the bytes of a function, which ends with data, by its lines of the listing.
func (s set) lines(listing, name string, data []byte, places map[string]int) (code []instruction, err error) {
	_, listing, found := strings.Cut(listing, "\n"+name+":")
	listing, _, ended := strings.Cut(listing, ".Lfunc_end")
	if !found || !ended {
		return nil, fmt.Errorf("not in the listing")
	}
	var labels []string
	n, from := 0, 0
	_, listing, _ = strings.Cut(listing, "\n")
	for line := range strings.Lines(listing) {
		text, label, instructs := s.said(line)
		number, numbered := strings.CutPrefix(text, symbol)
		switch {
		case numbered:
			from = places[strings.TrimSuffix(text, ":")]
			n, err = strconv.Atoi(strings.TrimSuffix(number, ":"))
		case label:
			labels = append(labels, strings.TrimPrefix(strings.TrimSuffix(text, ":"), ".L"))
		case instructs || strings.HasPrefix(text, gap):
			to, more := places[fmt.Sprint(symbol, n+1)]
			if !more || to > len(data) {
				to = len(data)
			}
			if instructs {
				text = strings.ReplaceAll(text, ".LBB", "BB")
				code, labels = append(code, instruction{data[from:to], text, labels}), nil
				break
			}
			for between := range slices.Chunk(data[from:to], s.step) {
				code = append(code, instruction{between, "nop", nil})
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if len(code) == 0 {
		return nil, fmt.Errorf("no instructions in the listing")
	}
	if last := code[len(code)-1].text; !strings.HasPrefix(last, "ret") && !strings.HasPrefix(last, "b ") &&
		!strings.HasPrefix(last, "jmp ") {
		return nil, fmt.Errorf("the listing ends with %q", last)
	}
	return code, nil
}

// assembly is the bytes in Go's assembly.
func (p *processor) assembly(data []byte) string {
	var all []string
	for _, d := range p.directives {
		for len(data) >= d.bytes {
			word := make([]byte, 8)
			copy(word, data[:d.bytes])
			all = append(all, fmt.Sprintf("%s $0x%0*x", d.name, 2*d.bytes, binary.LittleEndian.Uint64(word)))
			data = data[d.bytes:]
		}
	}
	return strings.Join(all, "; ")
}
