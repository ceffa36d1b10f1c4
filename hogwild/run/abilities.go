package run

import (
	"hogwild/hogwild/core"
	"hogwild/hogwild/curvature"
	"hogwild/hogwild/dual"
	"hogwild/hogwild/elastic"
	"hogwild/hogwild/exact"
	"hogwild/hogwild/finaltest"
	"hogwild/hogwild/hung"
	"hogwild/hogwild/initweights"
	"hogwild/hogwild/programs"
	"hogwild/hogwild/progress"
	"hogwild/hogwild/rollback"
	"hogwild/hogwild/stop"
	"hogwild/hogwild/unused"
)

// abilities returns what a run can do beside training, in the order in which they hear of an event. To take one away,
// delete its lines here, its package and its rows in the table of settings: make rooms does that for each.
//
// Some write what others read of the same event, so the order matters: progress begins the report that others add to,
// and shows what is about to be trained before anything else is said; a file of weights is read before a program is
// started; the last test needs the programs that then end; what changes weights or scores at the end of an epoch (dual,
// exact) comes before what judges and measures them (stop, curvature); and a rollback is saved last.
func abilities() []core.Ability {
	return []core.Ability{
		progress.New(),
		hung.New(),
		elastic.New(),
		initweights.New(),
		finaltest.New(),
		programs.New(),
		dual.New(),
		exact.New(),
		stop.New(),
		curvature.New(),
		unused.New(),
		rollback.New(),
	}
}
