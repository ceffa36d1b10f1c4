package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestGradientDelayRefused(t *testing.T) {
	for want, edit := range map[string]func(c *Config){
		"gradient-delay -1ns":                       func(c *Config) { c.GradientDelay = -1 },
		"gradient-delay 1s: must be from 0 to 5ms":  func(c *Config) { c.GradientDelay = time.Second },
		"gradient-delay 1µs with gpu":               func(c *Config) { c.GPU = "0" },
		"gradient-delay 1µs with mode delayed:3":    func(c *Config) { c.Mode = MustMode("delayed:3") },
		"gradient-delay 1µs with mode delayed:geom": func(c *Config) { c.Mode = MustMode("delayed:geometric:3") },
	} {
		c := Default()
		c.GradientDelay = time.Microsecond
		edit(&c)
		if err := c.Validate(); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
