package vec

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wide are the registers that only AVX-512 has, as Go's assembler writes them.
var wide = regexp.MustCompile(`\b(?:[XY](?:1[6-9]|2\d|3[01])|Z\d+|K[0-7])\b`)

// evex is a line of objdump whose instruction begins with the prefix of AVX-512.
var evex = regexp.MustCompile(`^\s*[0-9a-f]+:\s+62 `)

// needsAVX512 tells by its name whether a function may use AVX-512.
func needsAVX512(function string) bool {
	return strings.Contains(function, "512") || strings.Contains(function, "VBMI")
}

// TestRegistersInSource: a function for processors without AVX-512 names no register that
// they lack. Such an instruction is encoded with EVEX, and ends the program with SIGILL there.
func TestRegistersInSource(t *testing.T) {
	files, err := filepath.Glob("*_amd64.s")
	if err != nil || len(files) == 0 {
		t.Fatal("no assembly:", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for function := range strings.SplitSeq(string(text), "\nTEXT ·") {
			name, body, found := strings.Cut(function, "(SB)")
			if !found || needsAVX512(name) {
				continue
			}
			if bad := wide.FindAllString(body, -1); bad != nil {
				t.Errorf("%s: %s has %d mentions of registers of AVX-512, first %s", file, name, len(bad), bad[0])
			}
		}
	}
}

// TestRegistersInBinary looks at what the assembler made: this package's tests as a
// binary for x86-64, as objdump decodes it.
func TestRegistersInBinary(t *testing.T) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("objdump is missing (Debian: binutils)")
	}
	binary := filepath.Join(t.TempDir(), "vec.test")
	build := exec.Command("go", "test", "-c", "-o", binary, ".")
	build.Env = append(os.Environ(), "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, out)
	}
	out, err := exec.Command(objdump, "--disassemble", "--wide", binary).Output()
	if err != nil {
		t.Skipf("objdump cannot read an x86-64 binary here: %v", err)
	}
	var function string
	seen := map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		line := lines.Text()
		if _, name, found := strings.Cut(line, " <hogwild/internal/vec."); found && strings.HasSuffix(line, ">:") {
			function = strings.TrimSuffix(name, ">:")
			seen[strings.TrimSuffix(function, ".abi0")] = true
		} else if strings.HasSuffix(line, ">:") {
			function = ""
		}
		if function != "" && !needsAVX512(function) && evex.MatchString(line) {
			t.Errorf("%s: %s", function, strings.TrimSpace(line))
		}
	}
	for _, want := range []string{"sparseGemvAVX2", "dotAVX2", "linearSteps", "tileAVX512", "adamAVX2C"} {
		if !seen[want] {
			t.Errorf("%s was not found in the binary: the test looks at the wrong names", want)
		}
	}
}
