package model

import (
	"math"
	"os"
	"strconv"
)

func knob(name string, v float64) float64 {
	if x, err := strconv.ParseFloat(os.Getenv(name), 64); err == nil {
		return x
	}
	return v
}

var inBatch = knob("KGE_INBATCH", 0) > 0
var selfMargin = knob("KGE_MARGIN", 9)
var initStd = knob("KGE_INIT", 0.1)

func (m *kge) bound() float32 { return float32(initStd * math.Sqrt(3)) }
