//go:build cuda

package cuda

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// TestDoctorAndNVML provokes the findings that come from NVML. The program's own tests provoke the
// findings of the driver and of the machine.
func TestDoctorAndNVML(t *testing.T) {
	if !replay(t, "HOGWILD_FAKE_DEVICES=2") {
		return
	}
	gpu := playNVML(t)
	gpu(1).MigMode = nvml.DEVICE_MIG_ENABLE
	gpu(0).MemoryInfo.Free = 300 << 20
	gpu(0).GetComputeRunningProcessesFunc = func() ([]nvml.ProcessInfo, nvml.Return) {
		return []nvml.ProcessInfo{{Pid: 71}}, nvml.SUCCESS
	}
	findings, err := Examine(func() *exec.Cmd {
		c := exec.Command("/proc/self/exe")
		c.Env = append(os.Environ(), echoVariable+"=1")
		return c
	})
	if err != nil {
		t.Fatal(err)
	}
	for check, want := range map[string]Finding{
		"driver":       {Level: Fine, Text: "550.54.15 for CUDA 12.6"},
		"nvml":         {Level: Fine},
		"gpu 0 mig":    {Level: Fine, Text: "off"},
		"gpu 1 mig":    {Level: Advice, Text: "MIG is on"},
		"gpu 0 memory": {Level: Advice, Text: "0.3 GiB of 140.4 GiB are free, beside 71 trainer: little"},
		"gpu 1 memory": {Level: Fine, Text: "140.4 GiB of 140.4 GiB are free"},
		"gpu 1 ipc":    {Level: Fine, Text: "a second process reads and writes"},
		"p2p":          {Level: Fine, Text: "all 2 GPUs"},
	} {
		found := false
		for _, f := range findings {
			if f.Check != check {
				continue
			}
			if found = true; f.Level != want.Level || !strings.Contains(f.Text, want.Text) {
				t.Errorf("found %+v, want %+v", f, want)
			}
		}
		if !found {
			t.Errorf("no finding of %s in %+v", check, findings)
		}
	}
}

// echoVariable makes the test binary the second process of Examine.
const echoVariable = "HOGWILD_TEST_ECHO"

func echoMain() int {
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = Echo(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestSharingThatFails: a second process that ends, or writes nothing, is found out.
func TestSharingThatFails(t *testing.T) {
	if !replay(t) {
		return
	}
	g, err := describe(0)
	if err != nil {
		t.Fatal(err)
	}
	for child, want := range map[string]string{
		"cat >/dev/null": "word 0 of 1024 is 0x484f4757, not 0x57494c44",
		"cat >/dev/null; echo no such driver >&2; exit 3": "no such driver (exit status 3)",
	} {
		if err := share(&g, exec.Command("sh", "-c", child)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", child, err, want)
		}
	}
}
