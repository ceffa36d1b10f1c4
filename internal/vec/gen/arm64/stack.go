package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

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

// free replaces by nops what saves registers on the stack, and fails if the code uses the
// stack, or a register that is not its own.
func free(code []instruction) error {
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
			code[i].word, code[i].text = nop, "nop, for "+code[i].text
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
