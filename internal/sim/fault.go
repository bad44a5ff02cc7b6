package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is one thing that an engine, or what stands around it, does wrong on purpose. It was written down
// before any check existed: what it does, which check must see it, and what a harness without that check would
// report.
type Fault struct {
	Name   string
	Family string
	// Does is one sentence.
	Does string
	// Value says what name=value sets and its default; empty where there is none.
	Value   string
	Default float64
	// Check is the check or gate of the judge that must catch it; empty for a fault that a sound harness measures through,
	// with nothing to catch and no number changed.
	Check string
	// Naive is the number that comes out wrong without the check, and in which direction.
	Naive string

	install func(e *Engine, value float64) hooks
}

// Families of faults.
const (
	FamilyCold      = "cold that is not cold"
	FamilyPhantom   = "reuse that did not happen"
	FamilyWrong     = "reuse that should not have happened"
	FamilyQuality   = "quality damage"
	FamilyTiming    = "timing tricks"
	FamilyTransport = "transport"
	FamilyEvidence  = "evidence damage"
)

// hooks are the places where a fault can act; nil ones are left alone. The first six run once for a job, under the engine's
// lock, in this order.
type hooks struct {
	before  func(c *call)              // a job is about to start; nothing of it is decided
	decide  func(c *call, d *decision) // what is reused
	charge  func(c *call, t *charge)   // what it costs
	answer  func(c *call, o *output)   // what is said to the prompt
	claim   func(c *call, a *claims)   // what is told about reuse
	deliver func(c *call, d *delivery) // how it reaches the client
	// reset sees a reset before it is carried out.
	reset func(c *call, r *resetCall)
	// line receives every line of a channel and returns what is written in its place.
	line func(channel string, line []byte) [][]byte
}

// call is one use of a fault.
type call struct {
	e     *Engine
	j     *job // nil for a reset
	name  string
	value float64
}

// act notes that the fault touched the job.
func (c *call) act() {
	if c.j != nil {
		c.j.act(c.name)
	}
}

// chance is true for a share of jobs, by seed and order of arrival.
func (c *call) chance(share float64) bool {
	return c.e.cfg.random(c.name, c.j.index).Float64() < share
}

// active is a fault that an engine has.
type active struct {
	Fault
	value float64
	hooks hooks
}

// Faults is the table of all faults, family by family.
func Faults() []Fault {
	var out []Fault
	for _, family := range []struct {
		name   string
		faults []Fault
	}{
		{FamilyCold, coldFaults()}, {FamilyPhantom, phantomFaults()}, {FamilyWrong, wrongFaults()}, {FamilyQuality, qualityFaults()},
		{FamilyTiming, timingFaults()}, {FamilyTransport, transportFaults()}, {FamilyEvidence, evidenceFaults()},
	} {
		for _, f := range family.faults {
			f.Family = family.name
			out = append(out, f)
		}
	}
	return out
}

// ActiveFault is a fault with the value that it was asked for.
type ActiveFault struct {
	Fault
	Set float64
}

// ParseFaults reads names or name=value, in order. Empty words are skipped. An unknown name is an error that lists the
// known ones; a value must be a finite number from 0 on.
func ParseFaults(specs []string) ([]ActiveFault, error) {
	table := Faults()
	var out []ActiveFault
	for _, spec := range specs {
		if spec = strings.TrimSpace(spec); spec == "" {
			continue
		}
		name, text, valued := strings.Cut(spec, "=")
		i := slices.IndexFunc(table, func(f Fault) bool { return f.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("parsing faults: %q is unknown, known are %s", name, strings.Join(faultNames(table), ", "))
		}
		f := ActiveFault{table[i], table[i].Default}
		if valued {
			if f.Value == "" {
				return nil, fmt.Errorf("parsing faults: %s takes no value", name)
			}
			value, err := strconv.ParseFloat(text, 64)
			if err != nil || !(value >= 0 && value <= 1e9) {
				return nil, fmt.Errorf("parsing faults: %s=%s: want a number from 0 to 1e9 (%s)", name, text, f.Value)
			}
			f.Set = value
		}
		out = append(out, f)
	}
	return out, nil
}

func faultNames(table []Fault) []string {
	names := make([]string, len(table))
	for i, f := range table {
		names[i] = f.Name
	}
	return names
}

func activate(faults []ActiveFault, e *Engine) []active {
	out := make([]active, len(faults))
	for i, f := range faults {
		out[i] = active{f.Fault, f.Set, f.install(e, f.Set)}
	}
	return out
}

// each calls do with the hooks of every fault, in the order in which they were asked for.
func (e *Engine) each(j *job, do func(h hooks, c *call)) {
	for _, a := range e.faults {
		do(a.hooks, &call{e, j, a.Name, a.value})
	}
}

func run[T any](hook func(*call, T), c *call, v T) {
	if hook != nil {
		hook(c, v)
	}
}
