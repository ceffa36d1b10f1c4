package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRefuses has C that Go cannot take over, each for one reason, and C that is taken over.
func TestRefuses(t *testing.T) {
	if _, err := exec.LookPath("clang-19"); err != nil {
		t.Skip("clang-19 is missing")
	}
	for name, c := range map[string]struct {
		source, want string
		sets         []string // all, if none
	}{
		"nothing": {"//go: func f(x *float32, n int) float32\nfloat f(float *x, long n) { return x[n] + 1; }", "",
			[]string{"NEON"}}, // which has 1 without data
		"result": {"//go: func f(x *float32, n int) float32\nfloat f(float *x, long n) { return x[n] + x[0]; }", "", nil},
		"saved": {"//go: func f(n int) int\nlong f(long n) { asm volatile(\"\" ::: \"x19\", \"d8\"); return n; }",
			"", []string{"NEON"}},
		"owned": {"//go: func f(n int) int\nlong f(long n) { asm volatile(\"\" ::: \"rbx\", \"r12\", \"r15\"); return n; }",
			"", []string{"AVX2", "AVX512"}},
		"set": {"//go: func fSIMD(n int) (a, b int)\n" +
			"void fSIMD(struct fSIMD *s) { s->a = s->b = s->n; }", "", nil},
		"data": {"//go: func f() float64\ndouble f(void) { return 0.1; }", "needs data", nil},
		"call": {"//go: func f(n int) int\nlong g(long);\nlong f(long n) { return g(n) + 1; }",
			"or a function beside it", nil},
		"helper": {"//go: func f(n int) int\nlong g(long n) { return n; }\nlong f(long n) { return g(n); }",
			"2 functions in C, 1 that Go declares", nil},
		"stack": {"//go: func f(n int) int\nlong f(long n) { volatile long a[9]; a[n] = n; return a[1]; }",
			"uses the stack", nil},
		"spill": {"//go: func f(x *float32) float32\nfloat f(float *x) { float a = *x; asm volatile(\"\" ::: \"v0\", " +
			"\"v1\", \"v2\", \"v3\", \"v4\", \"v5\", \"v6\", \"v7\", " +
			"\"v8\", \"v9\", \"v10\", \"v11\", \"v12\", \"v13\", \"v14\", \"v15\", \"v16\", \"v17\", \"v18\", " +
			"\"v19\", \"v20\", \"v21\", \"v22\", \"v23\", " +
			"\"v24\", \"v25\", \"v26\", \"v27\", \"v28\", \"v29\", \"v30\", \"v31\"); return a; }", "the stack",
			[]string{"NEON"}},
		"spill on x86": {"//go: func f(x *float32) float32\nfloat f(float *x) { float a = *x; asm volatile(\"\" ::: " +
			"\"xmm0\", \"xmm1\", \"xmm2\", \"xmm3\", \"xmm4\", \"xmm5\", \"xmm6\", \"xmm7\", \"xmm8\", \"xmm9\", " +
			"\"xmm10\", \"xmm11\", \"xmm12\", \"xmm13\", \"xmm14\", \"xmm15\"); return a; }", "the stack",
			[]string{"AVX2"}},
		"goroutine": {"//go: func f(n int) int\nlong f(long n) { asm volatile(\"mov x28, %0\" :: \"r\"(n)); return n; }",
			"not free", []string{"NEON"}},
		"frame": {"//go: func f(n int) int\nlong f(long n) { asm volatile(\"movq %0, %%rbp\" :: \"r\"(n)); return n; }",
			"the stack", []string{"AVX2", "AVX512"}},
		"jump": {"//go: func f(n int) int\nlong f(long n) { asm volatile(\"jmp *%0\" :: \"r\"(n)); return n; }",
			"leaves the function", []string{"AVX2", "AVX512"}},
		"type":     {"//go: func f(n int) int\nint f(long n) { return n; }", "conflicting types", nil},
		"argument": {"//go: func f(n []int) int\nlong f(long n) { return n; }", "a type that C is not given", nil},
	} {
		file := filepath.Join(t.TempDir(), "c.c")
		if err := os.WriteFile(file, []byte(c.source+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, s := range append([]set{neon}, x86...) {
			if c.sets != nil && !slices.Contains(c.sets, s.name) {
				continue
			}
			functions, err := compile(file, s)
			switch {
			case c.want == "" && (err != nil || len(functions) != 1):
				t.Errorf("%s, %s: %v", name, s.name, err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%s, %s: error %v, want %q", name, s.name, err, c.want)
			}
			if err != nil {
				continue
			}
			for _, in := range functions[0].code {
				if regexp.MustCompile(`\bsp\b|%r[sb]p`).MatchString(in.text) && !strings.HasPrefix(in.text, "nop") {
					t.Errorf("%s, %s: %x %s", name, s.name, in.data, in.text)
				}
			}
		}
	}
}
