package cuda

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// stores are the files of kernels that store weights, or what is laid out as weights are, and
// which of these; all others only add.
var stores = map[string]string{
	"factor.cu":        "rows of half precision",
	"pair.h":           "the same, and as cut.cu",
	"skipgram.cu":      "as sparse_entries.h",
	"cut.cu":           "a point of one edge's step",
	"sparse_entries.h": "racy stores, which no run asks for any more",
	"sparse_many.h":    "the same",
	"optimizer.h":      "an optimizer's state, which may be everybody's",
	"back.h":           "the same",
	"average.cu":       "a rank's slice, between two barriers",
	"reduce.cu":        "a replica, and the weights as it began: its own process's",
	"survey.cu":        "the copy that is evaluated, the coordinator's own",
	"sparse_whole.h":   "a CTA's gradient, in scratch",
	"micro.cu":         "memory of the microbenchmarks",
}

var (
	// An instruction that writes a float of global memory, or halves.
	writesFloat = regexp.MustCompile(`"[^"]*\b(st|red|atom)\.[a-z0-9.]*global[a-z0-9.]*\.(f32|b32)[^"]*"[^;]*"=?\+?f"` +
		`|\bst\.[a-z0-9.]*global[a-z0-9.]*\.(b16|v2\.b32)`)
	// An access to weights as to plain memory.
	plain       = regexp.MustCompile(`\b(w|out|first|second|weights)\.at\s*\[|\*\s*\(?(\w+\.)*(w|out|first|second|weights)\.at\b`)
	callsStore  = regexp.MustCompile(`\.store4?\(`)
	weightsType = regexp.MustCompile(`(?s)\nstruct (?:Weights|Halves) \{.*?\n\};`)
)

// TestRacyAccessesStandInOnePlace: on a GPU the instructions that write weights are methods of
// Weights and Halves in kernels/dev.h, no code goes past it, and the kernels that store are known.
func TestRacyAccessesStandInOnePlace(t *testing.T) {
	var storing []string
	kernels, _ := filepath.Glob("kernels/*.cu")
	headers, _ := filepath.Glob("kernels/*.h")
	if len(headers) == 0 {
		t.Skip("there are no sources here: this program runs elsewhere")
	}
	for _, path := range append(kernels, headers...) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, code := filepath.Base(path), string(text)
		if name == "dev.h" {
			if n := len(writesFloat.FindAllString(code, -1)); n < 7 { // store, store4, add, add4, take; Halves
				t.Errorf("dev.h has %d instructions that write weights: the pattern of this test misses them", n)
			}
			code = weightsType.ReplaceAllString(code, "")
		}
		for line := range strings.Lines(code) {
			if name != "micro.cu" && writesFloat.MatchString(line) || plain.MatchString(line) {
				t.Errorf("%s goes past Weights: %s", name, strings.TrimSpace(line))
			}
		}
		if callsStore.MatchString(code) {
			storing = append(storing, name)
		}
	}
	slices.Sort(storing)
	if want := slices.Sorted(maps.Keys(stores)); !slices.Equal(storing, want) {
		t.Errorf("weights are stored by %v; known are %v", storing, want)
	}
}
