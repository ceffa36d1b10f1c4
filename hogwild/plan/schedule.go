package plan

import (
	"math"

	"hogwild/hogwild/config"
)

// Schedule is the learning rate as a function of the examples that all workers
// have trained together.
type Schedule struct {
	kind    config.Schedule
	lr, min float64
	decay   float64 // an epoch
	n       float64 // examples an epoch
	total   float64 // examples of the run
	Rates   int64   // examples that a rate is kept for: a power of two
}

// rateBlock is how many examples a rate is kept for, where chunks are as long as on cores: a step of one example does
// not pay for a cosine. Blocks do not depend on where a chunk begins, so that a resumed run goes on as it would have.
const rateBlock = 64

// Block returns the first example of the block that seen is in.
func (s Schedule) Block(seen int64) int64 { return seen &^ (s.Rates - 1) }

// NewSchedule returns the schedule of a run of n rows at the learning rate lr. Where it is longer than the one that was
// asked for, as several nodes may have it, so is its end.
func NewSchedule(c *config.Config, lr float64, n int) Schedule {
	n = c.PartOf(n)
	end := c.LRMin
	if c.LR > 0 && lr > c.LR {
		end *= lr / c.LR
	}
	return Schedule{kind: c.Schedule, lr: lr, min: min(lr, end), decay: c.Decay,
		n: float64(n), total: float64(n) * float64(c.Epochs), Rates: int64(rateBlock * Longer(c, n))}
}

// At returns the learning rate after seen examples, never below min:
//
//	cosine    min + (lr-min) (1 + cos(pi seen/total))/2   (Loshchilov and Hutter 2017, without restarts)
//	linear    from lr to min over the run
//	cooldown  lr over half of the run, then linearly to min (Hägele and others 2024, section 3)
//	exp       lr decay^(seen/n), smoothly
//	step      lr decay^floor(seen/n), once an epoch
func (s Schedule) At(seen int64) float64 {
	t := min(float64(seen)/s.total, 1)
	switch s.kind {
	case config.Constant, config.Auto:
		return s.lr
	case config.Cosine:
		return s.min + (s.lr-s.min)*(1+math.Cos(math.Pi*t))/2
	case config.Linear:
		return s.lr + (s.min-s.lr)*t
	case config.Cooldown:
		return s.lr + (s.min-s.lr)*max(0, 2*t-1)
	case config.Exp:
		return max(s.min, s.lr*math.Pow(s.decay, float64(seen)/s.n))
	default: // step
		return max(s.min, s.lr*math.Pow(s.decay, math.Floor(float64(seen)/s.n)))
	}
}
