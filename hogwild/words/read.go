package words

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"hogwild/hogwild/config"
)

// read reads vectors as word2vec.c writes them: "words K", and then for each word the word, a space and its numbers, as
// float32 of little end or as text in a line.
func read(path string) (*Vectors, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	if head, _ := in.Peek(2); bytes.Equal(head, []byte("\x1f\x8b")) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, config.Usage("%s: %w", path, err)
		}
		in = bufio.NewReaderSize(unpacked, 1<<20)
	}
	v, err := readVectors(in)
	if err != nil {
		return nil, config.Usage("%s: %w; want a run, or vectors as word2vec writes them (.vec, .bin)", path, err)
	}
	return v, nil
}

func readVectors(in *bufio.Reader) (*Vectors, error) {
	head, err := line(in)
	if err != nil {
		return nil, err
	}
	n, k := 0, 0
	if _, err := fmt.Sscanf(head, "%d %d", &n, &k); err != nil || n < 1 || k < 1 || k > 1<<16 {
		return nil, fmt.Errorf("the first line is not the numbers of words and of numbers a word")
	}
	v := &Vectors{K: k}
	start, _ := in.Peek(4096)
	asText := isText(start, k)
	for i := range n {
		word, err := in.ReadString(' ')
		if err != nil {
			return nil, fmt.Errorf("it ends after %d of %d words", i, n)
		}
		v.Words = append(v.Words, strings.TrimLeft(strings.TrimSuffix(word, " "), "\n"))
		if asText {
			err = v.addText(in)
		} else {
			err = v.addFloats(in)
		}
		if err != nil {
			return nil, fmt.Errorf("word %d of %d: %w", i+1, n, err)
		}
	}
	return v, nil
}

// isText reports whether behind the first word there are numbers as text.
func isText(start []byte, k int) bool {
	row, _, _ := bytes.Cut(start, []byte("\n"))
	fields := bytes.Fields(row)
	for _, f := range fields[min(1, len(fields)):min(len(fields), k)] { // the last one may be cut
		if _, err := strconv.ParseFloat(string(f), 32); err != nil {
			return false
		}
	}
	return len(fields) > 1
}

func (v *Vectors) addText(in *bufio.Reader) error {
	row, err := line(in)
	if err != nil {
		return err
	}
	fields := strings.Fields(row)
	if len(fields) != v.K {
		return fmt.Errorf("%d numbers, want %d", len(fields), v.K)
	}
	for _, f := range fields {
		x, err := strconv.ParseFloat(f, 32)
		if err != nil {
			return fmt.Errorf("%q is no number", f)
		}
		v.W = append(v.W, float32(x))
	}
	return nil
}

func (v *Vectors) addFloats(in *bufio.Reader) error {
	row := make([]byte, 4*v.K)
	if _, err := io.ReadFull(in, row); err != nil {
		return fmt.Errorf("the file ends in its vector")
	}
	for ; len(row) > 0; row = row[4:] {
		v.W = append(v.W, math.Float32frombits(binary.LittleEndian.Uint32(row)))
	}
	return nil
}

// line is the next line, of bounded length.
func line(in *bufio.Reader) (string, error) {
	text, err := in.ReadString('\n')
	if err == io.EOF && text != "" {
		err = nil
	}
	if err == nil && len(text) > 1<<21 {
		err = fmt.Errorf("a line of %d bytes", len(text))
	}
	return text, err
}
