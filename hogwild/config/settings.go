package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"hogwild/hogwild/model"
)

// Groups are all settings.
func Groups() []Group { return table }

// Lookup is the setting of a name; nil: there is none.
func Lookup(name string) *Setting {
	for i := range table {
		for j := range table[i].Settings {
			if s := &table[i].Settings[j]; s.Name == name {
				return s
			}
		}
	}
	return nil
}

// Choices are the words that a setting takes, or some of them.
func Choices(name string) []string {
	s := Lookup(name)
	switch {
	case s == nil:
		return nil
	case s.Words == nil:
		return s.Hints
	}
	return s.Words
}

// Zero is the word that the flag of a setting has for 0; "": none.
func Zero(name string) string {
	if s := Lookup(name); s != nil {
		return s.Zero
	}
	return ""
}

// Text is a setting as its flag takes it.
func (c *Config) Text(name string) string {
	s := Lookup(name)
	if s == nil {
		panic("config: no setting " + name)
	}
	v := reflect.ValueOf(s.Value(c)).Elem()
	if s.Zero != "" && v.IsZero() {
		return s.Zero
	}
	return fmt.Sprint(v.Interface())
}

// AsFlag is the flag of the setting, and its text for the value in c.
func (s *Setting) AsFlag(c *Config) (flag, text string) {
	if s.Flag != "" { // which says the opposite
		return s.Flag, fmt.Sprint(!*s.Value(c).(*bool))
	}
	return s.Name, c.Text(s.Name)
}

// checkWord refuses a word that is not one of a setting's.
func (s *Setting) checkWord(c *Config) error {
	if s.Words == nil || slices.Contains(s.Words, c.Text(s.Name)) {
		return nil
	}
	return Usage("%s %q: choose one of %s", s.Name, c.Text(s.Name), strings.Join(s.Words, ", "))
}

// checkValue refuses a number out of range, and what the setting's own check does.
func (s *Setting) checkValue(c *Config) error {
	var err error
	switch v := s.Value(c).(type) {
	case *int:
		if s.most > 0 && s.Zero != "" {
			err = fromOne(s.Name, *v, int(s.most), s.Zero)
		} else if s.most > 0 {
			err = between(s.Name, float64(*v), s.least, s.most)
		}
	case *float64:
		if s.most > 0 {
			err = between(s.Name, *v, s.least, s.most)
		}
	}
	if err == nil && s.check != nil {
		err = s.check(c)
	}
	return err
}

// checkSettings refuses a value that a setting cannot have.
func (c *Config) checkSettings() error {
	for _, check := range []func(*Setting, *Config) error{(*Setting).checkWord, (*Setting).checkValue} {
		for i := range table {
			for j := range table[i].Settings {
				if err := check(&table[i].Settings[j], c); err != nil {
					return err
				}
			}
		}
	}
	if _, err := model.Task(c.Model, c.Loss); err != nil {
		return Usage("%w", err)
	}
	return nil
}
