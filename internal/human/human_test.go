package human

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Short(0), "0"}, {Short(0.1234), "0.123"}, {Short(0.0123), "0.0123"}, {Short(7), "7.00"},
		{Short(9.996), "10.0"},
		{Short(45.67), "45.7"}, {Short(99.96), "100"}, {Short(1234.5), "1234"}, {Short(-51.3), "-51.3"},
		{Short(2.5e-6), "2.5e-06"},
		{Rate(0), "0"}, {Rate(5.126), "5.13"}, {Rate(512.4), "512"}, {Rate(999.4), "999"}, {Rate(999.6), "1.00 k"},
		{Rate(84211), "84.2 k"},
		{Rate(99960), "100 k"}, {Rate(1.43e6), "1.43 M"}, {Rate(9.996e6), "10.0 M"}, {Rate(2.5e12), "2500 G"},
		{Rate(math.NaN()), "NaN"},
		{Loss(0), "0.0000"}, {Loss(0.41234), "0.4123"}, {Loss(0.00032), "3.200e-04"}, {Loss(1e5), "1.000e+05"},
		{Loss(math.NaN()), "NaN"},
		{Factor(0.0123), "0.012"}, {Factor(0.456), "0.46"}, {Factor(9.996), "10.0"}, {Factor(123), "123"},
		{Accuracy(0.88236), "88.24%"}, {Accuracy(1), "100.00%"},
		{Share(0), "0%"}, {Share(.0005), "0.05%"}, {Share(.0132), "1.3%"}, {Share(.0994), "9.9%"},
		{Share(.0996), "10%"},
		{Share(.25), "25%"}, {Share(.9951), "100%"}, {Share(1), "100%"},
		{Count(999), "999"}, {Count(1000), "1,000"}, {Count(-123456), "-123,456"}, {Count(12345678), "12,345,678"},
		{Clock(0), "0:00"}, {Clock(0.2), "0:01"}, {Clock(41.2), "0:42"}, {Clock(3599), "59:59"},
		{Clock(3599.5), "1:00:00"},
		{Clock(3753), "1:02:33"}, {Clock(108000), "30:00:00"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Plural(0, "core"), "0 cores"}, {Plural(1, "core"), "1 core"}, {Plural(2, "core"), "2 cores"},
		{ShellWord("runs/2025-01-02T03:04:05"), "runs/2025-01-02T03:04:05"}, {ShellWord(""), "''"},
		{strings.Join(Wrap("one two  three four", 7), "|"), "one two|three|four"}, {strings.Join(Wrap("", 7), "|"), ""},
		{ShellWord("my run"), "'my run'"}, {ShellWord("it's"), `'it'\''s'`}, {ShellWord("$x"), "'$x'"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
}

// TestShellWords: a shell finds the very bytes of the text in the word, which a terminal can only show.
func TestShellWords(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	texts := []string{"-x", "~",
		"\x1b[31mred", "a\nb\n", "\u202eright", "m\xfcll", "it's\x07 \\n", "my r\u00fcn", "!x", "'"}
	for range 200 {
		text := make([]byte, 1+random.IntN(9))
		for i := range text {
			text[i] = byte(1 + random.IntN(255))
		}
		texts = append(texts, string(text))
	}
	for _, text := range texts {
		word := ShellWord(text)
		cmd := exec.Command(bash, "-c", "printf %s "+word)
		cmd.Env = []string{"LC_ALL=C.UTF-8"}
		if got, err := cmd.Output(); string(got) != text || Line(word) != word {
			t.Errorf("%q: %s is %q, %v", text, word, got, err)
		}
	}
	if a, b := ShellPath("-x y"), ShellPath("x"); a != "'./-x y'" || b != "x" {
		t.Error(a, b)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ä": "plain, ä", "a\x1b[31mb\tc": `a\x1b[31mb\tc`, "one\ntwo": "one\ntwo",
		"1\n2\n3\n4\n5": `1\n2\n3\n4\n5`, "\u009b2J": `\u009b2J`,
		"a\u202e.csv": `a\u202e.csv`, "\u2066x\u2069": `\u2066x\u2069`, "one\u2028two\u2029": `one\u2028two\u2029`,
		"\u061c": `\u061c`, "\u200c می": "\u200c می",
	} {
		if got := Printable(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestBrief: what a user wrote is cut, what the program says of it is not.
func TestBrief(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	for _, c := range []struct{ message, begins, ends string }{
		{fmt.Sprintf("--lr %q: give a positive number", long), `--lr "ää`, `ää": give a positive number`},
		{fmt.Sprintf("--model %q: a \"quoted\" word", `a"b \`+long), `--model "a\"b \\ä`, `ää": a "quoted" word`},
		{"open " + long + ": no such file", "open ää", "ää: no such file"},
		{"open " + strings.Repeat("my file ", 1000) + ": no such file", "open my file", "my file : no such file"},
	} {
		got := BriefMessage(c.message)
		if len(got) > mostLine || !utf8.ValidString(got) || !strings.HasPrefix(got, c.begins) ||
			!strings.HasSuffix(got, c.ends) {
			t.Errorf("%d bytes, %q", len(got), got)
		}
		if user := len(got) - len(c.begins) - len(c.ends); c.begins != "open my file" && user > mostQuoted {
			t.Errorf("%d bytes of the user's text: %q", user, got)
		}
	}
	for _, same := range []string{"", "a short one", strings.Repeat("many words of the program's own ", 30),
		strings.Repeat("x", mostQuoted)} {
		if got := BriefMessage(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	if got := Brief(long); len(got) > mostQuoted || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %q", len(got), got)
	}
}

// TestQuote: what stands in a file cannot move the cursor, nor fill the screen.
func TestQuote(t *testing.T) {
	for _, c := range []struct{ text, name, quote string }{
		{"red", "red", `"red"`}, {"größe 2", "größe 2", `"größe 2"`}, {"", `""`, `""`}, {" x", `" x"`, `" x"`},
		{"a\x1b[2J", `"a\x1b[2J"`, `"a\x1b[2J"`}, {"a\nb\tc", `"a\nb\tc"`, `"a\nb\tc"`},
		{"\u202eabc", `"\u202eabc"`, `"\u202eabc"`}, {"\xff", `"\xff"`, `"\xff"`},
	} {
		if name, quote := Name(c.text), Quote(c.text); name != c.name || quote != c.quote {
			t.Errorf("%q: %s and %s, want %s and %s", c.text, name, quote, c.name, c.quote)
		}
	}
	for _, long := range []string{strings.Repeat("x", 1e6), strings.Repeat("é", 1e6)} {
		if got := Quote(long); len(got) > 310 || !utf8.ValidString(got) || Name(long) != got {
			t.Errorf("%d bytes of a long text", len(got))
		}
	}
}
