//go:build cuda

package cuda

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"gorgonia.org/cu"

	"hogwild/cuda/start"
)

const mpsEnabled = 133 // CU_DEVICE_ATTRIBUTE_MPS_ENABLED, CUDA 12.4; unknown to gorgonia.org/cu

// underMPS reports whether this process is a client of a Multi-Process Service on a GPU, so
// that workers there run at the same time; nil where that is unknown.
func underMPS(d cu.Device) *bool {
	if v, err := d.Attribute(mpsEnabled); err == nil {
		return new(v != 0)
	}
	if start.Serves() {
		return nil // a driver that is older does not know the question
	}
	return new(false)
}

// askService gives the service's daemon a command, and returns the words of its answer.
func askService(command string) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	ask := exec.CommandContext(ctx, "nvidia-cuda-mps-control")
	ask.Stdin = strings.NewReader(command + "\n")
	ask.WaitDelay = time.Second // for a child of its own that holds the pipe open
	answer, err := ask.Output()
	return strings.Fields(string(answer)), err
}

// Abandon has the service, where there is one, end what a worker has in flight, before the worker
// is killed: else it is undefined what becomes of the other clients (NVIDIA, Multi-Process
// Service, "Client Early Termination").
func (o *owner) Abandon(pid int) error {
	if o.MPS == nil || !*o.MPS {
		return nil
	}
	servers, err := askService("get_server_list")
	for _, server := range servers {
		_, e := askService(fmt.Sprintf("terminate_client %s %d", server, pid))
		err = keep(err, e)
	}
	return err
}
