package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"hogwild/internal/check"
)

func TestValidateModes(t *testing.T) {
	for _, c := range []struct {
		edit func(c *Config)
		says string
	}{
		{func(c *Config) { c.Mode = MustMode("delayed:4") },
			"workers 4 with mode delayed:4: one worker simulates all of them"},
		{func(c *Config) { c.Mode, c.Workers, c.SaveEvery = MustMode("delayed:4"), 0, "30s" },
			"save-every 30s with mode delayed:4"},
		{func(c *Config) { c.Mode, c.GPU = MustMode("locked"), "0" },
			"mode locked with gpu: kernels of several workers"},
	} {
		config := defaults()
		config.Workers = 4
		c.edit(&config)
		check.Error(t, config.Validate(), c.says)
	}
	for _, mode := range append(Modes, "delayed:0", "delayed:132", "delayed:geometric:8") {
		c := defaults()
		c.Mode = MustMode(mode)
		if c, err := c.Resolve(); err != nil || c.Mode.Kind == Clock && c.Workers != 1 {
			t.Errorf("%s: %d workers, %v", mode, c.Workers, err)
		}
	}
}

// TestParseMode: a mode and its text, and what is none.
func TestParseMode(t *testing.T) {
	for text, want := range map[string]Mode{
		"async": {}, "atomic": {Kind: Atomic}, "locked": {Kind: Locked}, "ordered": {Kind: Ordered},
		"sync":      {Kind: Sync},
		"delayed:0": DelayedBy(0), "delayed:132": DelayedBy(132),
		"delayed:geometric:8":   {Kind: Clock, Speeds: Speeds{Kind: RandomOrder, N: 9}, Delayed: true},
		"clock:equal:8":         {Kind: Clock, Speeds: Speeds{N: 8}},
		"clock:slow:8,2,4.5":    {Kind: Clock, Speeds: Speeds{Kind: Slow, N: 8, M: 2, X: 4.5}},
		"clock:sqrt:16":         {Kind: Clock, Speeds: Speeds{Kind: Sqrt, N: 16}},
		"clock:lognormal:4,1":   {Kind: Clock, Speeds: Speeds{Kind: LogNormal, N: 4, X: 1}},
		"clock:exp:4":           {Kind: Clock, Speeds: Speeds{Kind: Exponential, N: 4}},
		"clock:trace:runs/a":    {Kind: Clock, Speeds: Speeds{Kind: Trace, File: "runs/a"}},
		"clock:outage:4,0.1,20": {Kind: Clock, Speeds: Speeds{Kind: Outage, N: 4, X: 0.1, Y: 20}},
		"blocks":                {Kind: Blocks, Grid: 8}, "blocks:3": {Kind: Blocks, Grid: 3},
	} {
		m, err := ParseMode(text)
		if m != want || err != nil || m.String() != text {
			t.Errorf("%s: %+v, %v, written %s", text, m, err, m)
		}
		form, err := json.Marshal(Config{Mode: m})
		var back Config
		if err := errors.Join(err, json.Unmarshal(form, &back)); err != nil || back.Mode != m ||
			!strings.Contains(string(form), `"mode":"`+text+`"`) {
			t.Errorf("%s: as JSON %s, read %+v, %v", text, form, back.Mode, err)
		}
		form, err = yaml.Marshal(Config{Mode: m})
		if err := errors.Join(err, yaml.Unmarshal(form, &back)); err != nil || back.Mode != m ||
			!strings.Contains(string(form), "\nmode: "+text+"\n") {
			t.Errorf("%s: as YAML %s, read %+v, %v", text, form, back.Mode, err)
		}
	}
	for text, says := range map[string]string{
		"": "choose one of async", "hogwild": "choose one of async, atomic, locked, ordered, sync, clock:SPEEDS",
		"Sync": "choose", "delayed": "choose one of",
		"delayed:-1": "write delayed:K or delayed:geometric:K, with K from 0 to", "delayed:geometric:x": "write",
		"delayed:": "write", "delayed:70000": "write",
	} {
		_, err := ParseMode(text)
		check.Error(t, err, fmt.Sprintf("mode %q: %s", text, says))
		if !errors.Is(err, ErrUsage) {
			t.Errorf("%v is not ErrUsage", err)
		}
	}
}

func ExampleConfig_mode() {
	c := defaults()
	c.Mode = MustMode("delayed:geometric:131")
	c, err := c.Resolve()
	fmt.Println(err, c.Workers)
	// Output: <nil> 1
}

// TestModeOfNoText: a Mode that was not made by ParseMode is checked as well.
func TestModeOfNoText(t *testing.T) {
	for _, m := range []Mode{{Kind: 9}, {Kind: -1}, {Kind: Clock}, {Kind: Blocks}} {
		c := Default()
		c.Mode = m
		if _, err := c.Resolve(); !errors.Is(err, ErrUsage) {
			t.Errorf("kind %d: %v, want ErrUsage", m.Kind, err)
		}
	}
}
