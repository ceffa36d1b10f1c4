package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	programs "hogwild/hogwild/program"
)

const pythonPathHelp = `Usage: hogwild python-path

Prints the folder with the Python package hogwild of this version. A run of --program finds it by itself;
editors, type checkers and scripts that run alone need it on their path. See docs/programs.md.

Examples:
  PYTHONPATH=$(hogwild python-path) python3 -m pdb step.py
      a script alone, in the debugger
  hogwild python-path > venv/lib/python3.12/site-packages/hogwild.pth
      the package in a virtual environment, also for mypy and editors
`

func pythonPathCommand() *cli.Command {
	return verb(cli.Command{Name: "python-path", Usage: "print the folder of the Python package hogwild",
		Description: pythonPathHelp}, func(c *cli.Context, _ *settings, args []string) error {
		if len(args) > 0 {
			return usagef("unexpected argument %q; python-path takes none", args[0])
		}
		folder, err := programs.PythonFolder()
		if err == nil {
			_, err = fmt.Fprintln(c.App.Writer, folder)
		}
		return err
	})
}
