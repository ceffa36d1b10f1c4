package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hogwild/internal/check"
)

// archived is an archive as torch.save writes it.
func archived(pickle string, storages map[string][]byte) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	add := func(name string, data []byte) {
		f, _ := w.CreateRaw(&zip.FileHeader{Name: "net/" + name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(data),
			CompressedSize64: uint64(len(data)), UncompressedSize64: uint64(len(data))})
		f.Write(data)
	}
	add("data.pkl", []byte(pickle))
	add("byteorder", []byte("little"))
	for key, data := range storages {
		add("data/"+key, data)
	}
	w.Close()
	return b.Bytes()
}

// text is a text in a pickle, and number a number.
func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

func number(n int32) string {
	return "J" + string(binary.LittleEndian.AppendUint32(nil, uint32(n)))
}

func numbersOf(n ...int32) string {
	s := "("
	for _, v := range n {
		s += number(v)
	}
	return s + "t"
}

// rebuilt is a call that makes a tensor of a storage with the key 0.
func rebuilt(class, device string, count, offset int32, shape, stride string) string {
	return "ctorch._utils\n_rebuild_tensor_v2\n((" + text("storage") + "c" + class + "\n" + text("0") + text(device) +
		number(count) + "tQ" +
		number(offset) + shape + stride + "\x89ccollections\nOrderedDict\n)RtR"
}

// one is a state_dict with one tensor, w.
func one(tensor string) string { return "\x80\x02}" + text("w") + tensor + "s." }

func floats(v ...float32) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v)
	return b
}

// TestDevices: where a tensor was does not matter; nor how it lay in its storage.
func TestDevices(t *testing.T) {
	storage := map[string][]byte{"0": floats(1, 2, 3, 4, 5, 6, 7)}
	for _, device := range []string{"cpu", "cuda:0", "cuda:7", "mps", "xla:1"} {
		ts, err := Read(archived(one(rebuilt("torch\nFloatStorage", device, 7, 1, numbersOf(2, 3), numbersOf(1, 2))),
			storage))
		if err != nil || len(ts) != 1 || ts[0].Name != "w" || !cmp.Equal(ts[0].Shape, []int{2, 3}) {
			t.Fatalf("%s: %v, %v", device, ts, err)
		}
		v, err := ts[0].Floats()
		if want := []float32{2, 4, 6, 3, 5, 7}; err != nil || !cmp.Equal(v, want) {
			t.Errorf("%s: %v, %v, want %v", device, v, err, want)
		}
	}
}

// TestHostile: what is not a tensor is refused, and never carried out.
func TestHostile(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "carried-out")
	system := func(module, name string) string {
		return "\x80\x02c" + module + "\n" + name + "\n(" + text("touch "+mark) + "tR."
	}
	tensor := func(count, offset int32, shape, stride string) string {
		return one(rebuilt("torch\nFloatStorage", "cpu", count, offset, shape, stride))
	}
	two := map[string][]byte{"0": floats(1, 2)}
	for _, c := range []struct{ pickle, says string }{
		{system("posix", "system"), `names "posix.system", which is not carried out`},
		{system("os", "system"), `"os.system"`},
		{system("builtins", "eval"), `"builtins.eval"`},
		{system("__builtin__", "exec"), `"__builtin__.exec"`},
		{"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x01x\x85R.", `"posix.system"`},
		{"\x80\x02i" + "os\nsystem\n.", "opcode 0x69"},
		{"\x80\x02ctorch.nn.modules.linear\nLinear\n)\x81}b.", `"torch.nn.modules.linear.Linear"`},
		{"\x80\x02ccollections\nOrderedDict\n(" + text("x") + "tR.", "with 1 arguments"},
		{tensor(2, 0, numbersOf(3), numbersOf(1)), "ends behind its storage"},
		{tensor(2, 1, numbersOf(2), numbersOf(1)), "ends behind its storage"},
		{tensor(2, -1, numbersOf(1), numbersOf(1)), "without a storage"},
		{tensor(2, 9, numbersOf(1), numbersOf(1)), "without a storage"},
		{tensor(2, 0, numbersOf(-1), numbersOf(1)), "negative or too large"},
		{tensor(2, 0, numbersOf(2), numbersOf(-1)), "negative or too large"},
		{tensor(2, 0, numbersOf(2), "N"), "strides"},
		{tensor(2, 0, numbersOf(1<<30, 1<<30, 1<<30), numbersOf(0, 0, 0)), "negative or too large"},
		{tensor(2, 0, numbersOf(1<<30, 1<<30), numbersOf(1<<30, 1)), "negative or too large"},
		{tensor(3, 0, numbersOf(1), numbersOf(1)), "should have 3 elements and has 2"},
		{tensor(-1, 0, numbersOf(1), numbersOf(1)), "should have -1 elements"},
		{strings.Replace(tensor(2, 0, numbersOf(1), numbersOf(1)), text("0"), text("1"), 1), `no entry "data/1"`},
		{strings.Replace(tensor(2, 0, numbersOf(1), numbersOf(1)), text("0"), text("../../x"), 1), "no entry"},
		{"\x80\x02" + text("w") + "s.", "value that it has not made"},
		{"\x80\x02t.", "mark that it has not made"},
		{"\x80\x02h\x07.", "value that it has not made"},
		{"\x80\x02X\xff\xff\xff\xffw", "ends too early"},
		{"\x80\x02\x8d\xff\xff\xff\xff\xff\xff\xff\xffw", "ends too early"},
		{"\x80\x02", "ends too early"},
		{"", "ends too early"},
		{"\x80\x02" + strings.Repeat("]", 1<<20) + ".", "a list, and not a state_dict"},
		{"\x80\x02" + strings.Repeat("]", mostSteps+1) + ".", "too many values"},
		{"\x80\x02K\x01.", "holds a number, and not a state_dict"},
		{"\x80\x02}.", "holds no tensors"},
		{"\x80\x02}" + text("epoch") + "K\x01s.", "holds no tensors"},
		{"\x80\x02" + rebuilt("torch\nFloatStorage", "cpu", 2, 0, numbersOf(2), numbersOf(1)) + ".",
			"a single tensor, of shape [2]"},
		{strings.TrimSuffix(tensor(2, 0, numbersOf(2), numbersOf(1)), ".") + text("epoch") + "K\x01s.",
			`has "epoch", which is a number and not a tensor`},
		{strings.TrimSuffix(tensor(2, 0, numbersOf(2), numbersOf(1)), ".") + text("v") + "Ns.",
			`has "v", which is None`},
		{one(rebuilt("torch\nComplexFloatStorage", "cpu", 2, 0, numbersOf(2), numbersOf(1))),
			`"torch.ComplexFloatStorage"`},
	} {
		_, err := Read(archived(c.pickle, two))
		check.Error(t, err, c.says)
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: more than a line", err)
		}
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("a pickle was carried out")
	}
}

// TestOtherFiles: what torch.save has not written, or cannot be trusted.
func TestOtherFiles(t *testing.T) {
	good := archived(one(rebuilt("torch\nFloatStorage", "cpu", 2, 0, numbersOf(2), numbersOf(1))),
		map[string][]byte{"0": floats(1, 2)})
	if _, err := Read(good); err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	f, _ := w.Create("net/data.pkl") // deflated
	f.Write([]byte("\x80\x02}."))
	w.Close()
	damaged := bytes.Replace(good, floats(1, 2), floats(1, 3), 1)
	big := bytes.Replace(good, []byte("little"), []byte("biggie"), 1)
	for says, file := range map[string][]byte{
		"of torch before 1.6":  []byte(legacyMagic + "..."),
		"is a pickle":          []byte("\x80\x02}."),
		"not an archive":       []byte("PK\x03\x04 and so on"),
		"is compressed":        packed.Bytes(),
		"another checksum":     damaged,
		"byte order":           big,
		"without data.pkl":     archive0(t),
		"is damaged or not an": good[:len(good)-9],
	} {
		_, err := Read(file)
		check.Error(t, err, says)
	}
}

// archive0 is an archive with another entry.
func archive0(t *testing.T) []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if _, err := w.Create("a.txt"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return b.Bytes()
}

// TestManyReferences: a pickle can name one long dictionary often, with few bytes each time.
func TestManyReferences(t *testing.T) {
	const n = 1 << 17
	inner := "}q\x00(" + strings.Repeat("K\x01K\x01", n) + "u"
	pickle := "\x80\x02}(" + text("a") + inner + strings.Repeat(text("b")+"h\x00", n) + "u."
	check.Bounded(t, 128<<20, func() {
		_, err := Read(archived(pickle, nil))
		check.Error(t, err, "holds no tensors")
	})
}

// TestPyTorchsFiles: what torch.save writes, of every type and in every form.
func TestPyTorchsFiles(t *testing.T) {
	dir := t.TempDir()
	out := check.Python(t, "torch", `
import json, sys, torch
from torch import nn
torch.manual_seed(1)
dir, want = sys.argv[1], {}
def save(name, what, tensors, **options):
    torch.save(what, f"{dir}/{name}.pt", **options)
    want[name] = {k: [list(v.shape), v.detach().float().flatten().tolist()] for k, v in tensors.items()}
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
net(torch.randn(5, 3))
sd = net.state_dict()
save("plain", sd, sd)
save("parameters", dict(net.named_parameters()), dict(net.named_parameters()))
for protocol in 3, 4, 5:
    save(f"protocol{protocol}", sd, sd, pickle_protocol=protocol)
x = torch.tensor([[0.1, -2.5, 3e-8], [65504., 1e-3, 0.]])
types = {str(d): (x * (1 if d.is_floating_point else 0.001)).to(d) for d in
    (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.bool)}
types["torch.uint8"] = torch.arange(250, 256, dtype=torch.uint8)
save("types", types, types)
views = {"transposed": x.t(), "part": x[1, 1:], "expanded": x[:1, :1].expand(3, 4), "number": x[0, 0], "empty": torch.zeros(0, 3), "again": x, "channels": torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)}
save("views", views, views)
optimizer = torch.optim.Adam(net.parameters(), betas=(0.9, 0.95))
net(torch.randn(5, 3)).sum().backward()
optimizer.step()
sd = net.state_dict()
save("checkpoint", {"epoch": 3, "loss": [0.5, 1e300, 1 << 70], "name": "n", "model": sd, "optimizer": optimizer.state_dict(), "device": torch.device("cuda:0"), "size": torch.Size([3])}, sd)
save("ddp", nn.DataParallel(net).state_dict(), nn.DataParallel(net).state_dict())
compiled = torch.compile(net)
save("compiled", compiled.state_dict(), compiled.state_dict())
assert "_orig_mod.0.weight" in want["compiled"] and "module.0.weight" in want["ddp"]
torch.serialization.set_crc32_options(False)
save("unchecked", sd, sd)
torch.save(sd, f"{dir}/legacy.pt", _use_new_zipfile_serialization=False)
torch.save(net, f"{dir}/module.pt")
torch.save({"a": sd, "b": dict(sd)}, f"{dir}/two.pt")
print(json.dumps(want))
`, dir)
	var want map[string]map[string][2]any
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	for name, tensors := range want {
		file, err := os.ReadFile(filepath.Join(dir, name+".pt"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(file)
		if err != nil || len(got) != len(tensors) {
			t.Errorf("%s: %d tensors, want %d: %v", name, len(got), len(tensors), err)
		}
		for _, x := range got {
			v, err := x.Floats()
			if err != nil {
				t.Error(err)
			}
			wide := make([]any, len(v))
			for i := range v {
				wide[i] = float64(v[i])
			}
			shape := []any{}
			for _, n := range x.Shape {
				shape = append(shape, float64(n))
			}
			if d := cmp.Diff(tensors[x.Name], [2]any{shape, wide}); d != "" {
				t.Errorf("%s: %s of type %s: %s", name, x.Name, x.DType, d)
			}
		}
	}
	refused(t, dir)
}

// refused fails the test unless files of torch.save that hold no weights are refused.
func refused(t *testing.T, dir string) {
	for name, says := range map[string]string{"legacy": "of torch before 1.6", "module": "Sequential",
		"two": `several state_dicts, "a, b"`} {
		file, err := os.ReadFile(filepath.Join(dir, name+".pt"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Read(file)
		check.Error(t, err, says)
	}
}

// FuzzTorch: no pickle and no file makes it panic, or takes more than a little memory.
func FuzzTorch(f *testing.F) {
	w := one(rebuilt("torch\nFloatStorage", "cpu", 2, 0, numbersOf(2), numbersOf(1)))
	for _, pickle := range []string{w, "\x80\x02}" + text("model") + w[2:len(w)-1] + "s.",
		"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00}" +
			"\x94(\x8c\x01aN\x8c\x01bG\x00\x00\x00\x00\x00\x00\x00\x00\x8a\x01\xffu.",
		one(rebuilt("torch\nHalfStorage", "cuda:0", 4, 1, numbersOf(3, 1), numbersOf(0, 5))),
		"\x80\x02]q\x01(K\x01M\x01\x01e](j\x01\x00\x00\x00h\x01e\x85\x86\x87."} {
		f.Add([]byte(pickle), floats(1, 2), archived(pickle, map[string][]byte{"0": floats(1, 2)}))
	}
	f.Fuzz(func(t *testing.T, pickle, storage, file []byte) {
		check.Bounded(t, 64<<20, func() {
			for _, made := range [][]byte{archived(string(pickle), map[string][]byte{"0": storage}), file} {
				ts, err := Read(made)
				for _, x := range ts {
					n := 1
					for _, s := range x.Shape {
						n *= max(s, 1)
						n = min(n, 1<<30)
					}
					if n > 1000 {
						continue
					}
					if v, err := x.Floats(); err != nil || len(v) > n {
						t.Errorf("%d elements of shape %v: %v", len(v), x.Shape, err)
					}
				}
				if err != nil && (strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "%!")) {
					t.Errorf("%q", fmt.Sprint(err))
				}
			}
		})
	})
}
