package cuda

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"hogwild/internal/human"
)

// Microbench is what a GPU does at best, found out on the spot by kernels/micro.cu: the
// counterpart of bench.Limits. Where the driver is the stand-in, the figures show only
// that the kernels run.
type Microbench struct {
	Device  string    `json:"device"`
	UUID    string    `json:"uuid"`
	Driver  string    `json:"driver"` // version of CUDA that it is for
	SMs     int       `json:"sms"`
	StandIn bool      `json:"stand_in"` // no GPU: the figures are not measurements
	Time    time.Time `json:"time"`
	Figures []Figure  `json:"figures"`
}

// Figure is one measurement.
type Figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	Means string  `json:"means"` // what it decides
}

// WriteJSON writes the figures as one JSON object.
func (p *Microbench) WriteJSON(w io.Writer) error { return human.WriteJSON(w, p) }

// WriteText writes them as a table, a line each.
func (p *Microbench) WriteText(out io.Writer) error {
	fmt.Fprintf(out, "%s, %d multiprocessors, driver for CUDA %s, %s\n", p.Device, p.SMs, p.Driver, p.Time.Format("2006-01-02 15:04 MST"))
	if p.StandIn {
		fmt.Fprintln(out, "through the stand-in driver: these are no measurements")
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\nFIGURE\tVALUE\tUNIT\tWHAT IT DECIDES\n")
	for _, f := range p.Figures {
		fmt.Fprintf(w, "%s\t%.4g\t%s\t%s\n", f.Name, f.Value, f.Unit, f.Means)
	}
	return w.Flush()
}
