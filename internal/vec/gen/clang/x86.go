package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

// amd64: a function of this convention owns all registers but the stack's and the frame's pointer, which is kept as
// such, so that no value is put into it. Go's wrappers set R14 and X15 again.
var amd64 = processor{
	name: "amd64",
	flags: strings.Fields(`--target=x86_64-linux-gnu -fno-omit-frame-pointer -mavx2 -mfma -mbmi -mbmi2
		-falign-loops=32`),
	comment:    "#",
	step:       8,
	convention: "__attribute__((preserve_none))",
	integers:   strings.Fields("R12 R13 R14 R15 DI SI DX CX"),
	floats:     strings.Fields("X0 X1 X2 X3 X4 X5 X6 X7"),
	moves:      map[string]string{"int": "MOVQ", "uint32": "MOVL", "float32": "MOVSS", "float64": "MOVSD"},
	result:     "AX",
	address:    "LEAQ %s+0(FP), R12",
	directives: []directive{{"QUAD", 8}, {"LONG", 4}, {"WORD", 2}, {"BYTE", 1}},
	free:       freeOnX86,
}

var x86 = []set{
	{&amd64, "AVX2", []string{"-mtune=haswell"}},
	{&amd64, "AVX512", strings.Fields(`-mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512
		-mtune=sapphirerapids`)},
}

var (
	frame       = regexp.MustCompile(`^(pushq %rbp|movq %rsp, %rbp|popq %rbp)$`)
	stackOnX86  = regexp.MustCompile(`%[re]?[sb]pl?\b|^(push|pop|leave|enter)`)
	leavesOnX86 = regexp.MustCompile(`^(call|syscall|int|jmpq? \*)`)
)

// freeOnX86 replaces by nops what makes a frame, and fails if the code uses the stack otherwise, or leaves the
// function.
func freeOnX86(code []instruction) error {
	for i := range code {
		text := code[i].text
		switch {
		case frame.MatchString(text):
			code[i].data, code[i].text = bytes.Repeat([]byte{0x90}, len(code[i].data)), "nop, for "+text
		case stackOnX86.MatchString(text):
			return fmt.Errorf("%q uses the stack: too many values for the registers", text)
		case leavesOnX86.MatchString(text):
			return fmt.Errorf("%q leaves the function", text)
		}
	}
	return nil
}
