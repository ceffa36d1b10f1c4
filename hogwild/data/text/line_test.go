package text

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
)

// testdata/fasttext.json is what fastText makes of fasttext.txt (pip's fasttext-community 0.11.9): its dictionary, and
// the share of each input of a line, read off get_sentence_vector with the unit matrix as vectors.
type golden struct {
	MinCount int              `json:"min_count"`
	NGrams   int              `json:"ngrams"`
	Buckets  int              `json:"buckets"`
	Words    map[string]int64 `json:"words"`
	Labels   map[string]int64 `json:"labels"`
	Lines    []struct {
		Text    string             `json:"text"`
		Words   map[string]float64 `json:"words"`
		Buckets map[string]float64 `json:"buckets"`
	} `json:"lines"`
}

func TestLinesAreFastTexts(t *testing.T) {
	all, err := os.ReadFile("testdata/fasttext.txt")
	if err != nil {
		t.Fatal(err)
	}
	said, err := os.ReadFile("testdata/fasttext.json")
	if err != nil {
		t.Fatal(err)
	}
	var want golden
	if err := json.Unmarshal(said, &want); err != nil {
		t.Fatal(err)
	}
	o := &Options{Kind: Labels, MinCount: want.MinCount, NGrams: want.NGrams, Buckets: want.Buckets, Label: "__label__"}
	c, labels := NewCounter(), map[string]int64{}
	for at, end := range Lines(all) {
		c.Line(all[at:end], int64(at), o.Label)
		o.EachLabel(all[at:end], func(label []byte) { labels[string(label)]++ })
	}
	v, err := Join("", nil, []*Counter{c}, o.MinCount)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Words) != len(want.Words) || len(labels) != len(want.Labels) {
		t.Errorf("%d words and %d labels, want %d and %d", len(v.Words), len(labels), len(want.Words), len(want.Labels))
	}
	for i, w := range v.Words {
		if v.Counts[i] != want.Words[w] {
			t.Errorf("%q occurs %d times, want %d", w, v.Counts[i], want.Words[w])
		}
	}
	for name, n := range want.Labels {
		if labels[name] != n {
			t.Errorf("label %q occurs %d times, want %d", name, labels[name], n)
		}
	}
	o.Vocabulary = v
	f := NewFeatures(o)
	for _, line := range want.Lines {
		text := []byte(line.Text + "\n")
		ids := f.Of(text[:LineEnd(text, 0)])
		got := map[string]float64{}
		for _, id := range ids {
			name := "#" + strconv.Itoa(int(id)-len(v.Words))
			if int(id) < len(v.Words) {
				name = v.Words[id]
			}
			got[name] += 1 / float64(len(ids))
		}
		for k, x := range line.Buckets {
			line.Words["#"+k] = x
		}
		for name, x := range line.Words {
			if math.Abs(got[name]-x) > 1e-5 {
				t.Errorf("%q: %s has the share %g, want %g", line.Text, name, got[name], x)
			}
		}
		if len(got) != len(line.Words) {
			t.Errorf("%q has %d inputs, want %d", line.Text, len(got), len(line.Words))
		}
	}
}

// TestLongLines: lines of megabytes that consist of what may begin a label, or end a line. Code that looks at all that
// follows each time takes hours.
func TestLongLines(t *testing.T) {
	o := &Options{Kind: Labels, Label: LabelPrefix}
	for _, text := range []string{
		strings.Repeat(LabelPrefix, 1<<20), "a " + strings.Repeat("_"+LabelPrefix, 1<<20) + " " + LabelPrefix + "b\n",
		strings.Repeat(endOfLine+" ", 1<<21), strings.Repeat("a"+endOfLine, 1<<20) + "\nb\n", "\n\na\n\n",
	} {
		var lines, labels []string
		for from, to := range Lines([]byte(text)) {
			lines = append(lines, text[from:to])
			o.EachLabel([]byte(text[from:to]), func(label []byte) { labels = append(labels, string(label)) })
		}
		if strings.Join(lines, "") != text {
			t.Errorf("%.20q: %d lines are not the text", text, len(lines))
		}
		ends, want := 0, 0
		for line := range strings.Lines(text) {
			for word := range bytes.FieldsSeq([]byte(line)) {
				if string(word) == endOfLine {
					ends++
				}
				if bytes.HasPrefix(word, []byte(LabelPrefix)) {
					want++
				}
			}
			if !strings.HasSuffix(line, endOfLine) {
				ends++
			}
		}
		if len(lines) != ends || len(labels) != want {
			t.Errorf("%.20q: %d lines and %d labels, want %d and %d", text, len(lines), len(labels), ends, want)
		}
	}
}
