package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"hogwild/hogwild/arrays"
	"hogwild/hogwild/config"
)

// arraysCommand is what the Python package starts for a call: arrays SOCKET [GPU], the number of an open socket, and
// the setting gpu, for which hogwild-cuda takes this process's place.
func arraysCommand() *cli.Command {
	return verb(cli.Command{Name: "arrays", Hidden: true}, func(_ *cli.Context, _ *settings, args []string) error {
		if len(args) != 1 && len(args) != 2 {
			return usagef("the Python package starts this command: import hogwild, and call hogwild.train")
		}
		socket, err := strconv.Atoi(args[0])
		if err != nil {
			return usagef("%q is not the number of a socket", args[0])
		}
		if c := config.Default(); len(args) == 2 {
			c.GPU = args[1]
			if err := toGPU(c); err != nil {
				return arrays.Refuse(socket, err)
			}
		}
		return arrays.Serve(socket, settingsOfCall)
	})
}

// settingsOfCall returns the settings of a call from Python.
func settingsOfCall(given map[string]string) (config.Config, error) {
	o, s, err := trainSettings()
	if err != nil {
		return o.Config, err
	}
	for name, value := range given {
		f := s.set.Lookup(name)
		if f == nil {
			return o.Config, usagef("unknown setting %s%s", name, s.suggest("", name))
		}
		if err := s.assign(name, value); err != nil {
			return o.Config, usagef("%s %v", name, err)
		}
	}
	if err := o.files(s); err != nil { // a run that is resumed
		return o.Config, err
	}
	return o.Config, s.checkIdle(&o.Config)
}
