package format

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"
)

// StdinName is the path that means standard input, stdinTitle what messages call it.
const (
	StdinName  = "-"
	stdinTitle = "standard input"
)

// CacheMark begins the data caches of all versions, which package data reads.
const CacheMark = "hogwild data "

// otherFormats are the beginnings of files that are not read, with what to do about them.
var otherFormats = []struct{ begins, words string }{
	{CacheMark, "a data cache, which must be a plain file: not standard input, and not packed"},
	{"PK\x03\x04", "a zip archive (.zip, .npz, .xlsx): unpack it and name the file inside, or save the sheet as CSV"},
	{"PAR1", "a Parquet file: " + convert},
	{"\x89HDF", "an HDF5 file: save its arrays as .npy"},
	{"BZh", "packed with bzip2: unpack it first (bunzip2)"},
	{"\xfd7zXZ", "packed with xz: unpack it first (unxz)"},
	{"\x28\xb5\x2f\xfd", "packed with Zstandard: unpack it first (unzstd)"},
	{"\x80\x02", pickled}, {"\x80\x03", pickled}, {"\x80\x04", pickled}, {"\x80\x05", pickled},
	{"ARROW1", "an Arrow file (Feather): " + convert},
	{"FEA1", "a Feather file: " + convert},
	{"%PDF", "a PDF, not a table"},
}

const (
	pickled = "a Python pickle: save its arrays as .npy, or give them to hogwild.train(X, y)"
	convert = "python -m hogwild.convert FILE --out FILE.hog makes it data for hogwild, or save it as CSV"
)

// otherTexts are the same for texts, behind blank lines and comments.
var otherTexts = []struct {
	begins *regexp.Regexp
	words  string
}{
	{regexp.MustCompile(`^[{[]`), "JSON, not a table: " + convert},
	{regexp.MustCompile(`^<([!?]|[a-zA-MO-Z]\w*[ />])`), "HTML or XML, not a table (perhaps the error page of a failed download)"},
	{regexp.MustCompile(`^(?i:@relation)\s`), "ARFF: save it as CSV"},
	{regexp.MustCompile(`^[-+\d.eE]+([ \t]+\d+:\d+:[-+\d.eE]+)+[ \t\r]*(\n|$)`), "LIBFFM (field:feature:value), which is " +
		"not read: take the fields out, label feature:value, and it is LIBSVM"},
	{regexp.MustCompile(`^([-+\d.eE]+[ \t]+)*('\S*)?[ \t]*\|([a-zA-Z]\w*(:[-+\d.eE]+)?)?[ \t]+[^|\s]+:[-+\d.eE]+[ \t\r\n]`),
		vowpal},
	{regexp.MustCompile(`^[-+\d.eE]+[ \t]+('\S*[ \t]*)?\|[a-zA-Z]\w*[ \t]+[^|\s]`), vowpal},
	{regexp.MustCompile(`^\d+ \d+ \d+[ \r]*\n(\d+(,\d+)*)?[ \t]+\d+:[-+\d.eE]+[ \t\r\n]`), "multi-label LIBSVM behind a " +
		"line \"rows features labels\", as the Extreme Classification Repository has it: one label a row is read"},
	{regexp.MustCompile(`^\d+(,\d+)+[ \t]+\d+:[-+\d.eE]+[ \t\r\n]`), "multi-label LIBSVM: one label a row is read"},
}

const vowpal = "text of Vowpal Wabbit (label |namespace feature:value), which is not read: write it as " +
	"LIBSVM or CSV, or give hogwild.train(X, y) in Python its matrix"

// lead is what may stand before a text in another format: blank lines, and comments of ARFF.
var lead = regexp.MustCompile(`^(\s|%[^\n]*\n)+`)

// otherFormat returns the advice about a file that is not read, "" for others.
func otherFormat(head []byte) string {
	for _, f := range otherFormats {
		if len(head) >= len(f.begins) && strings.EqualFold(string(head[:len(f.begins)]), f.begins) {
			return f.words
		}
	}
	return ""
}

// otherText returns the advice about a text that is not read, "" for others.
func otherText(head []byte) string {
	comments := lead.Find(head)
	for _, f := range otherTexts {
		if f.begins.Match(head[len(comments):]) {
			return f.words
		}
	}
	return ""
}

// isMatrixMarket reports whether the file begins with the banner of that format.
func (s *Source) isMatrixMarket() bool {
	const banner = "%%MatrixMarket"
	return bytes.EqualFold(s.Text[:min(len(s.Text), len(banner))], []byte(banner))
}

// notText says what a file is that has no words, by its beginning; "" of text.
func notText(head []byte) string {
	if name := utf16Name(head); name != "" {
		return fmt.Sprintf("%s text: convert it to UTF-8 first: iconv -f %s -t UTF-8 OLD >NEW", name, name)
	}
	if is := otherFormat(head); is != "" {
		return is
	}
	odd := 0
	for _, c := range head {
		if c < ' ' && !(c >= '\t' && c <= '\r') || c == 0x7f {
			odd++
		}
	}
	if 50*odd > len(head) { // of compressed bytes a tenth
		return "a binary file, and no text"
	}
	return ""
}

// utf16Name returns the name of the encoding of a text of two bytes a character, "" of other
// bytes: it begins with a byte order mark, or every other byte of it is 0.
func utf16Name(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return "UTF-16LE"
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return "UTF-16BE"
	}
	var zeros [2]int
	for i, c := range b {
		if c == 0 {
			zeros[i%2]++
		}
	}
	switch half := len(b) / 2; {
	case zeros[0] == 0 && 4*zeros[1] > 3*half && half > 1:
		return "UTF-16LE"
	case zeros[1] == 0 && 4*zeros[0] > 3*half && half > 1:
		return "UTF-16BE"
	}
	return ""
}

// notTerminal refuses to wait for somebody to type.
func notTerminal(path string) error {
	if path != StdinName {
		return nil
	}
	if _, err := unix.IoctlGetTermios(int(os.Stdin.Fd()), unix.TCGETS); err == nil {
		return errors.New("data: - is standard input, and that is a terminal: pipe the data into it, or name a file")
	}
	return nil
}

// openFile opens a file or a pipe. A device such as /dev/zero may never end.
func openFile(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err == nil && info.Mode()&fs.ModeDevice != 0 {
		return nil, fmt.Errorf("data: %s: a device, not a file: name a file or a pipe", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("data: %w", err)
	}
	return f, nil
}

// beginning returns what r holds once it has a line that is neither blank nor a comment.
func beginning(r *bufio.Reader) ([]byte, error) {
	var err error
	for {
		head, _ := r.Peek(r.Buffered())
		for line := range bytes.Lines(head) {
			if text := bytes.TrimSpace(line); line[len(line)-1] == '\n' && len(text) > 0 && text[0] != '#' {
				return head, nil
			}
		}
		switch {
		case err == io.EOF || len(head) == r.Size():
			return head, nil
		case err != nil:
			return nil, err
		}
		_, err = r.Peek(len(head) + 1)
	}
}
