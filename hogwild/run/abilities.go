package run

import (
	"hogwild/hogwild/ability"
	"hogwild/hogwild/core"
	"hogwild/hogwild/elastic"
	"hogwild/hogwild/programs"
	"hogwild/hogwild/progress"
)

// abilities returns what a run can do besides training, in the order in which they hear of an event. To take one away,
// delete its line here, its package or its files, and its rows in the table of settings: make rooms does that for each.
//
// Some write what others read of the same event, so the order matters: progress begins the report that others add to,
// and shows what is about to be trained before anything else is said; a file of weights is read before a program is
// started; the last test needs the programs that then end; what changes weights or scores at the end of an epoch (dual,
// exact) comes before what judges and measures them (stop, curvature); and a rollback is saved last.
func abilities() []core.Ability {
	return []core.Ability{
		progress.New(),
		ability.Hung(),
		elastic.New(),
		ability.InitWeights(),
		ability.FinalTest(),
		programs.New(),
		ability.Dual(),
		ability.Exact(),
		ability.Stop(),
		ability.Curvature(),
		ability.Unused(),
		ability.Rollback(),
	}
}
