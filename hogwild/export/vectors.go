package export

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"hogwild/hogwild/words"
)

// Vectors writes vectors of words as word2vec.c does: "words K", and for each word the word, a space and its numbers,
// as text in a line, or as float32 of little end and a newline. Text has all digits of a float32.
func Vectors(to io.Writer, v *words.Vectors, asText bool) error {
	w := bufio.NewWriterSize(to, 1<<20)
	fmt.Fprintf(w, "%d %d\n", len(v.Words), v.K)
	var row []byte
	for i, word := range v.Words {
		row = append(row[:0], word...)
		if !asText {
			row = append(row, ' ')
		}
		for _, x := range v.W[i*v.K : (i+1)*v.K] {
			if asText {
				row = strconv.AppendFloat(append(row, ' '), float64(x), 'g', -1, 32)
			} else {
				row, _ = binary.Append(row, binary.LittleEndian, x)
			}
		}
		if _, err := w.Write(append(row, '\n')); err != nil {
			return err
		}
	}
	return w.Flush()
}
