package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/kballard/go-shellquote"

	"hogwild/internal/check"
)

// pytorch is what the scripts of examples/pytorch are run with here: arguments of the program and flags
// that make it small, and the limits of the losses that it must then reach. Guessing gets 2.30 on
// MNIST; 2.8 on the text, by the frequency of its letters; and 0.375 on the tones, by their median.
var pytorch = []struct {
	script, arguments, flags string
	below                    float64
}{
	{"mnist.py", "", "--data MNIST --limit 6000 --epochs 2", 1.9},
	{"ddp.py", "--rows 2000", "--epochs 2", 0.25},
	{"text.py", "--rows 1000", "--epochs 3", 2.6},
}

// TestPyTorchExamples runs the first command that each script names, at a small size.
func TestPyTorchExamples(t *testing.T) {
	python := check.Interpreter(t, "torch, numpy, safetensors")
	mnist := check.Data(t, "mnist")
	t.Chdir(examples + "/pytorch")
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range pytorch {
		t.Run(e.script, func(t *testing.T) {
			command := firstCommand(t, e.script)
			if short, _, _ := strings.Cut(command, " --run "); !strings.Contains(string(page), "    "+short+"\n") {
				t.Errorf("the README has another command than %s: %s", e.script, command)
			}
			args, err := shellquote.Split(command)
			if err != nil {
				t.Fatal(err)
			}
			program := shellquote.Join(python, e.script) + " " + e.arguments
			folder := t.TempDir()
			flags := append(strings.Fields(strings.Replace(e.flags, "MNIST", mnist, 1)), "--program", program,
				"--run", folder)
			args = append(override(args, flags...), "--json")
			var out, progress bytes.Buffer
			if status := execute(args[1:], &out, &progress); status != 0 {
				t.Fatalf("status %d\n%s", status, progress.String())
			}
			var result struct {
				TestLoss float64 `json:"test_loss"`
			}
			if err := json.Unmarshal(out.Bytes(), &result); err != nil {
				t.Fatal(err)
			}
			if !(result.TestLoss < e.below) {
				t.Errorf("the test loss is %v, want less than %v\n%s", result.TestLoss, e.below, progress.String())
			}
			if e.script == "text.py" {
				text := python3(t, nil, python, e.script, "--write", folder+"/weights.safetensors")
				if lines := strings.Count(text, "\n"); lines != 3 {
					t.Errorf("it wrote %d lines:\n%s", lines, text)
				}
			}
		})
	}
}

// The scripts that two of the examples replace work too: with one process each, and torchrun's part is
// played by its variables.
func TestPyTorchExamplesBefore(t *testing.T) {
	python := check.Interpreter(t, "torch, numpy")
	mnist := check.Data(t, "mnist")
	t.Chdir(examples + "/pytorch")
	torchrun := []string{"RANK=0", "WORLD_SIZE=1", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=0"}
	for script, args := range map[string][]string{
		"mnist_before.py": {"--data", mnist, "--limit", "600", "--processes", "1", "--epochs", "1"},
		"ddp_before.py":   {"--rows", "200", "--epochs", "1", "--snapshot", t.TempDir() + "/snapshot.pt"},
	} {
		text := python3(t, torchrun, python, append([]string{script}, args...)...)
		if !strings.Contains(text, "test loss ") {
			t.Errorf("%s printed %q", script, text)
		}
	}
}

// firstCommand returns the first command in a script's docstring.
func firstCommand(t *testing.T, script string) string {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^    (hogwild train .*)$`).FindSubmatch(text)
	if found == nil {
		t.Fatalf("%s names no command", script)
	}
	return string(found[1])
}

// python3 returns what a script prints.
func python3(t *testing.T, variables []string, python string, args ...string) string {
	t.Helper()
	var said bytes.Buffer
	cmd := exec.Command(python, args...)
	cmd.Env = append(append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1"), variables...)
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", args[0], err, said.String())
	}
	return string(out)
}
