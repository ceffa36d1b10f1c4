package hogwild

import (
	"context"
	"os"
	"testing"
)

func TestQuick(t *testing.T) {
	for _, mode := range []string{"async", "sync"} {
		c := Default()
		c.Data = "digits:4000"
		c.Workers = 4
		c.Mode = mode
		c.LR = 0.1
		c.Epochs = 5
		c.Run = t.TempDir()
		c.Progress = os.Stderr
		c.Timing = true
		r, err := Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		r.WriteText(os.Stderr)
	}
}
