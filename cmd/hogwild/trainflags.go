package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"reflect"
	"slices"
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
				l.count(&o.localNodes, "nodes", "`N` nodes in this process, each with its own workers, to try on one "+
					"machine what several do")
			}
			l.setting(&s, &o.Config)
			if s.Name == "lr" {
				l.add(&o.tune, "tune", "find the learning rate and momentum by runs that are judged on rows held out")
			}
		}
	}
	l.add(&o.config, "config", "`FILE` YAML file of settings; the keys are the names of these flags")
	l.add(&o.json, "json", "print the report as one JSON object")
	l.add(&o.dashboard, "dashboard", "`ADDRESS` serve a live dashboard of the run, e.g. 127.0.0.1:8080; port 0: "+
		"any free port")
	l.add(&o.Quiet, "quiet", "no progress on stderr")
	l.add(&o.CPUProfile, "cpuprofile", "`FILE` write a CPU profile")
	l.add(&o.Trace, "trace", "`FILE` write an execution trace")
	l.add(&o.Timing, "timing", "report where the time went")
	return l.flags
}

// flagList builds a list of flags, each in the category set before it.
type flagList struct {
	category string
	flags    []cli.Flag
}

// add adds a flag that sets what p points to, which holds the flag's default.
func (l *flagList) add(p any, name, usage string) {
	v, ok := p.(flag.Value)
	if !ok {
		v = value{to: p}
	}
	l.flags = append(l.flags, &cli.GenericFlag{Name: name, Usage: usage, Category: l.category, Value: v})
}

// count adds a flag for a number from 1, or for the word for 0.
func (l *flagList) count(p *int, name, usage string) {
	l.add(value{to: p, zero: cmp.Or(config.Zero(name), "none")}, name, usage)
}

// setting adds the flag of a setting of c.
func (l *flagList) setting(s *config.Setting, c *config.Config) {
	p := s.Value(c)
	if _, own := p.(flag.Value); !own {
		p = value{to: p, zero: s.Zero, not: s.Flag != ""}
	}
	l.add(p, cmp.Or(s.Flag, s.Name), s.Usage)
}

// asInTrain adds a flag for p with the name and the help of a setting.
func (l *flagList) asInTrain(p *string, name string) { l.add(p, name, config.Lookup(name).Usage) }

// settings adds the flags of settings of c, in the order of train's.
func (l *flagList) settings(c *config.Config, names ...string) {
	for s := range config.All() {
		if slices.Contains(names, s.Name) {
			l.setting(s, c)
		}
	}
}

// value is the value of a flag: a pointer to what it sets, to a text if to none of the other types in Set.
type value struct {
	to   any
	zero string // of a number above 0: the word for 0
	not  bool   // of a flag that says the opposite
}

// Set reads a flag's value. The error says what kind of value the flag takes.
func (v value) Set(text string) (err error) {
	if v.zero != "" {
		return v.setPositive(text)
	}
	want := ""
	switch p := v.to.(type) {
	case *bool:
		want = "true or false"
		*p, err = strconv.ParseBool(text)
		*p = *p != v.not
	case *int:
		want = "a whole number"
		n, e := strconv.ParseInt(text, 0, strconv.IntSize)
		*p, err = int(n), e
	case *uint64:
		want = "a whole number, not negative"
		*p, err = strconv.ParseUint(text, 0, 64)
	case *float64:
		want = "a number"
		*p, err = strconv.ParseFloat(text, 64)
	case *time.Duration:
		want = "a time, e.g. 100ns, 2us or 30s"
		*p, err = time.ParseDuration(text)
	default:
		reflect.ValueOf(p).Elem().SetString(text)
	}
	if err != nil {
		return errors.New("want " + want)
	}
	return nil
}

// setPositive reads a number above 0, or the word for 0. What is out of range is left to the checks of all settings.
func (v value) setPositive(text string) error {
	to := reflect.ValueOf(v.to).Elem()
	if to.SetZero(); text == v.zero {
		return nil
	}
	x, err := strconv.ParseFloat(text, 64)
	want := "a number above 0"
	switch p := v.to.(type) {
	case *float64:
		*p = x
	case *int:
		want = "a whole number from 1"
		if n := int(x); float64(n) == x {
			*p = n
		}
	}
	if err != nil || to.IsZero() {
		return errors.New("want " + want + ", or " + v.zero)
	}
	return nil
}

// String returns what Set reads.
func (v value) String() string {
	to := reflect.ValueOf(v.to).Elem()
	switch {
	case to.Kind() == reflect.Bool:
		return strconv.FormatBool(to.Bool() != v.not)
	case v.zero != "" && to.IsZero():
		return v.zero
	}
	return fmt.Sprint(to)
}

// IsBoolFlag has the flag need no value.
func (v value) IsBoolFlag() bool {
	_, is := v.to.(*bool)
	return is
}

// companions run along with a run: each begins if its flags say so, and ends when the function that it returns is
// called.
var companions []func(o *trainOptions, stderr io.Writer) (end func(), err error)

// trainOptions is what the flags of train set.
type trainOptions struct {
	config.Config
	run.Options
	json       bool
	tune       bool
	config     string       // --config
	localNodes int          // --nodes
	engine     nodes.Engine // of a job of several nodes that a launcher has started

	dropped []string // settings of files that have no effect here

	dashboard string // the address of --dashboard
}
