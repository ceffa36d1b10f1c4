package format

import (
	"strings"
	"testing"
)

// TestOtherFormats: a file in another format is called by its name wherever that begins, and tables are none.
func TestOtherFormats(t *testing.T) {
	for text, name := range map[string]string{
		"\n\n{\"a\": 1}\n":  "JSON",
		" [1, 2]\n":         "JSON",
		"<!DOCTYPE html>\n": "HTML",
		"% by whom\n\n@RELATION iris\n@attribute a numeric\n": "ARFF",
		"1 0:3:0.5 1:12:1 4:7:2e-3\n0 0:1:1\n":                "LIBFFM",
		"-1 |f price:.23 sqft:.25\n":                          "Vowpal Wabbit",
		"1 2.0 'id7| a:1 b:2\n":                               "Vowpal Wabbit",
		"1 |words the red house\n-1 |words a blue one\n":      "Vowpal Wabbit",
		"|f a:1 b:2\n":                                    "Vowpal Wabbit",
		"120 40 5\n0,2 3:0.52 7:.3\n":                     "multi-label LIBSVM behind",
		"2 40 5\n 3:0.52 7:.3\n":                          "multi-label LIBSVM behind",
		"0,2 3:0.52 7:.3\n1 4:1\n":                        "multi-label LIBSVM:",
		"ARROW1\x00\x00":                                  "Arrow",
		"\x80\x05\x95\x10":                                "pickle",
		"a b y\n\"1\" -1.5 2 \"no\"\n\"2\" 1 2 \"yes\"\n": "blanks are between the cells",
	} {
		_, err := Open(&Source{Path: "x", Text: []byte(text)}, Options{})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v, want %s", text, err, name)
		}
	}
	for _, text := range []string{"1 | 2 | 3\n4 | 5 | 6\n", "1|a:2|3\n4|a:3|5\n", "1 1:2 3:4\n0 2:1\n",
		"<NA>,2,1\n3,4,0\n",
		"a,t,y\n1,12:30:00,0\n2,12:31:00,1\n", "%,b,y\n1,2,0\n2,3,1\n", "1,2 3:4,1\n2,2 3:5,0\n"} {
		if _, err := Open(&Source{Path: "x", Text: []byte(text)}, Options{}); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}
