//go:build cuda

package cuda

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gorgonia.org/cu"

	"hogwild/internal/check"
)

// opensMemory is a program that opens memory as PyTorch programs do, with NumPy in place of PyTorch: the
// addresses of the stand-in are the host's, and NumPy's interface of arrays is the one that CUDA's
// comes from. It prints what it finds, and doubles it.
const opensMemory = `
import json, sys
import numpy
from hogwild import _cuda
gpu, parts = json.loads(sys.argv[1])
try:
    memory = _cuda.Memory(gpu)
    for offset, count in parts:
        class Host:
            __array_interface__ = {k: v for k, v in memory.array(offset, count).__cuda_array_interface__.items() if k != "stream"}
        floats = numpy.asarray(Host())
        print(memory.device, floats.dtype, floats.tolist())
        floats *= 2
    memory.synchronize()
    _cuda.Memory(gpu)
except _cuda.Error as e:
    print(e)
`

// opens runs the Python program above on a handle, and returns what it prints.
func opens(t *testing.T, gpu map[string]any, parts [][2]int) []string {
	t.Helper()
	folder, err := filepath.Abs("../hogwild/program/python")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", folder)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	text, err := json.Marshal([]any{gpu, parts})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(check.Python(t, "numpy", opensMemory, string(text)))), "\n")
}

// TestProgramOpens: a Python process opens an allocation of this one at its offsets, writes to it,
// is refused a second opening and what is out of bounds, and closes it when it exits.
func TestProgramOpens(t *testing.T) {
	before := len(trace(t))
	err := withGPU(0, "", func(c *gpu) error {
		p, err := c.allocate(block, "a test")
		if err != nil {
			return err
		}
		h, err := exportMemory(p)
		if err != nil {
			return err
		}
		if err := upload(p+1024, []float32{1, 2.5, -3}); err != nil {
			return err
		}
		gpu := map[string]any{"uuid": c.UUID, "handle": h[:], "size": block}
		said := opens(t, gpu, [][2]int{{1024, 3}, {1032, 1}})
		for i, want := range []string{"cuda:0 float32 [1.0, 2.5, -3.0]", "cuda:0 float32 [-6.0]",
			"the weights on the GPU are open in this process already"} {
			if said[i] != want {
				t.Errorf("the program says %q, want %q", said[i], want)
			}
		}
		got := make([]float32, 3)
		if err := download(got, p+1024); err != nil {
			return err
		}
		if fmt.Sprint(got) != "[2 5 -12]" {
			t.Errorf("the program has made %v of 1, 2.5 and -3, want 2, 5 and -12", got)
		}
		for _, part := range [][2]int{{block - 4, 2}, {2, 1}, {-4, 1}} {
			if said := opens(t, gpu, [][2]int{part}); !strings.Contains(said[0], "not within the 2097152 bytes") {
				t.Errorf("%d floats at %d: %q", part[1], part[0], said)
			}
		}
		return failed(cu.MemFree(p), "freeing it") // the stand-in aborts if it is still open
	})
	if err != nil {
		t.Fatal(err)
	}
	opened, closed := map[int]int{}, map[int]int{}
	for _, c := range trace(t)[before:] {
		switch c.Call {
		case "cuIpcOpenMemHandle":
			opened[c.PID]++
		case "cuIpcCloseMemHandle":
			closed[c.PID]++
		}
	}
	if len(opened) != 4 || fmt.Sprint(opened) != fmt.Sprint(closed) {
		t.Errorf("opened by process %v, closed %v; want once in each of 4", opened, closed)
	}
}

// TestProgramCannotOpen: what keeps a program from the memory is an error that names the call, the
// driver's result and what to do.
func TestProgramCannotOpen(t *testing.T) {
	trace(t) // only the stand-in has the switches
	err := withGPU(0, "", func(c *gpu) error {
		p, err := c.allocate(block, "a test")
		if err != nil {
			return err
		}
		h, err := exportMemory(p)
		if err != nil {
			return err
		}
		broken := t.TempDir()
		if err := os.WriteFile(filepath.Join(broken, "libcuda.so.1"), nil, 0o666); err != nil {
			return err
		}
		spoilt := h
		spoilt[20] ^= 1
		for _, x := range []struct {
			name, value, uuid, says string
			handle                  []byte
		}{
			{says: "opening the weights on the GPU: cuIpcOpenMemHandle_v2: CUDA error 1 (CUDA_ERROR_INVALID_VALUE, ",
				handle: spoilt[:]},
			{says: "the handle of the GPU memory has 63 bytes, want 64", handle: h[:63]},
			{says: "GPU GPU-0, which has the weights, is not visible to the program", uuid: "GPU-0"},
			{"CUDA_VISIBLE_DEVICES", "-1", "", "starting the driver: cuInit: CUDA error 100 (CUDA_ERROR_NO_DEVICE, ",
				nil},
			{"LD_LIBRARY_PATH", broken, "", "the program finds no NVIDIA driver (", nil},
			{"HOGWILD_FAKE_NO_IPC", "open", "", "cuIpcOpenMemHandle_v2: CUDA error 201 (CUDA_ERROR_INVALID_CONTEXT, ",
				nil},
		} {
			t.Run(x.says, func(t *testing.T) {
				gpu := map[string]any{"uuid": c.UUID, "handle": h[:], "size": block}
				if x.uuid != "" {
					gpu["uuid"] = x.uuid
				}
				if x.handle != nil {
					gpu["handle"] = x.handle
				}
				if x.name != "" {
					t.Setenv(x.name, x.value)
				}
				if said := opens(t, gpu, nil); len(said) != 1 || !strings.Contains(said[0], x.says) {
					t.Errorf("the program says %q, want one line with %q", said, x.says)
				}
			})
		}
		if err := failed(cu.MemFree(p), "freeing it"); err != nil {
			return err
		}
		said := opens(t, map[string]any{"uuid": c.UUID, "handle": h[:], "size": block}, nil)
		if !strings.Contains(said[0], "CUDA error 400") || !strings.Contains(said[0], "hogwild has freed this memory") {
			t.Errorf("freed: the program says %q", said)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
