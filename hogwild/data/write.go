package data

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"hogwild/internal/atomicfile"
)

// WriteFile writes the rows of a set to a file, in the format that its ending names,
// from which they load to equal values: a dense or a sparse set to LIBSVM's (.libsvm,
// .svm), a dense one to .csv or .npy, the label last in each row, and triples to .csv or
// .npy (n x 3), with the ids that Meta has. What has been scaled is written as it is.
// The file is not made if ctx is done before all is written.
func WriteFile(ctx context.Context, path string, s *Set) error {
	write, err := s.writer(filepath.Ext(path))
	if err != nil {
		return err
	}
	return writeWhole(ctx, path, write)
}

// writeWhole writes a file that has its name only when it is complete: what a full disk or a
// ctx that is done cuts short is removed. What is not a plain file, such as a pipe, is written in place.
func writeWhole(ctx context.Context, path string, write func(w *bufio.Writer) error) error {
	f, err := atomicfile.Replace(path)
	if err != nil {
		return fmt.Errorf("data: %s: %w; name a file in a folder that can be written", path,
			cmp.Or(errors.Unwrap(err), err))
	}
	defer f.Abandon()
	w := bufio.NewWriterSize(until{ctx, f}, 1<<20)
	for _, step := range []func() error{func() error { return write(w) }, w.Flush, f.Commit} {
		if err := step(); err != nil {
			return fmt.Errorf("data: writing %s: %w", path, err)
		}
	}
	return nil
}

// until writes until its context is done.
type until struct {
	ctx context.Context
	io.Writer
}

func (u until) Write(p []byte) (int, error) {
	if err := context.Cause(u.ctx); err != nil {
		return 0, err
	}
	return u.Writer.Write(p)
}

// writer returns how a set is written to files of an ending.
func (s *Set) writer(ending string) (func(w *bufio.Writer) error, error) {
	libsvm := ending == ".libsvm" || ending == ".svm"
	switch {
	case s.Entries() && ending == ".csv":
		return s.writeTriples, nil
	case s.Entries() && ending == ".npy" && s.Columns != nil:
		return nil, fmt.Errorf("data: %s: its ids are texts, which are written to .csv, not to .npy", s.Name)
	case s.Entries() && ending == ".npy":
		return func(w *bufio.Writer) error { return s.writeArray(w, 3, s.triple()) }, nil
	case s.Entries():
		return nil, fmt.Errorf("data: %s: triples are written to .csv or .npy, not to %q", s.Name, ending)
	case libsvm:
		return s.writeLIBSVM, nil
	case s.Sparse():
		return nil, fmt.Errorf("data: %s: a sparse set is written to .libsvm or .svm, not to %q", s.Name, ending)
	case ending == ".csv":
		return s.writeCSV, nil
	case ending == ".npy":
		return func(w *bufio.Writer) error { return s.writeArray(w, s.Features+1, s.labelled()) }, nil
	}
	return nil, fmt.Errorf("data: %s: a dense set is written to .csv, .npy, .libsvm or .svm, not to %q", s.Name, ending)
}

// name returns the label of row i as files write it.
func (s *Set) name(i int) string {
	if s.Classes != nil {
		return s.Classes[int(s.Y[i])]
	}
	return decimal(float64(s.Y[i]))
}

// decimal returns the shortest number that is read as the same float32.
func decimal(v float64) string { return strconv.FormatFloat(v, 'g', -1, 32) }

func (s *Set) writeLIBSVM(w *bufio.Writer) error {
	r := s.NewReader()
	for i := range s.Rows {
		w.WriteString(s.name(i))
		row := r.Batch([]int32{int32(i)}).Rows[0]
		for k, v := range row.Val {
			j := k
			if row.Idx != nil {
				j = int(row.Idx[k])
			}
			if v != 0 {
				w.WriteByte(' ')
				w.WriteString(strconv.Itoa(j + 1))
				w.WriteByte(':')
				w.WriteString(decimal(float64(v)))
			}
		}
		if err := w.WriteByte('\n'); err != nil { // a bufio.Writer keeps its first error
			return err
		}
	}
	return nil
}

func (s *Set) writeCSV(w *bufio.Writer) error {
	for j := range s.Features {
		fmt.Fprintf(w, "x%d,", j+1)
	}
	w.WriteString("label\n")
	r := s.NewReader()
	for i := range s.Rows {
		for _, v := range r.Batch([]int32{int32(i)}).Rows[0].Val {
			w.WriteString(decimal(float64(v)))
			w.WriteByte(',')
		}
		w.WriteString(s.name(i))
		if err := w.WriteByte('\n'); err != nil {
			return err
		}
	}
	return nil
}

func (s *Set) writeTriples(w *bufio.Writer) error {
	head := "userId,itemId,rating\n"
	if s.Shape == nil {
		head = "source,target,weight\n"
	}
	w.WriteString(head)
	get, out := s.triple(), csv.NewWriter(w)
	for i := range s.Rows {
		t := get(i)
		row := []string{strconv.Itoa(int(t[0])), strconv.Itoa(int(t[1])), decimal(t[2])}
		if s.Columns != nil {
			row[0], row[1] = s.Columns[s.Idx[2*i]], s.Columns[s.Idx[2*i+1]]
		}
		if err := out.Write(row); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// triple returns a function that gives the ids and the value of pair i.
func (s *Set) triple() func(i int) []float64 {
	first, second, offset := listed(s.IDs[0]), listed(s.IDs[len(s.IDs)-1]), uint32(0)
	if s.Shape != nil {
		offset = uint32(s.Shape[0])
	}
	t := make([]float64, 3)
	return func(i int) []float64 {
		t[0], t[1] = float64(first[s.Idx[2*i]]), float64(second[s.Idx[2*i+1]-offset])
		t[2] = float64(s.Y[i])
		return t
	}
}

// labelled returns a function that gives the values of row i, and behind them its label.
func (s *Set) labelled() func(i int) []float64 {
	r, row := s.NewReader(), make([]float64, s.Features+1)
	return func(i int) []float64 {
		for j, v := range r.Batch([]int32{int32(i)}).Rows[0].Val {
			row[j] = float64(v)
		}
		row[s.Features], _ = strconv.ParseFloat(s.name(i), 64)
		return row
	}
}

// NPYHead returns the header of an .npy file: the type of its elements, as NumPy names it, and the shape.
func NPYHead(kind string, shape []int) []byte {
	text := "("
	for i, n := range shape {
		if i > 0 {
			text += " "
		}
		text += strconv.Itoa(n) + ","
	}
	if len(shape) > 1 {
		text = strings.TrimSuffix(text, ",")
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s), }", kind, text)
	for (len(head)+11)%64 != 0 { // the elements begin at a multiple of 64
		head += " "
	}
	return fmt.Appendf(nil, "\x93NUMPY\x01\x00%s%s\n", binary.LittleEndian.AppendUint16(nil, uint16(len(head)+1)), head)
}

// writeArray writes n x d numbers as float64, in which every id fits.
func (s *Set) writeArray(w io.Writer, d int, row func(i int) []float64) error {
	if _, err := w.Write(NPYHead("<f8", []int{s.Rows, d})); err != nil {
		return err
	}
	line := make([]byte, 8*d)
	for i := range s.Rows {
		for j, v := range row(i) {
			binary.LittleEndian.PutUint64(line[8*j:], math.Float64bits(v))
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}
