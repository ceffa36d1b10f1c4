package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/twmb/murmur3"

	"hogwild/hogwild/config"
	"hogwild/hogwild/run"
)

const (
	vwVersion  = "9.0.0"  // of the format
	vwConstant = 11650396 // the hash of the feature that is always 1
	vwBits     = 18       // of the numbers of weights, unless more are needed
	vwMaxBits  = 31
)

// VW is a linear model as a regressor of Vowpal Wabbit, for prediction only. Its features are those whose names are numbers,
// counted as in the training data, or else from 1. With K classes and as many outputs it is a model of --oaa K,
// whose classes are 1 to K. Errors match config.ErrUsage.
func VW(s *run.Saved) ([]byte, error) {
	f, err := flatten(s, "vw", "Vowpal Wabbit")
	if err != nil {
		return nil, err
	}
	options, stride := " --sgd", 1
	if f.Outputs > 1 {
		options += fmt.Sprintf(" --oaa %d", f.Outputs)
		stride = 1 << bits.Len(uint(f.Outputs-1)) // weights of a feature lie side by side, in a power of two
	}
	if !f.biased {
		options += " --noconstant"
	}
	end := (f.first + f.Features) * stride
	n := vwBits
	for ; n <= vwMaxBits && (1<<n < end || f.biased && vwConstant*stride%(1<<n) < end); n++ {
	}
	if n > vwMaxBits {
		return nil, config.Usage("vw: %d features with %d outputs need more than 2^%d weights: use --to npy, one array per tensor", f.Features, f.Outputs, vwMaxBits)
	}
	h := &vwHeader{}
	h.text(vwVersion)
	h.hash = 0 // covers what follows
	h.text("") // the model's name
	h.put('m')
	h.number(math.Float32bits(-math.MaxFloat32)) // outputs are not bounded
	h.number(math.Float32bits(math.MaxFloat32))
	h.number(uint32(n))
	h.number(0) // topics of LDA
	h.number(0) // n-grams
	h.number(0) // skips
	h.text(options)
	b := binary.LittleEndian.AppendUint32(h.b, 4) // the length of the checksum
	b = binary.LittleEndian.AppendUint32(b, h.hash)
	b = append(b, 0) // no state of a learner follows
	add := func(feature, k int, w float64) {
		if w32 := float32(w); w32 != 0 {
			b = binary.LittleEndian.AppendUint32(b, uint32((feature*stride+k)%(1<<n)))
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(w32))
		}
	}
	for k, row := range f.weight {
		for j, w := range row {
			add(f.first+j, k, w)
		}
		add(vwConstant, k, f.bias[k])
	}
	return b, nil
}

// vwHeader is written field by field: the checksum is a chain over them.
type vwHeader struct {
	b    []byte
	hash uint32
}

func (h *vwHeader) put(field ...byte) {
	h.b = append(h.b, field...)
	h.hash = murmur3.SeedSum32(h.hash, field)
}

func (h *vwHeader) number(v uint32) { h.put(binary.LittleEndian.AppendUint32(nil, v)...) }

// text is a text with its length before and a zero behind it.
func (h *vwHeader) text(s string) {
	h.number(uint32(len(s) + 1))
	h.put(append([]byte(s), 0)...)
}
