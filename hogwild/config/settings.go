package config

import (
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"

	"hogwild/hogwild/model"
)

// Groups returns all settings.
func Groups() []Group { return table }

// All yields the settings of all groups.
func All() iter.Seq[*Setting] {
	return func(yield func(*Setting) bool) {
		for i := range table {
			for j := range table[i].Settings {
				if !yield(&table[i].Settings[j]) {
					return
				}
			}
		}
	}
}

// Lookup returns the setting of a name; nil: there is none.
func Lookup(name string) *Setting {
	for s := range All() {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// fields finds the fields of Config by their names in files, the names of settings.
var fields = sync.OnceValue(func() map[string][]int {
	all := map[string][]int{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		all[name] = f.Index
	}
	return all
})

func (s *Setting) field(c *Config) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(fields()[s.Name])
}

// Value returns a pointer to the field of c: *int, *uint64, *float64, *bool, *time.Duration, or a pointer to a text or
// to a type with Set.
func (s *Setting) Value(c *Config) any { return s.field(c).Addr().Interface() }

// Choices returns the words that a setting takes, or some of them.
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

// Zero returns the word that the flag of a setting has for 0; "": none.
func Zero(name string) string {
	if s := Lookup(name); s != nil {
		return s.Zero
	}
	return ""
}

// Text returns a setting as its flag takes it.
func (c *Config) Text(name string) string {
	s := Lookup(name)
	if s == nil {
		panic("config: no setting " + name)
	}
	v := s.field(c)
	if s.Zero != "" && v.IsZero() {
		return s.Zero
	}
	return fmt.Sprint(v.Interface())
}

// AsFlag returns the flag of the setting, and its text for the value in c.
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
		for s := range All() {
			if err := check(s, c); err != nil {
				return err
			}
		}
	}
	if _, err := model.Task(c.Model, c.Loss); err != nil {
		return Usage("%w", err)
	}
	return nil
}
