package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"

	"sembench/internal/scenario"
	"sembench/internal/sim"
)

// embedded is the embedded engine and its stock twin, listening on loopback. Everything after the start knows them by URL, log file and audit
// file alone, like any other engine.
type embedded struct {
	url, stockURL string
	stop          func() error
}

// startEmbedded starts the engine that the settings describe, writing its log and audit into the run directory, and a stock engine of the same
// law, without semantic layer and faults, for the exact arm.
func startEmbedded(ctx context.Context, s *scenario.Scenario, d runDir) (embedded, error) {
	log, err := appendTo(d.engineLog())
	if err != nil {
		return embedded{}, err
	}
	audit, err := appendTo(d.audit())
	if err != nil {
		return embedded{}, err
	}
	config := simConfig(s)
	config.Semantic, config.Log, config.Audit = true, log, audit
	stock := simConfig(s)
	stock.Semantic, stock.Faults = false, nil

	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 2)
	serve := func(c sim.Config) (string, error) {
		engine, err := sim.New(c)
		if err != nil {
			return "", usage(err, "see: sembench sim --list-faults")
		}
		listener, err := net.Listen("tcp", s.Listen)
		if err != nil {
			return "", usage(fmt.Errorf("starting the embedded engine on %s: %w", s.Listen, err), "choose another address with --listen")
		}
		go func() { ended <- errors.Join(engine.Serve(ctx, listener), engine.Err()) }()
		return "http://" + listener.Addr().String(), nil
	}
	e := embedded{}
	if e.url, err = serve(config); err != nil {
		cancel()
		return e, err
	}
	if e.stockURL, err = serve(stock); err != nil {
		cancel()
		return e, err
	}
	e.stop = func() error {
		cancel()
		return errors.Join(<-ended, <-ended, log.Close(), audit.Close())
	}
	return e, nil
}

// appendTo opens a file for whole lines, so that what was written survives a kill and a resumed run adds to it.
func appendTo(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, usage(err, "")
	}
	return file, nil
}
