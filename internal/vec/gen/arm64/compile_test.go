package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestRefuses has C that Go cannot take over, each for one reason, and C that is taken over.
func TestRefuses(t *testing.T) {
	if _, err := exec.LookPath("clang-19"); err != nil {
		t.Skip("clang-19 is missing")
	}
	for name, c := range map[string]struct{ source, want string }{
		"nothing": {"//go: func f(x *float32, n int) float32\nfloat f(float *x, long n) { return x[n] + 1; }", ""},
		"saved": {"//go: func f(n int) int\nlong f(long n) { asm volatile(\"\" ::: \"x19\", \"d8\"); return n; }",
			""},
		"data": {"//go: func f() float64\ndouble f(void) { return 0.1; }", "needs data"},
		"call": {"//go: func f(n int) int\nlong g(long);\nlong f(long n) { return g(n) + 1; }",
			"or a function beside it"},
		"helper": {"//go: func f(n int) int\nlong g(long n) { return n; }\nlong f(long n) { return g(n); }",
			"2 functions in C, 1 that Go declares"},
		"stack": {"//go: func f(n int) int\nlong f(long n) { volatile long a[9]; a[n] = n; return a[1]; }",
			"uses the stack"},
		"spill": {"//go: func f(x *float32) float32\nfloat f(float *x) { float a = *x; asm volatile(\"\" ::: \"v0\", " +
			"\"v1\", \"v2\", \"v3\", \"v4\", \"v5\", \"v6\", \"v7\", " +
			"\"v8\", \"v9\", \"v10\", \"v11\", \"v12\", \"v13\", \"v14\", \"v15\", \"v16\", \"v17\", \"v18\", " +
			"\"v19\", \"v20\", \"v21\", \"v22\", \"v23\", " +
			"\"v24\", \"v25\", \"v26\", \"v27\", \"v28\", \"v29\", \"v30\", \"v31\"); return a; }", "the stack"},
		"goroutine": {"//go: func f(n int) int\nlong f(long n) { asm volatile(\"mov x28, %0\" :: \"r\"(n)); return n; }", "not free"},
		"type":      {"//go: func f(n int) int\nint f(long n) { return n; }", "conflicting types"},
		"argument":  {"//go: func f(n []int) int\nlong f(long n) { return n; }", "a type that C is not given"},
	} {
		file := filepath.Join(t.TempDir(), "c.c")
		if err := os.WriteFile(file, []byte(c.source+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		functions, err := compile(file)
		switch {
		case c.want == "" && (err != nil || len(functions) != 1):
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if name == "saved" && err == nil {
			for _, in := range functions[0].code {
				if strings.Contains(in.text, "sp") && in.word != nop {
					t.Errorf("%s: %08x %s", name, in.word, in.text)
				}
			}
		}
	}
}
