//go:build cuda

package cuda

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"gorgonia.org/cu"
)

// replay runs the test again in a process with other switches of the stand-in driver,
// which reads them when it starts, and reports whether this is that process.
func replay(t *testing.T, switches ...string) bool {
	t.Helper()
	const replayed = "HOGWILD_TEST_REPLAYED"
	if os.Getenv(replayed) == t.Name() {
		return true
	}
	if os.Getenv("HOGWILD_FAKE_CHECKS") == "" {
		t.Skip("HOGWILD_FAKE_CHECKS is not set: not the stand-in driver")
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "HOGWILD_FAKE_TRACE=") {
			again.Env = append(again.Env, v)
		}
	}
	again.Env = append(append(again.Env, replayed+"="+t.Name()), switches...)
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("with %v: %v\n%s", switches, err, out)
	}
	return false
}

// playNVML puts a machine of the stand-in's eight GPUs in the place of NVML, which
// knows nothing of CUDA_VISIBLE_DEVICES. The function that it returns finds one of them
// by CUDA's index.
func playNVML(t *testing.T) (gpu func(i int) *dgxa100.Device) {
	t.Helper()
	server := dgxa100.New()
	newNVML = func() nvml.Interface { return server }
	t.Cleanup(func() { newNVML = func() nvml.Interface { return nvml.New() } })
	server.SystemGetProcessNameFunc = func(pid int) (string, nvml.Return) {
		if pid == 71 {
			return "trainer", nvml.SUCCESS
		}
		return "", nvml.ERROR_NOT_FOUND
	}
	const number = 7 // the byte of the stand-in's UUIDs in which they differ
	first, err := cu.Device(0).UUID()
	if err != nil {
		t.Fatal(err)
	}
	for i, d := range server.Devices {
		g, id := d.(*dgxa100.Device), first
		id[number] = byte(i)
		g.UUID, g.MemoryInfo.Free = "GPU-"+id.String(), 78<<30
		g.GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) { return nil, nvml.SUCCESS }
		runs(g, 0, nvml.SUCCESS)
	}
	return func(i int) *dgxa100.Device {
		id, err := cu.Device(i).UUID()
		if err != nil {
			t.Fatal(err)
		}
		return server.Devices[id[number]].(*dgxa100.Device)
	}
}

// runs has NVML say that kernels ran for this percentage of its last sample, or why it does not know.
func runs(g *dgxa100.Device, percent uint32, r nvml.Return) {
	g.GetUtilizationRatesFunc = func() (nvml.Utilization, nvml.Return) { return nvml.Utilization{Gpu: percent}, r }
}

func TestDevices(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_DEVICES=8", "CUDA_VISIBLE_DEVICES=7,0,5", "HOGWILD_FAKE_P2P=no-atomics") {
		return
	}
	gpu := playNVML(t)
	gpu(1).MemoryInfo.Free = 5 << 30
	gpu(1).MigMode = nvml.DEVICE_MIG_ENABLE
	runs(gpu(1), 0, nvml.ERROR_NOT_SUPPORTED)
	runs(gpu(2), 97, nvml.SUCCESS)
	gpu(1).GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 71, UsedGpuMemory: 1 << 30}, {Pid: 72, UsedGpuMemory: ^uint64(0)}}, nvml.SUCCESS
	}
	l, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
	if len(l.GPUs) != 3 || l.Driver != "550.54.15" || l.CUDA != "12.6" || l.NVML != "" {
		t.Fatalf("listed %+v", l)
	}
	used := [][]string{{"0% utilization", "no processes"}, {"2 processes"}, {"97% utilization", "no processes"}}
	for i, g := range l.GPUs {
		busy, free := i == 1, int64(78<<30)
		if busy {
			free = g.Total // of the instance, by the driver
		}
		if g.Index != i || g.UUID != gpu(i).UUID || *g.MIG != busy || *g.Free != free || g.Mode != Shared {
			t.Errorf("GPU %d: %+v", i, g)
		}
		if len(g.Peers) != 2 || !g.Peers[0].Access || g.Peers[0].Atomics {
			t.Errorf("GPU %d has peers %+v", i, g.Peers)
		}
		if !slices.Equal(g.Used(), used[i]) {
			t.Errorf("GPU %d has %q, want %q", i, g.Used(), used[i])
		}
		if want := []Process{{71, "trainer", 1 << 30}, {72, "", -1}}; busy && !slices.Equal(g.Processes, want) {
			t.Errorf("GPU %d has processes %v, want %v", i, g.Processes, want)
		}
		if !busy && (g.Processes == nil || len(g.Processes) != 0) {
			t.Errorf("GPU %d has processes %v, want none", i, g.Processes)
		}
	}
}

// TestDevicesWithoutNVML: the library is not there, so the driver tells what it can.
func TestDevicesWithoutNVML(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_MEMORY=80GiB", "HOGWILD_FAKE_FREE=20GiB") {
		return
	}
	newNVML = func() nvml.Interface { return nvml.New(nvml.WithLibraryPath("libnvidia-none.so.1")) }
	l, err := Devices()
	if err != nil {
		t.Fatal(err)
	}
	g := l.GPUs[0]
	if !strings.Contains(l.NVML, "not found") || l.Driver != "" || g.Processes != nil || g.MIG != nil {
		t.Errorf("listed %+v", l)
	}
	if g.Total != 80<<30 || g.Free == nil || *g.Free != 20<<30 {
		t.Errorf("memory of %+v, want 80 GiB with 20 free", g)
	}
}
