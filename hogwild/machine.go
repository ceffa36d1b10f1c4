package hogwild

// Machine is where a run was made, for reports.
type Machine struct {
	CPU    string   `json:"cpu"`
	Cores  int      `json:"cores"`  // that this program may use
	Memory int64    `json:"memory"` // bytes; 0: unknown
	Kernel string   `json:"kernel"`
	Go     string   `json:"go"`
	GPUs   []string `json:"gpus,omitempty"` // names of those that the run used
}

// ThisMachine is the machine that this process runs on, as far as it tells.
func ThisMachine() Machine { panic("not yet") }

// Commit is the commit that this program was built from, as far as Go recorded it:
// "69e1f03d2a41", or "69e1f03d2a41, modified", or "".
func Commit() string { panic("not yet") }
