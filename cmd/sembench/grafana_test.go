package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"sembench/internal/sim"
)

// Every counter that the dashboard asks for is one that an engine of that voice serves.
func TestDashboardNamesRealCounters(t *testing.T) {
	text, err := os.ReadFile("../../packaging/grafana/vllm.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil || len(dashboard.Panels) == 0 {
		t.Fatalf("%d panels, %v", len(dashboard.Panels), err)
	}
	engine, err := sim.New(sim.Default())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(engine.Handler())
	defer server.Close()
	response, err := http.Get(server.URL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			names := regexp.MustCompile(`vllm:[a-z_]+|process_start_time_seconds`).FindAllString(target.Expr, -1)
			if len(names) == 0 {
				t.Errorf("%s: %q asks for no counter", panel.Title, target.Expr)
			}
			for _, name := range names {
				if !strings.Contains(string(page), "\n"+name+"{") && !strings.Contains(string(page), "\n"+name+" ") {
					t.Errorf("%s: no engine serves %s", panel.Title, name)
				}
			}
		}
	}
}
