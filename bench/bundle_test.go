package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"hogwild/hogwild/config"
	"hogwild/internal/check"
)

// TestPage holds the page to testdata/results.md, which -update writes.
func TestPage(t *testing.T) {
	r, err := Collect("testdata/results")
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := r.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	check.Golden(t, "results.md", got.String())
	var raw bytes.Buffer
	back := Results{}
	if err := r.WriteJSON(&raw); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw.Bytes(), &back); err != nil || len(back.Runs) != 21 || back.Runs[0].Group != "agree" {
		t.Errorf("the JSON reads back as %+v (%v)", back, err)
	}
}

// TestPageOfStandIn: no time, and nothing made of one, is on a page that no GPU had a part in.
func TestPageOfStandIn(t *testing.T) {
	r, err := Collect("testdata/results")
	if err != nil {
		t.Fatal(err)
	}
	r.StandIn = true
	var got bytes.Buffer
	if err := r.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(got.String(), "stand-in driver, without a GPU") {
		t.Errorf("the page does not say that there was no GPU:\n%s", got.String())
	}
	for _, time := range []string{`\| 0\.75 \|`, `320 M`, `120 k`, `3\.25`, `2\.54`, `13\.7`, `0\.0075`, `1\.50 M`, `\| 60\.0 \|`} {
		if found := regexp.MustCompile(time).FindString(got.String()); found != "" {
			t.Errorf("the page has the time or rate %q:\n%s", found, got.String())
		}
	}
}

func TestCollectErrors(t *testing.T) {
	folder := t.TempDir()
	if _, err := Collect(folder); !errors.Is(err, config.ErrUsage) || !strings.Contains(err.Error(), "no results of run.sh") {
		t.Errorf("an empty folder: %v", err)
	}
	for name, text := range map[string]string{"parts.tsv": "", "microbench.json": "{"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Collect(folder); err == nil || !strings.Contains(err.Error(), "microbench.json") {
		t.Errorf("a damaged file: %v", err)
	}
}

// A pipe in the place of a result is an error, and is not waited for.
func TestCollectAPipe(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "parts.tsv"), nil, 0o600), syscall.Mkfifo(filepath.Join(dir, "a.test"), 0o600)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := Collect(dir); ended <- err }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "pipe") {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for a writer")
	}
}
