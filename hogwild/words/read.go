package words

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/data/format"
	"hogwild/internal/atomicfile"
	"hogwild/internal/human"
)

// Bytes that a word, and a row of numbers as text, may have. No line of a text to train on has a longer word.
const (
	mostWord = 16 << 20
	mostRow  = 2 << 20
)

// mostUnpacked is how many bytes a packed file may become for each of its own: digits of vectors become two or three.
const mostUnpacked = 16

// read reads vectors as word2vec.c writes them: "words K", and then for each word the word, a space and its numbers, as
// float32 of little end or as text in a line. What it holds counts in the budget.
func read(path string, budget *format.Budget) (*Vectors, error) {
	file, err := atomicfile.Open(path)
	if err != nil {
		return nil, config.Usage("%w", err)
	}
	defer file.Close()
	in, left := bufio.NewReaderSize(file, 1<<20), &io.LimitedReader{N: 1}
	if head, _ := in.Peek(2); bytes.Equal(head, []byte("\x1f\x8b")) {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, config.Usage("%s: %w", path, err)
		}
		info, err := file.Stat()
		if err != nil {
			return nil, config.Usage("%w", err)
		}
		left = &io.LimitedReader{R: unpacked, N: 16<<20 + mostUnpacked*info.Size()}
		in = bufio.NewReaderSize(left, 1<<20)
	}
	v, err := readVectors(path, in, budget)
	if left.N == 0 {
		return nil, config.Usage("%s: it unpacks to more than %d times its size, which no vectors do: unpack it first "+
			"(gunzip)", path, mostUnpacked)
	}
	if full := (*format.MemoryError)(nil); errors.As(err, &full) {
		full.Of, full.Cure = path, "free memory, or name a smaller file"
		return nil, config.Usage("%w", err)
	}
	if err != nil {
		return nil, config.Usage("%s: %w; want a run, or vectors as word2vec writes them (.vec, .bin)", path, err)
	}
	return v, nil
}

func readVectors(path string, in *bufio.Reader, budget *format.Budget) (*Vectors, error) {
	head, err := upTo(in, '\n', mostRow)
	if err != nil {
		return nil, err
	}
	n, k := 0, 0
	if _, err := fmt.Sscanf(head, "%d %d", &n, &k); err != nil || n < 1 || k < 1 || k > 1<<16 {
		return nil, fmt.Errorf("the first line is not the numbers of words and of numbers a word")
	}
	v, asText := &Vectors{K: k}, false
	for i := range n {
		word, err := upTo(in, ' ', mostWord)
		if err != nil {
			return nil, fmt.Errorf("after %d of %d words: %w", i, n, err)
		}
		// the vector, the same of length 1, and what growing arrays have free
		if err := budget.Take(path, int64(len(word))+48+12*int64(k), "its vectors"); err != nil {
			return nil, err
		}
		v.Words = append(v.Words, strings.TrimLeft(strings.TrimSuffix(word, " "), "\n"))
		if i == 0 {
			start, _ := in.Peek(4096)
			asText = isText(start)
		}
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

// isText reports whether what follows the first word are numbers as text.
func isText(start []byte) bool {
	row, _, whole := bytes.Cut(start, []byte("\n"))
	fields := bytes.Fields(row)
	if !whole && len(fields) > 1 {
		fields = fields[:len(fields)-1] // it may be cut
	}
	for _, f := range fields {
		if _, err := strconv.ParseFloat(string(f), 32); err != nil {
			return false
		}
	}
	return len(fields) > 0
}

func (v *Vectors) addText(in *bufio.Reader) error {
	row, err := upTo(in, '\n', mostRow)
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

// upTo reads through a byte, most bytes at most. At the end of the file the byte may be missing.
func upTo(in *bufio.Reader, end byte, most int) (string, error) {
	var text []byte
	for {
		part, err := in.ReadSlice(end)
		text = append(text, part...)
		switch {
		case len(text) > most:
			return "", fmt.Errorf("more than %s without a blank or an end of the line", human.Bytes(int64(most)))
		case err == nil || err == io.EOF && len(text) > 0:
			return string(text), nil
		case err == io.EOF:
			return "", errors.New("the file ends there")
		case err != bufio.ErrBufferFull:
			return "", err
		}
	}
}
