//go:build cuda

package cuda

import (
	"errors"
	"strings"
	"testing"
)

// TestExplained: of each result that a user may meet the message says the cause or the cure,
// in one line.
func TestExplained(t *testing.T) {
	for code, want := range map[int]string{
		2: "out of GPU memory", 46: "exclusive mode", 100: "CUDA_VISIBLE_DEVICES", 200: "damaged", 209: "7.0 or later",
		214: "nvidia-smi -q -d ECC",
		218: "refused the kernels' PTX", 220: "NVLink", 221: "libnvidia-ptxjitcompiler.so.1", 222: "install driver 525",
		223: "CUDA_DISABLE_PTX_JIT",
		300: "PTX", 302: "one version", 303: "one version",
		700: "out of bounds", 701: "registers", 702: "--in-flight", 704: "enabled already", 705: "not enabled",
		708: "context", 709: "reset", 710: "assertion", 711: "fewer",
		712: "pinned already", 713: "not pinned", 714: "stack", 715: "instruction", 716: "misaligned",
		717: "kind of memory", 718: "jumped", 719: "Xid",
		800: "permit", 801: "CUDA IPC", 802: "nvidia-fabricmanager", 803: "restart the machine", 804: "LD_LIBRARY_PATH",
		805: "nvidia-cuda-mps-control", 806: "restart it", 807: "--resume", 808: "--workers",
		809: "CUDA_DEVICE_MAX_CONNECTIONS", 810: "--resume",
	} {
		err := &Error{Doing: "trying", Code: code, Err: errors.New("the driver's words")}
		text, begin := err.Error(), "trying: CUDA error "
		if !strings.HasPrefix(text, begin) || !strings.Contains(text, "(the driver's words): ") ||
			!strings.Contains(text, want) || strings.ContainsRune(text, '\n') {
			t.Errorf("%d: %q, want one line with %q", code, text, want)
		}
	}
	if text := (&Error{Doing: "trying", Code: 12345, Err: errors.New("what"),
		Help: "cure"}).Error(); text != "trying: CUDA error 12345 (what): cure" {
		t.Errorf("%q", text)
	}
}
