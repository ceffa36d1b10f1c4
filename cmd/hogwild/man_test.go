package main

import (
	"bytes"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestManual: the page has each command and each flag, and troff has nothing to say of it.
func TestManual(t *testing.T) {
	var page, errs bytes.Buffer
	if status := execute([]string{"man"}, &page, &errs); status != 0 || errs.Len() > 0 {
		t.Fatalf("status %d, %s", status, &errs)
	}
	text := page.String()
	if !strings.HasPrefix(text, ".TH HOGWILD 1 ") || !strings.Contains(text, "\n.SH NAME\nhogwild \\- ") {
		t.Errorf("it begins with %.80q", text)
	}
	known := regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|B|I|nf|fi)( |$)`)
	open := false
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !known.MatchString(line) {
			t.Errorf("a request that was not meant: %q", line)
		}
		if line == ".nf" || line == ".fi" {
			if open == (line == ".nf") {
				t.Errorf("%s twice", line)
			}
			open = line == ".nf"
		}
	}
	for _, c := range typed(app(io.Discard, io.Discard).Commands, "") {
		_, after, ok := strings.Cut(text, "\n.SH HOGWILD "+troff(strings.ToUpper(c.name))+"\n")
		section, _, _ := strings.Cut(after, "\n.SH ")
		if !ok || c.Usage == "" {
			t.Errorf("%s has no section, or no summary", c.name)
		}
		for _, f := range c.Flags {
			name := "\n.B " + troff("--"+f.Names()[0])
			if strings.Count(section, name+" ")+strings.Count(section, name+"\n") != 1 {
				t.Errorf("%s: flag --%s is not there once", c.name, f.Names()[0])
			}
		}
	}
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip(err)
	}
	groff := exec.Command("groff", "-man", "-Tutf8", "-ww", "-z")
	groff.Stdin = &page
	if out, err := groff.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
