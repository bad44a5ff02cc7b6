package plan

import (
	"context"
	"errors"
	"time"

	"sembench"
)

type semblend struct {
	o Options
}

func newSemblend(o Options) *semblend { return &semblend{o: o} }

func (s *semblend) Name() string           { return "semblend" }
func (s *semblend) Reset() error           { return nil }
func (s *semblend) Register(d Donor) error { return nil }
func (s *semblend) Close() error           { return nil }
func (s *semblend) Plan(ctx context.Context, t Target) sembench.Plan {
	return finished(failed(started("semblend", s.o.BlockSize, t), errors.New("not built yet")), time.Duration(0))
}
