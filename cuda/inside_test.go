//go:build cuda

package cuda

import (
	"slices"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

const (
	noIPC     = "HOGWILD_FAKE_NO_IPC=1"    // memory cannot be exported
	closedIPC = "HOGWILD_FAKE_NO_IPC=open" // it cannot be opened
)

// TestOneWorkerWithoutIPC: where processes cannot share GPU memory one worker trains what it
// does elsewhere, bit for bit, in the coordinator's process.
func TestOneWorkerWithoutIPC(t *testing.T) {
	needStandIn(t)
	for _, c := range []struct{ mode, lack, says string }{
		{"sync", noIPC, "processes cannot share GPU memory here (CUDA error 801"},
		{"locked", noIPC, "processes cannot share GPU memory here (CUDA error 801"},
		{"async", closedIPC, "CUDA error 201"},
	} {
		shared := digits(t, func(k *config.Config) {
			k.Mode, k.Model, k.Data, k.Epochs, k.InFlight = config.MustMode(c.mode), "mlp:8", "digits:300", 1, 1
		})
		inside := shared
		inside.Run = t.TempDir()
		want := train(t, shared)
		got, err := apart(t, inside, c.lack).result(t)
		if err != nil {
			t.Fatal(err)
		}
		if got.Examples != want.Examples || got.TestLoss != want.TestLoss ||
			!slices.Equal(weightsIn(t, inside.Run), weightsIn(t, shared.Run)) {
			t.Errorf("%s: %d examples, test loss %.17g; with IPC %d, %.17g", c.mode, got.Examples, got.TestLoss,
				want.Examples, want.TestLoss)
		}
		said := strings.Join(append(got.Notes, got.Events...), "\n")
		if !strings.Contains(said, c.says) || !strings.Contains(said, "in the coordinator's process") ||
			got.Restarts != 0 {
			t.Errorf("%s, %s: %d restarts, and the run says\n%s", c.mode, c.lack, got.Restarts, said)
		}
	}
}

// TestSeveralWorkersWithoutIPC: they are refused, with what to do.
func TestSeveralWorkersWithoutIPC(t *testing.T) {
	needStandIn(t)
	_, err := apart(t, digits(t, func(c *config.Config) { c.Workers = 2 }), noIPC).result(t)
	if err == nil || !strings.Contains(err.Error(), "CUDA error 801") ||
		!strings.Contains(err.Error(), "--workers 1 needs none") {
		t.Errorf("%v, want an error that says what to do", err)
	}
}

// TestFailsInside: a worker in the coordinator's process ends the run when its GPU fails, or when
// its numbers diverge.
func TestFailsInside(t *testing.T) {
	needStandIn(t)
	for _, c := range []struct {
		edit     func(*config.Config)
		variable string
		says     string
	}{
		{func(c *config.Config) { c.Model, c.Data, c.Epochs = "softmax", "digits:1000", 10000 }, poisonVariable + "=1",
			"CUDA error 700"},
		{func(c *config.Config) { c.Model, c.LR, c.Data = "linear", 1e30, "synth:dense:500x8" },
			poisonVariable + "=", "diverged"},
	} {
		r, err := apart(t, digits(t, c.edit), noIPC, c.variable).result(t)
		if err == nil || strings.Count(err.Error(), c.says) != 1 {
			t.Errorf("%v, want %q, once", err, c.says)
		}
		if said := strings.Join(r.Events, "\n"); c.says != "diverged" &&
			!strings.Contains(said, "cannot be read back") {
			t.Errorf("events %q do not say that the weights are old", said)
		}
	}
}
