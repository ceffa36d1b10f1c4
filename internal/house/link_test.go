package house

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// What hogwild/run links, apart from the standard library and the project. Every worker runs the
// init functions of these packages when it starts. Before adding one look at what its start costs
// (GODEBUG=inittrace=1).
var linked = []string{
	"github.com/aclements/go-moremath/mathx", "github.com/goccy/go-yaml", "github.com/goccy/go-yaml/ast",
	"github.com/goccy/go-yaml/internal/errors",
	"github.com/goccy/go-yaml/internal/format", "github.com/goccy/go-yaml/lexer", "github.com/goccy/go-yaml/parser",
	"github.com/goccy/go-yaml/printer", "github.com/goccy/go-yaml/scanner", "github.com/goccy/go-yaml/token",
	"github.com/kballard/go-shellquote", "golang.org/x/sys/cpu", "golang.org/x/sys/unix",
}

// Packages of the standard library with much to set up, for themselves or for what they
// bring along: net brings DNS, text/template reflection that keeps all methods.
var heavy = []string{"net", "text/template", "encoding/xml", "encoding/gob", "image", "testing", "expvar"}

func dependencies(t *testing.T, arguments ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list", "-deps", "-f", "{{.ImportPath}}{{if not .Standard}} " +
		"module{{end}}"}, arguments...)...).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// TestWhatARunLinks keeps packages with a slow init out of workers.
func TestWhatARunLinks(t *testing.T) {
	inRoot(t)
	var got []string
	for _, name := range dependencies(t, "./hogwild/run") {
		name, module := strings.CutSuffix(name, " module")
		if module && !strings.HasPrefix(name, "hogwild/") {
			got = append(got, name)
		} else if slices.Contains(heavy, name) {
			t.Errorf("hogwild/run links %s: each worker's start pays for it", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(linked, name) {
			t.Errorf("hogwild/run links %s, which is not in the list of %s", name, t.Name())
		}
	}
	for _, name := range linked {
		if !slices.Contains(got, name) {
			t.Errorf("hogwild/run no longer links %s: take it from the list", name)
		}
	}
}

// TestProgramsAreBuiltWithoutRenderers: cli's writer of manual pages, which hogwild does
// not use, sets up a renderer of Markdown at each start; a tag leaves it out.
func TestProgramsAreBuiltWithoutRenderers(t *testing.T) {
	inRoot(t)
	const tag, renderer = "urfave_cli_no_docs", "github.com/russross/blackfriday/v2 module"
	if !slices.Contains(dependencies(t, "./cmd/hogwild"), renderer) {
		t.Errorf("cmd/hogwild does not link %s without %s: the tag is of no use any more", renderer, tag)
	}
	if slices.Contains(dependencies(t, "-tags", tag, "./cmd/hogwild"), renderer) {
		t.Errorf("cmd/hogwild links %s in spite of -tags %s", renderer, tag)
	}
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	builds := 0
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " build ") && strings.Contains(line, "./cmd/hogwild") {
			if builds++; !strings.Contains(line, "$(TAGS)") {
				t.Errorf("the Makefile builds a program without $(TAGS): %s", line)
			}
		}
	}
	if builds != 2 || !strings.Contains(string(text), "\nTAGS = "+tag+"\n") {
		t.Errorf("the Makefile has %d builds of cmd/hogwild, want 2, and TAGS = %s", builds, tag)
	}
}

// TestOtherSystemsAreRefused: a build for another system prints one line that says why.
func TestOtherSystemsAreRefused(t *testing.T) {
	inRoot(t)
	for _, system := range []string{"darwin", "windows"} {
		for _, what := range []string{"./cmd/hogwild", "./examples/custommodel"} {
			build := exec.Command("go", "build", "-o", os.DevNull, what)
			build.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
			out, err := build.CombinedOutput()
			if text := string(out); err == nil || strings.Count(text, "\n") != 1 ||
				!strings.Contains(text, "hogwild runs on Linux only: ") {
				t.Errorf("building %s for %s (%v):\n%s", what, system, err, text)
			}
		}
	}
}
