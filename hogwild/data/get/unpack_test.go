package get

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/internal/check"
)

// Packed by bzip2: twelve rows of LIBSVM, and the same as two streams one after the other.
const (
	rowsBZip2    = "QlpoOTFBWSZTWVlfV8kAAA9YAAAQQAo/kCAAMQNA0BKeqPSg2kApCsCrtVVRsKzz37/hJJnRdyRThQkFlfV8kA=="
	streamsBZip2 = "QlpoOTFBWSZTWblLxmoAAANYAAAQQAo4ECAAIaaHqaEMCNpNuIHZR08XckU4UJC5S8ZqQlpoOTFB" +
		"WSZTWdHxUgYAAAHYAAAQQAo/kCAAMQNA0BmqMhiQwbY0saUSAgJaVZ691e8+LuSKcKEho+KkDA=="
	rowsText = "-1 1:1\n+1 2:1\n-1 3:1\n+1 4:1\n-1 5:1\n+1 6:1\n-1 7:1\n+1 1:1\n-1 2:1\n+1 3:1\n-1 4:1\n+1 5:1\n"
)

// got returns the folder after a download of one packed file, and the error. A second download does nothing if there
// was none.
func got(t *testing.T, f File, packed []byte) (dir string, err error) {
	t.Helper()
	s := newServer(t, map[string][]byte{"/" + f.Name: packed})
	f.URL = s.URL + "/" + f.Name
	g, set := New(t.TempDir()), Set{Name: "packed", Files: []File{f}}
	dir = filepath.Join(g.Dir, "packed")
	_, err = g.Set(background(), set)
	if err != nil {
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("after %v there is %v", err, left)
		}
	} else if r, err := g.Set(background(), set); err != nil || r.Fresh || len(s.requests()) != 1 {
		t.Errorf("again: %+v, %v, requests %q", r, err, s.requests())
	}
	return dir, err
}

func TestBZip2(t *testing.T) {
	t.Parallel()
	for _, text := range []string{rowsBZip2, streamsBZip2} {
		packed, _ := base64.StdEncoding.DecodeString(text)
		dir, err := got(t, File{Name: "rows.bz2"}, packed)
		if err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string][]byte{"rows": []byte(rowsText)})
		for words, damaged := range map[string][]byte{
			"bzip2 data invalid": []byte("PK\x03\x04 and so on"), "unexpected EOF": packed[:40],
			"checksum mismatch": append(packed[:50:50], append([]byte{packed[50] ^ 1}, packed[51:]...)...),
		} {
			if text == rowsBZip2 {
				_, err := got(t, File{Name: "rows.bz2"}, damaged)
				check.Error(t, err, "rows.bz2: unpacking it: ", words)
			}
		}
	}
}

// A disk that is full while a file is unpacked: what was downloaded stays, and is unpacked the next time.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	packed, _ := base64.StdEncoding.DecodeString(rowsBZip2)
	s := newServer(t, map[string][]byte{"/rows.bz2": packed})
	g := New(t.TempDir())
	blocked := filepath.Join(g.Dir, "rows") // stands in for it: a folder of that name
	g.Progress = func(what string, _, _ int64) {
		if strings.HasPrefix(what, "unpacking") {
			os.MkdirAll(filepath.Join(blocked, "full"), 0o777)
		}
	}
	_, err := g.URL(background(), s.URL+"/rows.bz2", sum256(packed))
	check.Error(t, err, "rows.bz2: unpacking it: ")
	g.Progress = func(string, int64, int64) {}
	if err := os.RemoveAll(blocked); err != nil {
		t.Fatal(err)
	}
	if _, err := g.URL(background(), s.URL+"/rows.bz2", sum256(packed)); err != nil || len(s.requests()) != 1 {
		t.Errorf("again: %v, requests %q", err, s.requests())
	}
	holds(t, g.Dir, map[string][]byte{"rows": []byte(rowsText)})
}

// zipped makes an archive of names and contents, in turn.
func zipped(t *testing.T, files ...string) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		f, err := w.Create(files[i])
		if err == nil {
			_, err = f.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Only the files that are named leave an archive, whatever else is in it.
func TestZip(t *testing.T) {
	t.Parallel()
	file := File{Name: "a.zip", Take: []Member{{"a/u.data", "u.data"}, {"a/README", "README"}}}
	dir, err := got(t, file, zipped(t, "../outside", "bad", "/b/u.data", "bad", "a/README", "read me", "a/u.data",
		"1\t2\t3\t4\n", "a/other", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string][]byte{"u.data": []byte("1\t2\t3\t4\n"), "README": []byte("read me")})
	damaged := zipped(t, "a/u.data", strings.Repeat("rating", 10), "a/README", "read me")
	damaged[bytes.Index(damaged, []byte("a/u.data"))+len("a/u.data")+1] ^= 1
	for words, packed := range map[string][]byte{
		"not a valid zip file": []byte(rowsText),
		"a/u.data: ":           damaged,
	} {
		_, err := got(t, file, packed)
		check.Error(t, err, "a.zip: unpacking it: ", words)
	}
}

// The batches of CIFAR-10, in whatever order, become arrays that NumPy and the readers of data read.
func TestCIFAR10(t *testing.T) {
	t.Parallel()
	const n, pixels = 20, 3 * 32 * 32
	pixel := func(batch, i, p int) byte { return byte(batch*31 + i*7 + p/1024*50 + p%1024) }
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range []string{"data_batch_1.bin", "data_batch_5.bin", "batches.meta.txt", "data_batch_4.bin",
		"data_batch_2.bin", "test_batch.bin", "data_batch_3.bin"} {
		batch := int(name[len("data_batch_")] - '0') // of the test set another number
		var body []byte
		for i := range n {
			body = append(body, byte(i%10))
			for p := range pixels {
				body = append(body, pixel(batch, i, p))
			}
		}
		if err := w.WriteHeader(&tar.Header{Name: "cifar-10-batches-bin/" + name, Size: int64(len(body)),
			Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	set, _ := Find("cifar10")
	dir, err := got(t, File{Name: "c.tar.gz", Take: set.Files[0].Take}, b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	trained, tested, err := data.Load(data.Options{Path: dir, Scale: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer trained.Close()
	defer tested.Close()
	if trained.Rows != 5*n || tested.Rows != n || fmt.Sprint(trained.Shape, tested.Shape) != "[3 32 32] [3 32 32]" ||
		len(trained.Classes) != 10 {
		t.Errorf("%d and %d rows of %v, classes %q", trained.Rows, tested.Rows, trained.Shape, trained.Classes)
	}
	testBatch := int("test_batch.bin"[len("data_batch_")] - '0')
	for i := range n { // the test set keeps its order
		for p, v := range tested.X8[i*pixels : (i+1)*pixels] {
			if v != pixel(testBatch, i, p) || tested.Y[i] != float32(i%10) {
				t.Fatalf("image %d, pixel %d is %d, class %g", i, p, v, tested.Y[i])
			}
		}
	}
	said := check.Python(t, "numpy", `import sys, numpy
x, y = numpy.load(sys.argv[1] + "/X_train.npy"), numpy.load(sys.argv[1] + "/y_train.npy")
print(x.dtype, x.shape, y.dtype, y.shape, x[43, 1, 2, 3], y[43])`, dir)
	if want := fmt.Sprintf("uint8 (100, 3, 32, 32) uint8 (100,) %d 3\n",
		pixel(3, 3, 1024+2*32+3)); string(said) != want {
		t.Errorf("NumPy reads %swant %s", said, want)
	}
}
