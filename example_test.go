package hogwild_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"testing"

	"hogwild"
)

// A worker of a run is this program started again.
func TestMain(m *testing.M) {
	hogwild.Register("median", newMedian)
	if hogwild.IsWorker() {
		os.Exit(hogwild.WorkerMain())
	}
	os.Exit(m.Run())
}

// Four processes learn a line from points in memory. Rows are views: nothing is copied but
// into the memory that the workers share.
func Example_dataInMemory() {
	points := &hogwild.Data{Name: "line"}
	for i := range 1000 {
		x := float32(i) / 1000
		points.Rows = append(points.Rows, hogwild.Row{Val: []float32{x}})
		points.Y = append(points.Y, 3*x-1)
	}
	c := hogwild.Default()
	c.Model, c.Workers, c.Batch, c.Epochs, c.LR, c.Scale = "linear", 4, 1, 40, 0.05, "standard"

	saved, _, err := hogwild.Train(context.Background(), c, hogwild.Options{TrainData: points})
	if err != nil {
		fmt.Println(err)
		return
	}
	y, err := saved.Predict([]float32{0}, []float32{2})
	fmt.Printf("at 0: %.1f, at 2: %.1f, %v\n", y[0], y[1], err)
	for _, t := range saved.Tensors() {
		fmt.Println(t.Name, t.Shape)
	}
	// Output:
	// at 0: -1.0, at 2: 5.0, <nil>
	// 0.weight [1 1]
	// 0.bias [1]
}

// OnEpoch is called after each epoch. To stop early it cancels the run, which is saved in its folder:
// hogwild.Open reads its weights.
func ExampleOptions_earlyStop() {
	c := hogwild.Default()
	c.Data, c.Model, c.Workers, c.Epochs, c.LR = "digits:3000", "softmax", 2, 1000, 0.1
	dir, err := os.MkdirTemp("", "hogwild-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	c.Run = dir

	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	best, since := math.Inf(1), 0
	result, err := hogwild.Run(ctx, c, hogwild.Options{OnEpoch: func(e hogwild.Epoch) {
		if e.TestLoss < 0.99*best {
			best, since = e.TestLoss, 0
		} else if since++; since == 3 { // three epochs without one percent
			stop()
		}
	}})
	fmt.Println(errors.Is(err, hogwild.ErrInterrupted), result.Stopped, result.Epochs < 1000)
	// Output: true interrupted true
}

// A custom model: the one number that is nearest to all labels. The program registers it before it asks
// IsWorker, since its workers need it too: see TestMain.
func ExampleRegister() {
	c := hogwild.Default()
	c.Model, c.Workers, c.Batch, c.Epochs, c.LR, c.Schedule = "median", 2, 10, 20, 0.1, "cosine"
	labels := &hogwild.Data{}
	for i := range 300 {
		labels.Rows = append(labels.Rows, hogwild.Row{Val: []float32{1}})
		labels.Y = append(labels.Y, []float32{1.5, 2.5, 80.25}[i%3])
	}

	saved, _, err := hogwild.Train(context.Background(), c, hogwild.Options{TrainData: labels, TestData: labels})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("the median is about %.1f\n", saved.Tensors()[0].Values[0])
	// Output: the median is about 2.5
}

// median is the model w[0] under the loss |w[0] - y|.
type median struct{ g [1]float32 }

func newMedian(hogwild.Meta) (hogwild.Model, error) { return &median{}, nil }

func (m *median) Params() []hogwild.Param { return []hogwild.Param{{Name: "median", Shape: []int{1}}} }

func (m *median) Init(w []float32, seed uint64) { w[0] = 0 }

func (m *median) Grad(w []float32, b *hogwild.Batch, g *hogwild.Gradient) (loss float64) {
	m.g[0] = 0
	for _, y := range b.Y {
		e := float64(w[0] - y)
		loss += math.Abs(e)
		m.g[0] += float32(math.Copysign(1/float64(len(b.Y)), e))
	}
	g.Parts = append(g.Parts[:0], hogwild.Part{Bias: -1, G: m.g[:]})
	return loss
}

func (m *median) Eval(w []float32, b *hogwild.Batch) (s hogwild.Score) {
	for _, y := range b.Y {
		s.N++
		s.Loss += math.Abs(float64(w[0] - y))
	}
	return s
}
