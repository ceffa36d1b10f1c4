package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestGradientDelayRefused(t *testing.T) {
	for want, edit := range map[string]func(c *Config){
		"gradient-delay -1ns":                      func(c *Config) { c.GradientDelay = -1 },
		"gradient-delay 1s: must be from 0 to 5ms": func(c *Config) { c.GradientDelay = time.Second },
	} {
		c := Default()
		c.GradientDelay = time.Microsecond
		edit(&c)
		if err := c.Validate(); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
