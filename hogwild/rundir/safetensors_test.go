package rundir

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"hogwild/internal/check"
)

// someTensors has every type, odd lengths, a single number and an empty array, in
// the order of a file.
func someTensors() []Tensor {
	return []Tensor{
		{"t", "I64", []int{2}, []byte("\xff\xff\xff\xff\xff\xff\xff\xff\x07\x00\x00\x00\x00\x00\x00\x00")},
		{"u", "U64", []int{}, []byte("12345678")},
		{"d", "F64", []int{1, 1}, []byte("\x00\x00\x00\x00\x00\x00\xf8\x3f")}, // 1.5
		FloatTensor("0.weight", []int{2, 3}, []float32{1, -2, 0.5, 3, 4, float32(math.Inf(1))}),
		FloatTensor("0.bias", []int{0}, nil),
		{"v", "U32", []int{1}, []byte("\x01\x00\x00\x00")},
		{"b", "U8", []int{3}, []byte{1, 2, 255}},
	}
}

func TestTensorsComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	meta := map[string]string{"config": `{"lr": 0.1, "checksum":"x"}`, "note": "größer < 1"}
	want := someTensors()
	given := []Tensor{want[6], want[0], want[1], want[3], want[2], want[4], want[5]}
	if err := WriteTensors(path, meta, given); err != nil {
		t.Fatal(err)
	}
	gotMeta, got, err := ReadTensors(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(meta, gotMeta); d != "" {
		t.Error(d)
	}
	// Empty data lies at the same place as its neighbor's begin, by the order of names.
	if d := cmp.Diff(byName(want), byName(got)); d != "" {
		t.Error(d)
	}
	file, _ := os.ReadFile(path)
	if n := binary.LittleEndian.Uint64(file); n%8 != 0 {
		t.Errorf("a header of %d bytes leaves the data unaligned", n)
	}
}

func byName(ts []Tensor) map[string]Tensor {
	m := map[string]Tensor{}
	for _, t := range ts {
		t.Data = append([]byte{}, t.Data...)
		m[t.Name] = t
	}
	return m
}

func TestFloats(t *testing.T) {
	want := []float32{0, -1.5, 3e-39, math.MaxFloat32}
	got, err := FloatTensor("w", []int{4}, want).Floats()
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := (Tensor{"w", "F64", []int{2}, make([]byte, 8)}).Floats(); err == nil {
		t.Error("a tensor without half of its data was read")
	}
}

// Every single-bit error in every byte, and some others, must be noticed.
func TestDamageIsNoticed(t *testing.T) {
	parts, err := encodeTensors(map[string]string{"epoch": "3"}, someTensors())
	if err != nil {
		t.Fatal(err)
	}
	file := bytes.Join(parts, nil)
	if _, _, err := decodeTensors(file); err != nil {
		t.Fatal(err)
	}
	for i := range file {
		for _, mask := range []byte{1, 2, 4, 8, 16, 32, 64, 128, 255, ' ' ^ '\t'} {
			file[i] ^= mask
			if _, _, err := decodeTensors(file); err == nil {
				t.Errorf("byte %d of %d was changed to %q, and nothing noticed", i, len(file), file[i])
			}
			file[i] ^= mask
		}
		if _, _, err := decodeTensors(file[:i]); err == nil {
			t.Errorf("the file was cut to %d of %d bytes, and nothing noticed", i, len(file))
		}
	}
}

func TestDamagedFileSaysWhatToDo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	if err := WriteTensors(path, nil, someTensors()); err != nil {
		t.Fatal(err)
	}
	file, _ := os.ReadFile(path)
	file[len(file)-1]++
	os.WriteFile(path, file, 0o666)
	_, _, err := ReadTensors(path)
	for _, want := range []string{path, "damaged", "should be", "earlier snapshot"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: does not say %q", err, want)
		}
	}
}

// withHeader returns a file as another program writes it, without a checksum.
func withHeader(header string, data int) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, data)...)
}

func TestMalformedFiles(t *testing.T) {
	one := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	cases := []struct {
		says string
		file []byte
	}{
		{"", withHeader(one, 8)},
		{"", withHeader(one+"   ", 8)},
		{"", withHeader(`{}`, 0)},
		{"too short", []byte("1234567")},
		{"header of", withHeader(one, 8)[:20]},
		{"header of", []byte("\xff\xff\xff\xff\xff\xff\xff\xff{}")},
		{"JSON object", withHeader(`[]`, 0)},
		{"JSON object", withHeader(``, 0)},
		{"JSON object", withHeader(`{"__metadata__":3}`, 0)},
		{"invalid character", withHeader(`{"w":!}`, 0)},
		{"EOF", withHeader(`{"w"`, 0)},
		{"after its JSON", withHeader(one+"x", 8)},
		{"cannot unmarshal", withHeader(`{"__metadata__":{"a":1}}`, 0)},
		{"occurs twice", withHeader(`{"__metadata__":{},"__metadata__":{}}`, 0)},
		{"occurs twice",
			withHeader(`{"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"w":{"dtype":"U8","shape":[],"data_offsets":[1,2]}}`, 2)},
		{"lies at", withHeader(one, 7)},
		{"lies at", withHeader(`{"w":{"dtype":"F32","shape":[2]}}`, 8)},
		{"lies at", withHeader(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, 8)},
		{"lies at", withHeader(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}}`, 8)},
		{"follow the last", withHeader(one, 9)},
		{"begins at",
			withHeader(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3)},
		{"begins at",
			withHeader(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}`, 5)},
		{"needs 12 bytes", withHeader(`{"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, 8)},
		{"negative", withHeader(`{"w":{"dtype":"U8","shape":[-2,-4],"data_offsets":[0,8]}}`, 8)},
		{"too large",
			withHeader(`{"w":{"dtype":"U8","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}}`, 0)},
		{"", withHeader(`{"w":{"dtype":"BF16","shape":[4],"data_offsets":[0,8]}}`, 8)},
		{"only F64", withHeader(`{"w":{"dtype":"F8_E5M2","shape":[8],"data_offsets":[0,8]}}`, 8)},
	}
	for _, c := range cases {
		_, _, err := decodeTensors(c.file)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v, should say %q", c.file[min(8, len(c.file)):], err, c.says)
		}
	}
}

func TestTensorsThatCannotBeWritten(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "w.safetensors")
	for _, ts := range [][]Tensor{
		{{"w", "F32", []int{2}, make([]byte, 4)}},
		{{"w", "C64", []int{2}, make([]byte, 16)}},
		{{"w", "U8", nil, []byte{1}}, {"w", "U8", nil, []byte{2}}},
		{{metadataKey, "U8", nil, []byte{1}}},
	} {
		if err := WriteTensors(path, nil, ts); err == nil {
			t.Errorf("%v was written", ts)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A disk that is full looks to a program like a file that may not grow any more.
func TestFullDiskKeepsTheOldFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "w.safetensors")
	if err := WriteTensors(path, nil, someTensors()); err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1 << 16, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	err := WriteTensors(path, nil, []Tensor{{"w", "U8", []int{1 << 17}, make([]byte, 1<<17)}})
	if e := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); e != nil {
		t.Fatal(e)
	}
	if err == nil || !strings.Contains(err.Error(), "could not be saved") {
		t.Errorf("more than the disk can hold was written: %v", err)
	}
	checkOnlyFile(t, folder, path)
}

func TestNameThatCannotBeReplaced(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "w.safetensors")
	if err := WriteTensors(path, nil, someTensors()); err != nil {
		t.Fatal(err)
	}
	if err := WriteTensors(filepath.Join(path, "x"), nil, nil); err == nil {
		t.Error("a file was written into a file")
	}
	checkOnlyFile(t, folder, path)

	occupied := filepath.Join(folder, "occupied")
	os.MkdirAll(filepath.Join(occupied, "x"), 0o777)
	if err := WriteTensors(occupied, nil, nil); err == nil {
		t.Error("a folder was replaced by a file")
	}
	os.RemoveAll(occupied)
	checkOnlyFile(t, folder, path)
}

// checkOnlyFile wants someTensors at path, and nothing else in the folder.
func checkOnlyFile(t *testing.T, folder, path string) {
	t.Helper()
	if _, got, err := ReadTensors(path); err != nil || len(got) != len(someTensors()) {
		t.Errorf("the old file is gone: %d tensors, %v", len(got), err)
	}
	if left, _ := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

// python runs a script with safetensors and numpy.
func python(t *testing.T, script string, args ...string) []byte {
	t.Helper()
	return check.Python(t, "safetensors, numpy", script, args...)
}

func TestPythonReadsOurs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	if err := WriteTensors(path, map[string]string{"epoch": "3"}, someTensors()); err != nil {
		t.Fatal(err)
	}
	out := python(t, `
import json, sys, safetensors
with safetensors.safe_open(sys.argv[1], "numpy") as f:
    a = {k: f.get_tensor(k) for k in f.keys()}
    print(json.dumps({"epoch": f.metadata()["epoch"],
        "tensors": {k: [v.dtype.name, list(v.shape), v.tobytes().hex()] for k, v in a.items()}}))
`, path)
	var got struct {
		Epoch   string
		Tensors map[string][3]any
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got.Epoch != "3" || len(got.Tensors) != len(someTensors()) {
		t.Errorf("%s", out)
	}
	names := map[string]string{"F32": "float32", "F64": "float64", "U8": "uint8", "U32": "uint32", "U64": "uint64",
		"I64": "int64"}
	for _, want := range someTensors() {
		line := fmt.Sprint([3]any{names[want.DType], want.Shape, fmt.Sprintf("%x", want.Data)})
		if found := fmt.Sprint(got.Tensors[want.Name]); found != line {
			t.Errorf("%s: %s, want %s", want.Name, found, line)
		}
	}
}

func TestWeReadPythons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	python(t, `
import sys, numpy as np, safetensors.numpy
safetensors.numpy.save_file({
    "0.weight": np.array([[1, 2, 3], [4, 5, 6.5]], "f4"), "d": np.array(1.5, "f8"), "b": np.array([1, 2, 255], "u1"),
    "t": np.array([-1, 7], "i8"), "empty": np.zeros((0, 3), "f4")}, sys.argv[1], {"format": "np"})
`, path)
	meta, ts, err := ReadTensors(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{"format": "np"}, meta); d != "" {
		t.Error(d)
	}
	want := someTensors()
	d, i, b := want[2], want[0], want[6]
	d.Shape = []int{}
	w := FloatTensor("0.weight", []int{2, 3}, []float32{1, 2, 3, 4, 5, 6.5})
	if d := cmp.Diff(byName([]Tensor{w, d, b, i, FloatTensor("empty", []int{0, 3}, nil)}), byName(ts)); d != "" {
		t.Error(d)
	}
}

// 100 MB of weights to bytes and back, and to a file and back: MB/s.
func BenchmarkFloats(b *testing.B) {
	v := make([]float32, 25<<20)
	b.SetBytes(int64(4 * len(v)))
	for b.Loop() {
		if _, err := FloatTensor("w", []int{len(v)}, v).Floats(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTensorFile(b *testing.B) {
	path := filepath.Join(b.TempDir(), "w.safetensors")
	ts := []Tensor{FloatTensor("w", []int{25 << 20}, make([]float32, 25<<20))}
	b.SetBytes(int64(len(ts[0].Data)))
	for b.Loop() {
		if err := WriteTensors(path, nil, ts); err != nil {
			b.Fatal(err)
		}
		if _, _, err := ReadTensors(path); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzDecodeTensors: no file makes it panic, and what it accepts can be written and
// read again, the same.
func FuzzDecodeTensors(f *testing.F) {
	parts, err := encodeTensors(map[string]string{"epoch": "3"}, someTensors())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Join(parts, nil))
	f.Add(withHeader(`{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(withHeader(`{"__metadata__":{"a":"b"},"w":{"dtype":"U8","shape":[],"data_offsets":[0,1]}}`, 1))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		meta, ts, err := decodeTensors(file)
		if err != nil {
			return
		}
		again, err := encodeTensors(meta, ts)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", file, err)
		}
		meta2, ts2, err := decodeTensors(bytes.Join(again, nil))
		if err != nil || !cmp.Equal(meta, meta2) || !cmp.Equal(byName(ts), byName(ts2), cmpopts.EquateEmpty()) {
			t.Fatalf("%q came back as %v %v %v", file, meta2, ts2, err)
		}
	})
}
