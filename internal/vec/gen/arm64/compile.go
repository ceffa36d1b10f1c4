package main

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// function is a signature and its code.
type function struct {
	signature
	code []instruction
}

// instruction is one word of code and what it says, behind the labels that lead to it.
type instruction struct {
	word   uint32
	text   string
	labels []string
}

const (
	alignment = 32 // bytes, of a function
	nop       = 0xd503201f
)

// flags: the compiler makes no vectors, fused operations, tables or calls but those that the source
// has. x18 is the system's, x27 the assembler's, x28 the goroutine, and x30, lr, the way back.
var flags = strings.Fields(`--target=aarch64-linux-gnu -mtune=neoverse-n1 -O3 -Wall -Werror -ffreestanding -fno-builtin
	-fno-pic -ffp-contract=off -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fno-jump-tables
	-fno-asynchronous-unwind-tables -ffixed-x18 -ffixed-x27 -ffixed-x28 -Xclang -target-feature -Xclang +reserve-lr-for-ra -mllvm -enable-shrink-wrap=false
	-falign-functions=32`)

// compile makes the functions of a C file, once as text and from that as an object: the
// text says what the words are.
func compile(file string) ([]function, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	all, err := signatures(string(source))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "arm64")
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
	if err := clang(append(flags, "-include", prototypes, "-S", file, "-o", text)...); err != nil {
		return nil, err
	}
	if err := clang("--target=aarch64-linux-gnu", "-c", text, "-o", object); err != nil {
		return nil, err
	}
	listing, err := os.ReadFile(text)
	if err != nil {
		return nil, err
	}
	return assemble(all, string(listing), object)
}

func clang(arguments ...string) error {
	out, err := exec.Command("clang-19", arguments...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("clang-19: %w\n%s", err, out)
	}
	return nil
}

// assemble joins the words of the object with the lines of the listing.
func assemble(all []signature, listing, object string) ([]function, error) {
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
	section := f.Section(".text")
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	symbols, err := f.Symbols()
	if err != nil {
		return nil, err
	}
	at := map[string]elf.Symbol{}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) == elf.STT_FUNC {
			at[s.Name] = s
		}
	}
	if len(at) != len(all) {
		return nil, fmt.Errorf("%d functions in C, %d that Go declares: others are to be inlined", len(at), len(all))
	}
	var functions []function
	for _, s := range all {
		symbol, ok := at[s.name]
		if !ok {
			return nil, fmt.Errorf("no function %s in C", s.name)
		}
		code, err := lines(listing, s.name, data[symbol.Value:symbol.Value+symbol.Size])
		if err == nil {
			err = free(code)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		functions = append(functions, function{s, code})
	}
	return functions, nil
}

// lines are the words of a function with its lines of the listing. Only the nops before an
// aligned loop have no line.
func lines(listing, name string, data []byte) (code []instruction, err error) {
	_, text, found := strings.Cut(listing, "\n"+name+":")
	text, _, ended := strings.Cut(text, ".Lfunc_end")
	if !found || !ended {
		return nil, fmt.Errorf("not in the listing")
	}
	next := func() (word uint32) {
		if len(data) >= 4 {
			word, data = binary.LittleEndian.Uint32(data), data[4:]
		}
		return word
	}
	var labels []string
	_, text, _ = strings.Cut(text, "\n")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		switch line = strings.TrimRight(line, " \t\n"); {
		case strings.HasPrefix(line, ".L"):
			labels = append(labels, strings.TrimSuffix(strings.TrimPrefix(line, ".L"), ":"))
		case strings.HasPrefix(line, "\t") && !strings.HasPrefix(line, "\t."):
			word := next()
			for word == nop {
				code, word = append(code, instruction{nop, "nop", nil}), next()
			}
			text := strings.ReplaceAll(strings.Join(strings.Fields(line), " "), ".LBB", "BB")
			code, labels = append(code, instruction{word, text, labels}), nil
		}
	}
	if len(data) > 0 || len(code) == 0 ||
		!strings.HasPrefix(code[len(code)-1].text, "ret") && !strings.HasPrefix(code[len(code)-1].text, "b ") {
		return nil, fmt.Errorf("%d bytes are left when the listing ends", len(data))
	}
	return code, nil
}
