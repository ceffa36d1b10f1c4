package hogwild_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestLibrarySnippet builds the program of docs/library.md outside the repository, as its lines of shell
// say, and runs it: four processes train.
func TestLibrarySnippet(t *testing.T) {
	page, err := os.ReadFile("docs/library.md")
	if err != nil {
		t.Fatal(err)
	}
	var shell []string
	program, inside := "", false
	for line := range strings.Lines(string(page)) {
		code, indented := strings.CutPrefix(line, "    ")
		inside = inside && (indented || line == "\n") || code == "package main\n"
		switch {
		case inside:
			program += code
		case strings.HasPrefix(code, "go "):
			shell = append(shell, code)
		}
	}
	if len(shell) == 0 || program == "" {
		t.Fatalf("the page has the commands %q and the program %q", shell, program)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	run := func(command string) string {
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GONOSUMDB=*", "GOWORK=off", "CGO_ENABLED=0")
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, text)
		}
		return string(text)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	// Checksums of modules come from the network, or from here.
	sums, err := os.ReadFile("go.sum")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	run("go mod init example")
	for _, command := range shell {
		run(strings.ReplaceAll(command, "/path/to/this/clone", here))
	}
	text := run("go build -o program . && ./program")
	loss := regexp.MustCompile(`(?m)^test loss (\S+)$`).FindStringSubmatch(text)
	if loss == nil || !regexp.MustCompile(`(?m)^\[\d\] <nil>$`).MatchString(text) ||
		!strings.Contains(text, "4 workers") {
		t.Fatal(text)
	}
	if loss, err := strconv.ParseFloat(loss[1], 64); err != nil || !(loss < 0.15) { // softmax reaches 0.28
		t.Errorf("the test loss is %v, %v\n%s", loss, err, text)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 4 { // main.go, go.mod, go.sum, program
		t.Errorf("files %v, %v", files, err)
	}
}
