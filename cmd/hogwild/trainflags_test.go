package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"hogwild/hogwild/config"
)

// TestASettingIsOneRow: a field of Config is a flag, a key of files, a variable of the environment, in the help and in
// the completion, and its value is checked, by its row in the table of settings alone.
func TestASettingIsOneRow(t *testing.T) {
	row := config.Lookup("max-restarts")
	was := *row
	*row = config.Setting{Name: was.Name, Usage: "`N` rows of the test", Words: []string{"3", "5"}}
	defer func() { *row = was }()

	said := func(args ...string) string {
		var out, err bytes.Buffer
		execute(args, &out, &err)
		return out.String() + err.String()
	}
	file := filepath.Join(t.TempDir(), "row.yaml")
	if err := os.WriteFile(file, []byte("max-restarts: 4\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ got, want string }{
		{said("help", "train", "all"), "--max-restarts N        rows of the test"},
		{said("help", "train", "max-restarts"), "rows of the test"},
		{said("complete", "--", "train", "--max-r"), "--max-restarts"},
		{said("complete", "--", "train", "--max-restarts", ""), "5"},
		{said("train", "--max-restarts", "many"), `--max-restarts "many": want a whole number`},
		{said("train", "--max-restarts", "4"), `max-restarts "4": choose one of 3, 5`},
		{said("train", "--config", file), `row.yaml:1:1: max-restarts "4": choose one of 3, 5`},
	} {
		if !strings.Contains(c.got, c.want) {
			t.Errorf("%s does not say %s", c.got, c.want)
		}
	}
	t.Setenv(variable("max-restarts"), "4")
	if got := said("train"); !strings.Contains(got,
		"environment variable "+variable("max-restarts")+`: max-restarts "4": choose one of 3, 5`) {
		t.Errorf("of the environment: %s", got)
	}
}

// TestSettingsAreFields: each field of Config that files have is one row of the table, and each row has a field.
func TestSettingsAreFields(t *testing.T) {
	rows, names := map[string]int{}, 0
	for s := range config.All() {
		rows[s.Name]++
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[config.Config]()) {
		if name, _, _ := strings.Cut(f.Tag.Get("yaml"), ","); name != "" && name != "-" {
			if names++; rows[name] != 1 {
				t.Errorf("Config.%s has %d rows", f.Name, rows[name])
			}
		}
	}
	if len(rows) != names {
		t.Errorf("%d rows of the table, and %d fields that files have", len(rows), names)
	}
}
