package get

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/data"
	"hogwild/hogwild/data/catalog"
	"hogwild/internal/check"
)

// Packed by bzip2: twelve rows of LIBSVM, the same as two streams one after the other, and five million zeros.
const (
	rowsBZip2    = "QlpoOTFBWSZTWVlfV8kAAA9YAAAQQAo/kCAAMQNA0BKeqPSg2kApCsCrtVVRsKzz37/hJJnRdyRThQkFlfV8kA=="
	streamsBZip2 = "QlpoOTFBWSZTWblLxmoAAANYAAAQQAo4ECAAIaaHqaEMCNpNuIHZR08XckU4UJC5S8ZqQlpoOTFBWSZTWdHxUgYAAAHYAAAQQAo/kCAAMQNA0BmqMhiQwbY0saUSAgJaVZ691e8+LuSKcKEho+KkDA=="
	bombBZip2    = "QlpoOTFBWSZTWabi8/QAJkvAAsAACAAACCAAMMwFKaapEUbAoijxdyRThQkKbi8/QA=="
	rowsText     = "-1 1:1\n+1 2:1\n-1 3:1\n+1 4:1\n-1 5:1\n+1 6:1\n-1 7:1\n+1 1:1\n-1 2:1\n+1 3:1\n-1 4:1\n+1 5:1\n"
)

func decoded(t *testing.T, text string) []byte {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// got is the folder after a download of one packed file, and the error.
func got(t *testing.T, f catalog.File, packed []byte) (dir string, err error) {
	t.Helper()
	s := newServer(t, map[string][]byte{"/" + f.Name: packed})
	f.URLs = []string{s.URL + "/" + f.Name}
	g := getter(t)
	_, err = g.Set(background(), catalog.Set{Name: "packed", Files: []catalog.File{f}})
	dir = filepath.Join(g.Dir, "packed")
	if err != nil {
		for _, name := range listing(t, dir) {
			if !strings.HasSuffix(name, ".part") && !strings.HasSuffix(name, ".from") {
				t.Errorf("after %v there is %s", err, name)
			}
		}
	}
	return dir, err
}

func TestBZip2(t *testing.T) {
	t.Parallel()
	file := catalog.File{Name: "rows.bz2", Pack: catalog.BZip2, Rows: 12, Most: 1000}
	for _, text := range []string{rowsBZip2, streamsBZip2} {
		dir, err := got(t, file, decoded(t, text))
		if err != nil {
			t.Fatal(err)
		}
		holds(t, dir, map[string][]byte{"rows": []byte(rowsText)})
	}
	for words, packed := range map[string][]byte{
		"bzip2 data invalid":                       []byte("PK\x03\x04 and so on"),
		"unexpected EOF":                           decoded(t, rowsBZip2)[:40],
		"it unpacks to more than 1,000 bytes":      decoded(t, bombBZip2),
		"it has 2 rows, the published file has 12": decoded(t, streamsBZip2)[:decodedFirst],
		"checksum mismatch":                        flipped(decoded(t, rowsBZip2), 50),
	} {
		_, err := got(t, file, packed)
		check.Error(t, err, "unpacking rows.bz2: ", words)
	}
}

// decodedFirst is the length of the first stream of streamsBZip2.
const decodedFirst = 51

func flipped(b []byte, i int) []byte {
	b[i] ^= 1
	return b
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
	file := catalog.File{Name: "a.zip", Pack: catalog.Zip, Most: 1000, Take: []catalog.Member{{Path: "a/u.data", Name: "u.data"}, {Path: "a/README", Name: "README"}}}
	dir, err := got(t, file, zipped(t, "../outside", "bad", "/a/u.data", "bad", "a/README", "read me", "a/u.data", "1\t2\t3\t4\n", "a/u.data/../README", "bad", "a/other", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	holds(t, dir, map[string][]byte{"u.data": []byte("1\t2\t3\t4\n"), "README": []byte("read me")})
	damaged := zipped(t, "a/README", "read me", "a/u.data", strings.Repeat("rating", 10))
	at := bytes.Index(damaged, []byte("a/u.data")) + len("a/u.data") + 1
	for words, packed := range map[string][]byte{
		"not a valid zip file":                          []byte(rowsText),
		"a/README: the archive has no such file":        zipped(t, "a/u.data", "1", "README", "2"),
		"a/u.data: it unpacks to more than 1,000 bytes": zipped(t, "a/README", "", "a/u.data", strings.Repeat("x", 1001)),
		"a/u.data: ": flipped(damaged, at),
	} {
		_, err := got(t, file, packed)
		check.Error(t, err, "unpacking a.zip: ", words)
	}
}

// cifar makes an archive of batches of n records, in this order. A record of number i has class i%10, and pixels that tell
// what batch, record, color and place they are of.
func cifar(t *testing.T, n int, names ...string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, name := range names {
		var body []byte
		for i := range n {
			body = append(body, byte(i%10))
			for p := range cifarPixels {
				body = append(body, pixel(name, i, p))
			}
		}
		if strings.HasSuffix(name, ".html") {
			body = []byte("read me")
		}
		if err := w.WriteHeader(&tar.Header{Name: "cifar-10-batches-bin/" + name, Size: int64(len(body)), Mode: 0o644}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := errorOf(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func errorOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func pixel(batch string, i, p int) byte {
	return byte(int(batch[len("data_batch_")-6])*31 + i*7 + p/1024*50 + p%1024)
}

// The batches of CIFAR-10, in whatever order, become arrays that NumPy and the readers of data read.
func TestCIFAR10(t *testing.T) {
	t.Parallel()
	const n = 20
	train, test := cifarBatches[0], cifarBatches[1][0]
	file := catalog.File{Name: "c.tar.gz", Pack: catalog.CIFAR10, Most: 1e6}
	dir, err := got(t, file, cifar(t, n, train[0], train[4], "readme.html", train[3], train[1], train[2], test))
	if err != nil {
		t.Fatal(err)
	}
	if names := strings.Join(listing(t, dir), " "); names != "SHA256SUMS X_test.npy X_train.npy y_test.npy y_train.npy" {
		t.Errorf("the folder has %s", names)
	}
	trained, tested, err := data.Load(data.Options{Path: dir, Scale: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer trained.Close()
	defer tested.Close()
	if trained.Rows != 5*n || tested.Rows != n || fmt.Sprint(trained.Shape, tested.Shape) != "[3 32 32] [3 32 32]" || len(trained.Classes) != 10 {
		t.Errorf("%d and %d rows of %v, classes %q", trained.Rows, tested.Rows, trained.Shape, trained.Classes)
	}
	for i := range n { // the test set keeps its order
		row := tested.X8[i*cifarPixels : (i+1)*cifarPixels]
		for p, v := range row {
			if v != pixel(test, i, p) || tested.Y[i] != float32(i%10) {
				t.Fatalf("image %d, pixel %d is %d, class %g", i, p, v, tested.Y[i])
			}
		}
	}
	said := check.Python(t, "numpy", `import sys, numpy
x, y = numpy.load(sys.argv[1] + "/X_train.npy"), numpy.load(sys.argv[1] + "/y_train.npy")
print(x.dtype, x.shape, y.dtype, y.shape, x[43, 1, 2, 3], y[43])`, dir)
	want := fmt.Sprintf("uint8 (100, 3, 32, 32) uint8 (100,) %d 3\n", pixel(train[2], 3, 1024+2*32+3))
	if string(said) != want {
		t.Errorf("NumPy reads %swant %s", said, want)
	}
}

func TestCIFAR10Damaged(t *testing.T) {
	t.Parallel()
	train, test := cifarBatches[0], cifarBatches[1][0]
	file := catalog.File{Name: "c.tar.gz", Pack: catalog.CIFAR10, Most: 2e6}
	all := append([]string{test}, train...)
	whole := cifar(t, 3, all...)
	for words, packed := range map[string][]byte{
		"gzip: invalid header":  []byte(rowsText),
		"unexpected EOF":        whole[:len(whole)/2],
		"it has 5 of 6 batches": cifar(t, 3, all[:5]...),
		"it has 1 of 6 batches": cifar(t, 3, test, test, test, test, test, test),
		"it has 0 of 6 batches": cifar(t, 3, "../data_batch_1", "other.html"),
	} {
		_, err := got(t, file, packed)
		check.Error(t, err, "unpacking c.tar.gz: ", words)
	}
	file.Most = 5000
	_, err := got(t, file, whole)
	check.Error(t, err, "unpacking c.tar.gz: ")
	wrong := catalog.File{Name: "c.tar.gz", Pack: catalog.CIFAR10, Most: 2e6}
	unzipped, _ := gzip.NewReader(bytes.NewReader(whole))
	var plain, again bytes.Buffer
	plain.ReadFrom(unzipped)
	b := plain.Bytes()
	b[512] = 10 // the class of the first record
	z := gzip.NewWriter(&again)
	z.Write(b)
	z.Close()
	_, err = got(t, wrong, again.Bytes())
	check.Error(t, err, "test_batch.bin: record 1 has class 10, want 0 to 9")
	if _, err := os.Stat("c.tar.gz"); err == nil {
		t.Error("an archive in the current folder")
	}
}
