//go:build cuda

package cuda

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"gorgonia.org/cu"
)

const mpsEnabled = 133 // CU_DEVICE_ATTRIBUTE_MPS_ENABLED, CUDA 12.4; unknown to gorgonia.org/cu

// underMPS tells whether this process is a client of a Multi-Process Service on a GPU, so
// that workers there run at the same time; nil where that is unknown.
func underMPS(d cu.Device) *bool {
	if v, err := d.Attribute(mpsEnabled); err == nil {
		yes := v != 0
		return &yes
	}
	return serving() // a driver that is older does not know the question
}

// serving asks the service's daemon for its servers. The driver starts one when it starts
// itself, in the folder of the environment, and this process is its client then.
var serving = sync.OnceValue(func() *bool {
	no, yes := false, true
	folder := cmp.Or(os.Getenv("CUDA_MPS_PIPE_DIRECTORY"), "/tmp/nvidia-mps")
	if _, err := os.Stat(filepath.Join(folder, "control")); err != nil {
		return &no
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ask := exec.CommandContext(ctx, "nvidia-cuda-mps-control")
	ask.Stdin = strings.NewReader("get_server_list\n")
	servers, err := ask.Output()
	switch {
	case err != nil:
		return nil // it is not on PATH, or has ended
	case len(strings.Fields(string(servers))) == 0:
		return &no
	}
	return &yes
})
