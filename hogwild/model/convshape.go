package model

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"hogwild/hogwild/data"
	"hogwild/internal/vec"
)

// A convolutional network is written conv:LAYER,LAYER,... Convolutions come first, one
// or more, then hidden layers:
//
//	CHANNELS@KERNEL[pPOOL][d[RATE]]   10@5p2    10 channels, kernels of 5 x 5, max-pooling 2 x 2
//	WIDTH[d[RATE]]                    50d       50 units, each left out with probability 0.5
//
// Each is followed by a ReLU; d is dropout, of whole channels behind a convolution, with
// probability RATE (d.25), or 0.5. Convolutions have stride 1 and no padding; rows and
// columns that do not fill a window of the pooling are left out. A last layer to the
// classes follows by itself, and its outputs go to the loss.
//
// convnet is the network of PyTorch's examples, mnist_hogwild:
const convnetShape = "conv:10@5p2,20@5p2d,50d"

// Net is the shape of a convolutional network.
type Net struct {
	Channels, Height, Width int // of an image
	Convs                   []Conv
	Hidden                  []Hidden
}

// Conv is a convolution of Kernel x Kernel to Out channels, dropout of channels with
// probability Drop, max-pooling over Pool x Pool, and ReLU.
type Conv struct {
	Out, Kernel, Pool int
	Drop              float64
}

// Hidden is a layer of Width units, ReLU, and dropout with probability Drop.
type Hidden struct {
	Width int
	Drop  float64
}

// Convolutional is the family of convnet and conv:SHAPE.
var Convolutional = &Family{
	Network: true, L1: true, Weighs: true, forms: []string{"convnet", "conv:SHAPE"},
	task: convTask, resolve: resolveConv, build: func(s Spec) Model { return newConvNet(s) },
}

// convTask is Task for convolutional networks; a malformed shape is an error before any data is read.
func convTask(name, loss string) (string, error) {
	if _, err := parseNet(name); err != nil {
		return "", err
	}
	return layersTask("mlp:1", loss)
}

// resolveConv is Resolve for convolutional networks. The loss is chosen as for a perceptron.
func resolveConv(o Options, m data.Meta) (Spec, error) {
	net, err := parseNet(o.Name)
	if err != nil {
		return Spec{}, err
	}
	like := o
	like.Name = "mlp:1"
	s, err := resolveLayers(like, m)
	if err != nil {
		return Spec{}, err
	}
	s.Options, s.Name, s.Widths, s.Net = o, o.Name, nil, net
	return s, net.fit(o.Name, m)
}

var layerSyntax = regexp.MustCompile(`^(\d+)(?:@(\d+)(?:p(\d+))?)?(d(?:0?\.\d+)?)?$`)

// parseNet reads the shape in a name. The image is left open.
func parseNet(name string) (*Net, error) {
	shape := name
	if name == "convnet" {
		shape = convnetShape
	}
	_, list, _ := strings.Cut(shape, ":")
	net := new(Net)
	for i, text := range strings.Split(list, ",") {
		f := layerSyntax.FindStringSubmatch(text)
		if f == nil || !net.add(f) {
			return nil, fmt.Errorf("model: %q: layer %d, %q, is not CHANNELS@KERNEL[pPOOL][d[RATE]] or, after the "+
				"convolutions, WIDTH[d[RATE]], with numbers from 1 to %d and rates below 1 (e.g. %s)",
				name, i+1, text, maxWidth, convnetShape)
		}
	}
	if len(net.Convs) == 0 {
		return nil, fmt.Errorf("model: %q has no convolution: begin with CHANNELS@KERNEL, e.g. %s, or use mlp:WIDTHS",
			name, convnetShape)
	}
	return net, nil
}

// add appends the layer with the parts that layerSyntax found, and reports whether they
// make sense.
func (n *Net) add(f []string) bool {
	number := func(text string, none int) int {
		if text == "" {
			return none
		}
		v, err := strconv.Atoi(text)
		if err != nil || v > maxWidth {
			return 0
		}
		return v
	}
	drop := 0.0
	if f[4] != "" {
		drop = 0.5
	}
	if len(f[4]) > 1 {
		drop, _ = strconv.ParseFloat(f[4][1:], 64)
	}
	out := number(f[1], 0)
	if f[2] == "" {
		n.Hidden = append(n.Hidden, Hidden{out, drop})
		return out > 0
	}
	c := Conv{out, number(f[2], 0), number(f[3], 1), drop}
	n.Convs = append(n.Convs, c)
	return out > 0 && c.Kernel > 0 && c.Pool > 0 && len(n.Hidden) == 0
}

// fit takes the image from the data, and refuses data that are no images, or are too
// small.
func (n *Net) fit(name string, m data.Meta) error {
	switch len(m.Shape) {
	case 2:
		n.Channels, n.Height, n.Width = 1, m.Shape[0], m.Shape[1]
	case 3:
		n.Channels, n.Height, n.Width = m.Shape[0], m.Shape[1], m.Shape[2]
	}
	if n.Channels*n.Height*n.Width != m.Features {
		return fmt.Errorf("model: %s needs images, but %s has %d features without height and width: use IDX files, "+
			"or an .npy of n x h x w or n x channels x h x w; or use mlp:WIDTHS", name, m.Name, m.Features)
	}
	in, h, w := n.Channels, n.Height, n.Width
	for i, c := range n.Convs {
		if h < c.Kernel || w < c.Kernel {
			return fmt.Errorf("model: %s: images of %s are %d x %d; the input of convolution %d is %d x %d, smaller "+
				"than its kernel of %d: use smaller kernels or less pooling", name, m.Name, n.Height, n.Width, i+1,
				h, w, c.Kernel)
		}
		if most := math.MaxInt32 / (h * w * vec.Lanes); max(in, c.Out) > most { // places in them are int32
			return fmt.Errorf("model: %s: convolution %d has %d channels of %d x %d: at most %d of this size; use "+
				"fewer channels or more pooling",
				name, i+1, max(in, c.Out), h, w, most)
		}
		in, h, w = c.Out, (h-c.Kernel+1)/c.Pool, (w-c.Kernel+1)/c.Pool
		if h == 0 || w == 0 {
			return fmt.Errorf("model: %s: images of %s are %d x %d; the pooling of convolution %d, %d x %d, leaves "+
				"no pixels: use less pooling", name, m.Name, n.Height, n.Width, i+1, c.Pool, c.Pool)
		}
	}
	return nil
}
