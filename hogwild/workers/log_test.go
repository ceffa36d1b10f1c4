package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLog: what a program prints before there is a run folder comes first; without words there is no file.
func TestLog(t *testing.T) {
	dir := t.TempDir()
	var told []string
	log := NewLog("program-0.log", "", func(path string) { told = append(told, path) })
	log.Open(dir)
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%v", files)
	}
	log.dir = ""
	fmt.Fprintln(log, "one")
	log.Open(dir)
	fmt.Fprintln(log, "two")
	log.Close()
	fmt.Fprintln(log, "late")
	path := filepath.Join(dir, "program-0.log")
	again := NewLog("program-0.log", dir, log.told)
	fmt.Fprintln(again, "three")
	again.Close()
	if text, err := os.ReadFile(path); err != nil || string(text) != "one\ntwo\nthree\n" ||
		!slices.Equal(told, []string{path, path}) {
		t.Errorf("%q, %v, told %q", text, err, told)
	}
	if _, err := fmt.Fprintln(NewLog("x", filepath.Join(dir, "gone"), nil), "lost"); err != nil {
		t.Error(err)
	}
}

// TestLogIsBounded: of what a program prints the end is kept.
func TestLogIsBounded(t *testing.T) {
	defer func(was int64) { logLimit = was }(logLimit)
	logLimit = 100
	dir := t.TempDir()
	log := NewLog("program-0.log", dir, func(string) {})
	all := ""
	for i := range 50 {
		line := fmt.Sprintf("line %d\n", i)
		all += line
		fmt.Fprint(log, line)
	}
	log.Close()
	before, err1 := os.ReadFile(filepath.Join(dir, "program-0.log.1"))
	now, err2 := os.ReadFile(filepath.Join(dir, "program-0.log"))
	if kept := string(before) + string(now); err1 != nil || err2 != nil || !strings.HasSuffix(all, kept) ||
		len(kept) > 200 || len(kept) < 100 {
		t.Errorf("%q and %q: %v, %v", before, now, err1, err2)
	}
}
