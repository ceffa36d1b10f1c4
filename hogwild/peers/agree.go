package peers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hogwild/hogwild/config"
	"hogwild/hogwild/rundir"
	"hogwild/hogwild/tuning"
	"hogwild/internal/machine"
)

// Before a job begins its nodes agree on it. The settings are node 0's, except a machine's; the data must be the same
// on all.

// decision is what node 0 tells all: why the job cannot begin, or what it is.
type decision struct {
	Error string `json:"error,omitempty"`
	Usage bool   `json:"usage,omitempty"`
	From  int    `json:"from"` // whose error it is
	Body  []byte `json:"-"`    // follows by itself: it may be large
}

// refusal returns the error of a verdict on a node, which may be the node's own.
func (v *decision) refusal(own error, p *group) error {
	p.inOrder = v.Error != "" // all nodes refuse
	if v.Error == "" || own != nil && (p.First() || v.From == p.place.Node || own.Error() != v.Error) {
		return own
	}
	err := error(config.Reported{Err: fmt.Errorf("node %d: %s", v.From, v.Error)})
	if v.Usage {
		err = config.Usage("%w", err)
	}
	return err
}

// Share returns on every node what f returns on node 0, the only one to call it.
func (p *group) Share(f func() ([]byte, error)) ([]byte, error) {
	var v decision
	var own error
	if p.First() {
		v.Body, own = f()
		v.fail(0, own)
	}
	if err := p.give(&v); err != nil {
		return nil, err
	}
	return v.Body, v.refusal(own, p)
}

func (v *decision) fail(node int, err error) {
	if err != nil {
		v.Error, v.Usage, v.From = err.Error(), errors.Is(err, config.ErrUsage), node
	}
}

// give replaces a verdict by node 0's, with the body if there is no error.
func (p *group) give(v *decision) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if text, err = p.engine.Share(text); err != nil {
		return err
	}
	body := v.Body
	*v = decision{}
	if err := json.Unmarshal(text, v); err != nil || v.Error != "" {
		return err
	}
	v.Body, err = p.engine.Share(body)
	return err
}

// nodeInfo is what a node tells node 0 of itself.
type nodeInfo struct {
	Error   string   `json:"error,omitempty"`
	Usage   bool     `json:"usage,omitempty"`
	Version string   `json:"version"`
	Build   string   `json:"build"` // the commit
	Host    string   `json:"host"`
	Data    []string `json:"data"` // checksums of the sets
	Workers int      `json:"workers"`
	Cores   int      `json:"cores"`
	GPU     bool     `json:"gpu"`

	Given map[string]string `json:"given,omitempty"` // settings, by name
}

// agreeOn has node 0 look at what all nodes say, and gives every node its verdict, with the body that
// node 0 adds to it.
func (p *group) agreeOn(g nodeInfo, own error, look func(all []nodeInfo) ([]byte, error)) ([]byte, error) {
	g.Version, g.Build, g.Host = config.Version, rundir.Commit(), p.place.Host
	if own != nil {
		g.Error, g.Usage = own.Error(), errors.Is(own, config.ErrUsage)
	}
	text, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	texts, err := p.engine.Gather(text)
	if err != nil {
		return nil, errors.Join(own, err)
	}
	var v decision
	if p.First() {
		v = p.verdictOn(texts, look)
	}
	if err := p.give(&v); err != nil {
		return nil, errors.Join(own, err)
	}
	if own == nil && v.Error != "" && p.First() && v.From == 0 {
		own = v.own()
	}
	return v.Body, v.refusal(own, p)
}

// own returns the verdict's error as the node that has it reports it.
func (v *decision) own() error {
	if v.Usage {
		return config.Usage("%s", v.Error)
	}
	return errors.New(v.Error)
}

// verdictOn returns node 0's verdict on what the nodes say of themselves.
func (p *group) verdictOn(texts [][]byte, look func([]nodeInfo) ([]byte, error)) (v decision) {
	all := make([]nodeInfo, len(texts))
	for i, text := range texts {
		if err := json.Unmarshal(text, &all[i]); err != nil {
			all[i].Error = err.Error()
		}
		if g := &all[i]; g.Error != "" {
			return decision{Error: g.Error, Usage: g.Usage, From: i}
		}
		if g := &all[i]; g.Version != config.Version {
			return decision{Error: fmt.Sprintf("it is hogwild %s, node 0 is %s: install one version on all nodes",
				g.Version, config.Version), Usage: true, From: i}
		}
	}
	if look == nil {
		return v
	}
	var err error
	v.Body, err = look(all)
	v.fail(0, err)
	return v
}

// Agree returns once all nodes have come to it without an error, and refuses a job whose nodes were given different
// settings.
func (p *group) Agree(given map[string]string, own error) error {
	_, err := p.agreeOn(nodeInfo{Given: given}, own, sameSettings)
	return err
}

// sameSettings refuses different ones: node 0's would hold for all.
func sameSettings(all []nodeInfo) ([]byte, error) {
	for i, g := range all {
		var differ []string
		either := map[string]string{}
		maps.Copy(either, all[0].Given)
		maps.Copy(either, g.Given)
		for _, name := range slices.Sorted(maps.Keys(either)) {
			if mine, first := cmp.Or(g.Given[name], "not given"), cmp.Or(all[0].Given[name],
				"not given"); mine != first {
				differ = append(differ, fmt.Sprintf("%s %s (node 0: %s)", name, mine, first))
			}
		}
		if differ != nil {
			return nil, config.Usage("node %d (%s) was started with other settings than node 0 (%s): %s; give all "+
				"nodes the same",
				i, g.Host, all[0].Host, strings.Join(differ, ", "))
		}
	}
	return nil, nil
}

// otherBuilds returns a line that names a node whose program is of another commit than node 0's; "" if there is none.
func otherBuilds(all []nodeInfo) string {
	for i, g := range all {
		if g.Build != all[0].Build {
			return fmt.Sprintf("node %d (%s) runs hogwild of commit %s, node 0 of %s: both are %s, but they may not "+
				"train alike; install one build on all nodes",
				i, g.Host, cmp.Or(g.Build, "unknown"), cmp.Or(all[0].Build, "unknown"), config.Version)
		}
	}
	return ""
}

// Adopt returns what this node is to do: node 0's settings, except a machine's.
func (p *group) Adopt(c config.Config) (config.Config, error) {
	body, err := p.Share(func() ([]byte, error) { return json.Marshal(c) })
	if err != nil {
		return c, err
	}
	own := c
	c = config.Config{}
	if err := json.Unmarshal(body, &c); err != nil {
		return c, err
	}
	p.keepOwn(&c, &own)
	return c, nil
}

// keepOwn sets what differs between nodes: the place, the resources, and the folder, which only node 0 has.
func (p *group) keepOwn(c, own *config.Config) {
	if own.Workers > 0 {
		c.Workers = own.Workers
	} else if c.Workers == 0 && !c.Mode.Traits().Simulated {
		c.Workers = p.place.Cores()
	}
	c.Node, c.Nodes = p.place.Node, p.place.Nodes
	c.HostNode, c.HostNodes = p.place.Local, p.place.OnHost
	c.GPU, c.GPUMemFree = own.GPU, own.GPUMemFree
	c.MaxMemory = own.MaxMemory
	c.Run = own.Run
	if !p.First() {
		c.Run = ""
	}
}

// Settle makes this run one node of the job, once its data are read or could not be: the data are the same on all
// nodes, and the settings that follow from them node 0's. What a run decides for itself is decided for the node with
// the most workers.
func (p *group) Settle(job *tuning.Job, data []string, own error,
	choose func(*config.Config, int) (tuning.Tuning, error)) (note string, err error) {
	g := nodeInfo{Workers: job.Asked.Workers, Cores: machine.Cores(), GPU: job.Asked.GPU != "", Data: data}
	body, err := p.agreeOn(g, own, func(all []nodeInfo) ([]byte, error) {
		note = otherBuilds(all)
		c, cores, err := p.common(job.Asked, all)
		if err != nil {
			return nil, err
		}
		t, err := choose(&c, cores)
		if err != nil {
			return nil, err
		}
		return json.Marshal(tuning.Job{Asked: job.Asked, Used: t})
	})
	if err != nil {
		return note, err
	}
	mine := job.Asked
	if err := json.Unmarshal(body, job); err != nil {
		return note, err
	}
	p.keepOwn(&job.Asked, &mine)
	return note, nil
}

// common returns the settings with the most workers of a node, and the fewest cores; or why these nodes cannot train
// together.
func (p *group) common(c config.Config, all []nodeInfo) (_ config.Config, cores int, err error) {
	cores = all[0].Cores
	for i, g := range all {
		for k, sum := range g.Data {
			if was := all[0].Data[k]; sum != was {
				return c, 0, config.Usage("data %s: node %d (%s) has other rows than node 0 (%s): checksum %s, there "+
					"%s; give all nodes the same files", c.Data, i, g.Host, all[0].Host, sum, was)
			}
		}
		if g.GPU != all[0].GPU {
			return c, 0, config.Usage("gpu: node %d (%s) and node 0 (%s) do not both train on GPUs: give --gpu to "+
				"all nodes, or to none", i, g.Host, all[0].Host)
		}
		if g.Workers != all[0].Workers && (c.Mode.Traits().Barrier || c.Partition == config.Contiguous) {
			return c, 0, config.Usage("workers: node %d (%s) has %d, node 0 %d: mode sync and partition contiguous "+
				"need as many on each; give --workers", i, g.Host, g.Workers, all[0].Workers)
		}
		c.Workers, cores = max(c.Workers, g.Workers), min(cores, g.Cores)
	}
	return c, cores, nil
}
