package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"time"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/config"
	"hogwild/hogwild/nodes"
	"hogwild/hogwild/run"
)

// flags lists the flags of train in the order of its help: the settings, and between them what the program alone has.
// What a destination holds when the list is made is the flag's default.
func (o *trainOptions) flags() []cli.Flag {
	var l flagList
	for _, g := range config.Groups() {
		l.category = g.Title
		for _, s := range g.Settings {
			if s.Name == "mpi" {
				l.count(&o.here, "nodes", "`N` nodes in this process, each with its own workers, to try on one "+
					"machine what several do")
			}
			o.setting(&l, &s)
			if s.Name == "lr" {
				l.bool(&o.tune, "tune", "find the learning rate and momentum by runs that are judged on rows held out")
			}
		}
	}
	l.string(&o.config, "config", "`FILE` YAML file of settings; the keys are the names of these flags")
	l.bool(&o.json, "json", "print the report as one JSON object")
	l.string(&o.dashboard, "dashboard", "`ADDRESS` serve a live dashboard of the run, e.g. 127.0.0.1:8080; port 0: "+
		"any free port")
	l.bool(&o.Quiet, "quiet", "no progress on stderr")
	l.string(&o.CPUProfile, "cpuprofile", "`FILE` write a CPU profile")
	l.string(&o.Trace, "trace", "`FILE` write an execution trace")
	l.bool(&o.Timing, "timing", "report where the time went")
	return l.flags
}

// setting adds the flag of a setting.
func (o *trainOptions) setting(l *flagList, s *config.Setting) {
	switch p := s.Value(&o.Config).(type) {
	case *int:
		if s.Zero != "" {
			l.count(p, s.Name, s.Usage)
		} else {
			l.int(p, s.Name, s.Usage)
		}
	case *float64:
		if s.Zero != "" {
			l.above(p, s.Name, s.Usage)
		} else {
			l.float(p, s.Name, s.Usage)
		}
	case *bool:
		if s.Flag != "" {
			p = &o.noBias
		}
		l.bool(p, cmp.Or(s.Flag, s.Name), s.Usage)
	case *time.Duration:
		l.duration(p, s.Name, s.Usage)
	case *uint64:
		l.uint64(p, s.Name, s.Usage)
	case cli.Generic:
		l.value(p, s.Name, s.Usage)
	default: // a text, or of a type that is one
		text := reflect.ValueOf(p).Convert(reflect.TypeFor[*string]()).Interface().(*string)
		l.string(text, s.Name, s.Usage)
	}
}

// flagList builds a list of flags, each in the category set before it.
type flagList struct {
	category string
	flags    []cli.Flag
}

func (l *flagList) add(f cli.Flag) { l.flags = append(l.flags, f) }

func (l *flagList) value(v cli.Generic, name, usage string) {
	l.add(&cli.GenericFlag{Name: name, Usage: usage, Category: l.category, Value: v})
}

// count is a flag for a number from 1, above one for a number above 0; or for the word for 0.
func (l *flagList) count(p *int, name, usage string) {
	l.value(positive[int]{p, cmp.Or(config.Zero(name), "none")}, name, usage)
}

func (l *flagList) above(p *float64, name, usage string) {
	l.value(positive[float64]{p, cmp.Or(config.Zero(name), "none")}, name, usage)
}

func (l *flagList) int(p *int, name, usage string) {
	l.add(&cli.IntFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) float(p *float64, name, usage string) {
	l.add(&cli.Float64Flag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) string(p *string, name, usage string) {
	l.add(&cli.StringFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) uint64(p *uint64, name, usage string) {
	l.add(&cli.Uint64Flag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

// asInTrain are flags for texts that train has too, with the same help.
func (l *flagList) asInTrain(flags map[string]*string) {
	for _, g := range config.Groups() {
		for _, s := range g.Settings {
			if p := flags[s.Name]; p != nil {
				l.string(p, s.Name, s.Usage)
			}
		}
	}
}

func (l *flagList) duration(p *time.Duration, name, usage string) {
	l.add(&cli.DurationFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

func (l *flagList) bool(p *bool, name, usage string) {
	l.add(&cli.BoolFlag{Name: name, Usage: usage, Category: l.category, Destination: p, Value: *p})
}

// positive is a number above 0, or the word for 0 that its flag has, if it has one. What is out of range is left to the
// checks of all settings.
type positive[T int | float64] struct {
	n    *T
	zero string
}

// Set reads a flag's value.
func (p positive[T]) Set(text string) error {
	if text == p.zero {
		*p.n = 0
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	n, want := T(v), "a number above 0"
	if _, whole := any(n).(int); whole {
		want = "a whole number from 1"
		if float64(n) != v {
			n = 0
		}
	}
	if err != nil || n == 0 {
		return errors.New("want " + want + ", or " + p.zero)
	}
	*p.n = n
	return nil
}

// String is what Set reads.
func (p positive[T]) String() string {
	if p.n == nil || *p.n == 0 {
		return p.zero
	}
	return fmt.Sprint(*p.n)
}

// beside are what may go on beside a run: each begins if its flags say so, and ends when the function that it returns
// is called.
var beside []func(o *trainOptions, stderr io.Writer) (end func(), err error)

// trainOptions is what the flags of train set.
type trainOptions struct {
	config.Config
	run.Options
	noBias bool
	json   bool
	tune   bool
	config string       // --config
	here   int          // --nodes
	engine nodes.Engine // of a job of several nodes that a launcher has started

	dropped []string // settings of files that have no effect here

	dashboard string // the address of --dashboard
}
