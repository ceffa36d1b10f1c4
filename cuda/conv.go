//go:build cuda

package cuda

import (
	"fmt"
	"math"
	"unsafe"

	"gorgonia.org/cu"

	"hogwild/hogwild/config"
	"hogwild/hogwild/device"
	"hogwild/hogwild/model"
)

// conv is convolutional networks: kernels/conv.cu. Their plan is kernels/conv.h's.
var conv = family{
	fill:     fillConv,
	step:     always("conv_step"),
	tensor:   convTensor,
	evaluate: "conv_evaluate",
	scratch:  convScratch,
	plans:    true,
}

const (
	convSamples = 4 // that are worked on at a time, at most
	maxConvs    = 16
	maxFulls    = 16
	convRoom    = 11264                   // floats of shared memory for a group of samples
	mostPlace   = 1<<16 - 1               // positions in a plane of inputs: kept in 16 bits
	mostTiles   = 2                       // of eight channels, whose products a warp adds up at a time
	convParts   = 16 * 32 * 9 * mostTiles // sums that the warps of a CTA have at a time
)

// convPlan is struct Conv, fullPlan struct Full, netPlan struct Plan.
type (
	convPlan struct {
		In, Out, Kernel, Pool, Height, Width, Rows, Columns int64
		Weight, Bias, Packed, X, Y, Where, Live, Apart      int64
		Threshold, Scale, Offsets                           int64
		Tiled                                               convTiles
	}
	convTiles struct { // what kernels/conv_tensor.h has of a convolution
		Tall, Wide, Spots, Channel, Before, Dense int64
		Tiles, Padded, Packs, Forth, Back, Order  int64
	}
	fullPlan struct{ In, Out, Weight, Bias, X, Y, Threshold, Scale int64 }
	netPlan  struct {
		Convs, Fulls int64
		Conv         [maxConvs]convPlan
		Full         [maxFulls]fullPlan
	}
)

// planner lays a network out: its weights in the order of model.Params, and the numbers
// that a group of samples needs on the way.
type planner struct {
	netPlan
	bias                           bool
	tables                         []int64 // of all convolutions, behind the plan
	weights, packed, sample, units int64   // floats so far
	tiled, dense                   int64   // the same: weights packed in tiles, deltas of all outputs
}

// take is where n of something begin.
func take(end *int64, n int64) int64 {
	*end += n
	return *end - n
}

// layer is where the weights and the bias of a layer begin.
func (p *planner) layer(in, out int64) (weight, bias int64) {
	weight, bias = take(&p.weights, in*out), -1
	if p.bias {
		bias = take(&p.weights, out)
	}
	return weight, bias
}

// dropped is dropout as model/dropout.go has it: units whose 16 bits are below the
// threshold are left out, and the others are multiplied by the scale, here its bits.
func dropped(rate float64) (threshold, scale int64) {
	return int64(rate * (1 << 16)), int64(math.Float32bits(float32(1 / (1 - rate))))
}

// table is where one begins in the plan, of numbers padded to a multiple of 16.
func (p *planner) table(numbers []int64) int64 {
	from := len(p.tables)
	p.tables = append(p.tables, numbers...)
	p.tables = append(p.tables, make([]int64, -len(numbers)&15)...)
	return int64(int(unsafe.Sizeof(p.netPlan))/8 + from)
}

// offsets returns the places of a convolution's taps, relative to the first.
func offsets(l *convPlan) (places []int64) {
	for i := range l.In {
		for y := range l.Kernel {
			for x := range l.Kernel {
				places = append(places, (i*l.Height+y)*l.Width+x)
			}
		}
	}
	return places
}

// encode is the plan as it lies in device memory.
func (p *planner) encode() []byte { return append(encode(p.netPlan), raw(p.tables)...) }

// tile lays out a convolution behind others, or behind the images.
func (p *planner) tile(l *convPlan, behind bool) {
	t := &l.Tiled
	const lanes = 128 // floats of two tiles, of all lanes
	blocks, taps := ceilDiv(l.Out, 8), l.In*l.Kernel*l.Kernel
	t.Tiles = 1
	if l.Pool == 2 {
		t.Tiles = min(blocks, mostTiles)
	}
	t.Padded = roundUp(l.Out, 8*t.Tiles)
	t.Forth = take(&p.tiled, t.Padded*(1+roundUp(taps, 16)))
	t.Tall, t.Wide = l.Height-l.Kernel+1, l.Width-l.Kernel+1
	if t.Packs = l.Kernel; l.Kernel != 5 {
		t.Packs = roundUp(l.Kernel, 3)
	}
	var spots, order []int64
	for i := range t.Tall * t.Wide {
		spots = append(spots, i/t.Wide*l.Width+i%t.Wide)
	}
	t.Spots = p.table(spots)
	if behind {
		t.Before = (l.Kernel - 1) * t.Wide
		t.Back = take(&p.tiled, ceilDiv(l.In, 16)*l.Kernel*blocks*t.Packs*lanes)
		for i := range l.In {
			for y := range l.Kernel {
				for x := range l.Kernel {
					order = append(order, ((i/16*l.Kernel+y)*blocks*t.Packs+x)*lanes+i%8*16+i/8%2*2)
				}
			}
		}
	}
	t.Order = p.table(order)
	t.Channel = roundUp(2*t.Before+roundUp(t.Tall*t.Wide, 16), 4)
	// Two rows more are read, by products that nothing keeps.
	t.Dense = take(&p.dense, roundUp(convSamples*t.Padded*t.Channel+2*t.Wide+8, 4))
}

// planConv lays out the network that s describes.
func planConv(s *model.Spec) *planner {
	n, p := s.Net, &planner{bias: s.Bias}
	in, h, w := int64(n.Channels), int64(n.Height), int64(n.Width)
	x := int64(0) // of an image
	for i, c := range n.Convs {
		l := convPlan{In: in, Out: int64(c.Out), Kernel: int64(c.Kernel), Pool: int64(c.Pool), Height: h,
			Width: w, X: x}
		l.Rows, l.Columns = (h-l.Kernel+1)/l.Pool, (w-l.Kernel+1)/l.Pool
		l.Weight, l.Bias = p.layer(in*l.Kernel*l.Kernel, l.Out)
		l.Packed = take(&p.packed, roundUp(l.Out, 4)*(in*l.Kernel*l.Kernel+1))
		outputs := l.Out * l.Rows * l.Columns
		l.Where, l.Live, l.Apart = take(&p.sample, (outputs+1)/2), take(&p.sample, l.Out), 1
		if i == len(n.Convs)-1 {
			l.Y, l.Apart = take(&p.units, convSamples*outputs), convSamples
		} else {
			l.Y = take(&p.sample, outputs)
		}
		l.Threshold, l.Scale = dropped(c.Drop)
		l.Offsets = p.table(offsets(&l))
		p.tile(&l, i > 0)
		p.Conv[i] = l
		in, h, w, x = l.Out, l.Rows, l.Columns, l.Y
	}
	in *= h * w
	for i, hidden := range append(n.Hidden[:len(n.Hidden):len(n.Hidden)], model.Hidden{Width: s.Outputs}) {
		l := fullPlan{In: in, Out: int64(hidden.Width), X: x}
		l.Weight, l.Bias = p.layer(l.In, l.Out)
		l.Y = take(&p.units, convSamples*l.Out)
		l.Threshold, l.Scale = dropped(hidden.Drop)
		p.Full[i] = l
		in, x = l.Out, l.Y
	}
	p.Convs, p.Fulls = int64(len(n.Convs)), int64(len(n.Hidden)+1)
	p.sample |= 1 // an odd distance spreads the samples over the banks of shared memory
	return p
}

// fillConv writes what a job needs to know of the network. The plan goes to memory of its own, which freePlan
// gives back.
func fillConv(j *job, s *device.Setup, _ *memory) error {
	if err := refuseConv(s); err != nil {
		return err
	}
	p := planConv(&s.Spec)
	j.sizeConv(p)
	text := p.encode()
	at, err := cu.MemAlloc(int64(len(text)))
	if err != nil {
		return failed(err, "allocating %d bytes for the shape of %s", len(text), s.Job.Asked.Model)
	}
	j.Plan = uint64(at)
	return upload(at, text)
}

// convTensor takes steps with the products of the convolutions in tf32, if the room of a group is in shared memory, and
// places among a sample's deltas fit into 16 bits.
func convTensor(j *job, _ *config.Config) string {
	if j.Width[4] == 0 || j.Width[5] > convSamples*mostPlace {
		return ""
	}
	return "conv_tensor"
}

// freePlan gives back the memory of a job's plan, where it has one of its own.
func (f *family) freePlan(j *job) error {
	if !f.plans || j.Plan == 0 {
		return nil
	}
	err := failed(cu.MemFree(cu.DevicePtr(j.Plan)), "freeing the shape of a network")
	j.Plan = 0
	return err
}

// sizeConv fills in the numbers that conv.h finds in width: how much room the network takes, how many samples
// make a group, and whether their room is in shared memory.
func (j *job) sizeConv(p *planner) {
	most, shared := min(convSamples, (convRoom-p.units)/p.sample), int64(1)
	if most < 1 {
		most, shared = convSamples, 0
	}
	copy(j.Width[:], []int64{max(p.packed, p.tiled), p.sample, p.units, most, shared, p.dense})
}

// refuseConv says what the kernels cannot do.
func refuseConv(s *device.Setup) error {
	n, c := s.Spec.Net, s.Job
	switch {
	case s.Set.Sparse():
		return fmt.Errorf("gpu: the model %s on sparse rows trains in host memory only; leave --gpu out", c.Asked.Model)
	case len(n.Convs) > maxConvs || len(n.Hidden) >= maxFulls || s.Spec.Outputs > maxOutputs:
		return fmt.Errorf("gpu: the model %s has %d convolutions, %d hidden layers and %d outputs: at most %d, %d "+
			"and %d",
			c.Asked.Model, len(n.Convs), len(n.Hidden), s.Spec.Outputs, maxConvs, maxFulls-1, maxOutputs)
	case n.Height*n.Width > mostPlace:
		return fmt.Errorf("gpu: the images of %s are %d x %d: at most %d positions; leave --gpu out", c.Asked.Data,
			n.Height, n.Width, mostPlace)
	case len(s.Weights) > math.MaxInt32:
		return fmt.Errorf("gpu: the model %s has %d weights: at most %d", c.Asked.Model, len(s.Weights), math.MaxInt32)
	}
	return nil
}

// convScratch has the packed weights, the gradient, the images of a group, and its room where that is not in shared
// memory; else the deltas and sums of kernels/conv_tensor.h, which other kernels have no use for.
func convScratch(j *job) int64 {
	floats := j.Width[0] + roundUp(j.Weights, 4) + convSamples*roundUp(j.Features, 4)
	if j.Width[4] == 0 {
		return roundUp(floats+j.Width[2]+j.Width[3]*j.Width[1], alignment/4)
	}
	floats += j.Width[5] + convParts
	return roundUp(floats, alignment/4)
}
