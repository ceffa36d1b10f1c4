package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestLossFallsToTheNoise builds the program and runs it. The planted function
// itself has the noise's mean size as its loss, give or take 3% on a test set of
// 1,000; what was learned from 5,000 examples must come within 15% of it, and find the planted
// constant to a tenth.
func TestLossFallsToTheNoise(t *testing.T) {
	program := filepath.Join(t.TempDir(), "custommodel")
	if text, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	text, err := exec.Command(program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 11 {
		t.Fatalf("ten epochs and a prediction:\n%s", text)
	}
	var z float64
	if _, err := fmt.Sscanf(lines[10], "at 0: %g", &z); err != nil || z < -4.1 || z > -3.9 {
		t.Errorf("%q: the planted constant is -4 (%v)", lines[10], err)
	}
	first, last := loss(t, lines[0]), loss(t, lines[9])
	if !(last < first) || !(last > 0.85*noise && last < 1.15*noise) {
		t.Errorf("the loss must fall to about %v:\n%s", noise, text)
	}
}

func loss(t *testing.T, line string) (loss float64) {
	var epoch int
	if _, err := fmt.Sscanf(line, "epoch %d: loss %g", &epoch, &loss); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return loss
}
