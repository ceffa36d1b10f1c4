package config

import (
	"fmt"
	"testing"

	"hogwild/internal/check"
)

func TestValidateModes(t *testing.T) {
	for _, c := range []struct {
		edit func(c *Config)
		says string
	}{
		{func(c *Config) { c.Mode = "delayed" }, "write delayed:K or delayed:geometric:K"},
		{func(c *Config) { c.Mode = "delayed:-1" }, "with K from 0 to"},
		{func(c *Config) { c.Mode = "delayed:geometric:x" }, `mode "delayed:geometric:x": write`},
		{func(c *Config) { c.Mode = "delayed:4" }, "workers 4 with mode delayed:4: one worker plays them all"},
		{func(c *Config) { c.Mode, c.Workers, c.SaveEvery = "delayed:4", 0, "30s" }, "save-every 30s with mode delayed:4"},
		{func(c *Config) { c.Mode, c.GPU = "locked", "0" }, "mode locked with gpu: the kernel of one worker"},
		{func(c *Config) { c.Mode = "lock" }, "choose one of async, atomic, locked, ordered, sync, delayed:K"},
	} {
		config := defaults()
		config.Workers = 4
		c.edit(&config)
		check.Error(t, config.Validate(), c.says)
	}
	for _, mode := range append(Modes, "delayed:0", "delayed:132", "delayed:geometric:8") {
		c := defaults()
		c.Mode = mode
		if err := c.Validate(); err != nil || c.Delayed() && c.Workers != 1 {
			t.Errorf("%s: %d workers, %v", mode, c.Workers, err)
		}
	}
}

func ExampleConfig_mode() {
	c := defaults()
	c.Mode = "delayed:geometric:131"
	fmt.Println(c.Validate(), c.Workers)
	// Output: <nil> 1
}
