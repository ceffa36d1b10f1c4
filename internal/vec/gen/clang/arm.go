package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// arm64: x18 is the system's, x27 the assembler's, x28 the goroutine, and x30, lr, the way back.
var arm64 = processor{
	name: "arm64",
	flags: strings.Fields(`--target=aarch64-linux-gnu -mtune=neoverse-n1 -ffixed-x18 -ffixed-x27 -ffixed-x28
		-Xclang -target-feature -Xclang +reserve-lr-for-ra`),
	comment:    "//",
	step:       4,
	integers:   strings.Fields("R0 R1 R2 R3 R4 R5 R6 R7"),
	floats:     strings.Fields("F0 F1 F2 F3 F4 F5 F6 F7"),
	moves:      map[string]string{"int": "MOVD", "uint32": "MOVWU", "float32": "FMOVS", "float64": "FMOVD"},
	result:     "R0",
	address:    "MOVD $%s+0(FP), R0",
	directives: []directive{{"WORD", 4}},
	free:       freeOnArm,
}

var neon = set{processor: &arm64, name: "NEON"}

var nop = []byte{0x1f, 0x20, 0x03, 0xd5}

var (
	stack = regexp.MustCompile(`\bw?sp\b`)
	// saves are what a function of C keeps for its caller; Go's functions do not expect it.
	saves    = regexp.MustCompile(`^(stp|str) ((x19|x2[0-6]|d8|d9|d1[0-5])(, )?)+, \[sp[^\]]*\]!?$`)
	restores = regexp.MustCompile(`^(ldp|ldr) ((x19|x2[0-6]|d8|d9|d1[0-5])(, )?)+, \[sp[^\]]*\](, #\d+)?$`)
	adjusts  = regexp.MustCompile(`^(add|sub) sp, sp, #\d+$`)
	// taken are the registers of the system, of Go's assembler and of the goroutine, the frame
	// pointer and the link register.
	taken    = regexp.MustCompile(`\b[xw](18|27|28|29|30)\b`)
	register = regexp.MustCompile(`\b[xwvqdsh]\d+\b`)
	branch   = regexp.MustCompile(`^(b|b\..*|cbz|cbnz|tbz|tbnz) `)
	calls    = regexp.MustCompile(`^(bl|blr|br)\b`)
)

// freeOnArm replaces by nops what saves registers on the stack, and fails if the code uses the
// stack, or a register that is not its own.
func freeOnArm(code []instruction) error {
	for i := range code {
		text := code[i].text
		switch {
		case taken.MatchString(text):
			return fmt.Errorf("%q uses a register that is not free", text)
		case calls.MatchString(text):
			return fmt.Errorf("%q leaves the function", text)
		case !stack.MatchString(text):
			continue
		case restores.MatchString(text):
			if !leads(code[i:]) {
				return fmt.Errorf("%q is a value that found no register: it is used afterwards", text)
			}
		case !saves.MatchString(text) && !adjusts.MatchString(text):
			return fmt.Errorf("%q uses the stack: too many values for the registers", text)
		}
	}
	for i := range code { // with no value loaded, none need be stored
		if stack.MatchString(code[i].text) {
			code[i].data, code[i].text = nop, "nop, for "+code[i].text
		}
	}
	return nil
}

// leads reports whether nothing uses what the first instruction restores before the function returns.
func leads(code []instruction) bool {
	var restored []string
	for _, i := range code {
		switch {
		case strings.HasPrefix(i.text, "ret"):
			return true
		case branch.MatchString(i.text):
			return false
		case restores.MatchString(i.text):
			restored = append(restored, registers(i.text)...)
			continue
		}
		for _, r := range registers(i.text) {
			if slices.Contains(restored, r) {
				return false
			}
		}
	}
	return false
}

// registers returns the registers that the text names, each by the name of the whole of it.
func registers(text string) (all []string) {
	for _, r := range register.FindAllString(text, -1) {
		kind := "v"
		if r[0] == 'w' || r[0] == 'x' {
			kind = "x"
		}
		all = append(all, kind+r[1:])
	}
	return all
}
