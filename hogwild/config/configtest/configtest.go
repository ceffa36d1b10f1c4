// Package configtest has a configuration for tests, and a table. Only tests import it.
package configtest

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// Dense returns the default, with the batch of large dense sets, and a rate and epochs for which no data is
// needed.
func Dense() config.Config {
	c := config.Default()
	c.Batch, c.LR, c.Epochs = 64, 0.01, 10
	return c
}

// Quick returns a run of half a second at most, with the steps of the textbook.
func Quick(t *testing.T) config.Config {
	c := Dense()
	c.Data, c.Workers, c.Epochs, c.LR, c.Run = "digits:2000", 1, 3, 0.1, t.TempDir()
	c.Center, c.BiasStep, c.LRCap, c.AverageLR, c.SaveEvery = "off", "off", "off", "same", "1"
	return c
}

// Planted writes values that are a linear function of three columns.
func Planted(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("a,b,c,y\n")
	for i := range 600 {
		a, b, c := math.Sin(float64(i)), math.Cos(float64(3*i)), math.Sin(float64(7*i))
		fmt.Fprintf(&text, "%.4f,%.4f,%.4f,%.4f\n", a, b, c, 2*a-b+0.5*c+1)
	}
	path := filepath.Join(t.TempDir(), "planted.csv")
	if err := os.WriteFile(path, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
