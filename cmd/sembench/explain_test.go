package main

import (
	"fmt"
	"strings"
	"testing"

	"sembench/internal/offline"
)

// Without colour no escape is printed, names cannot smuggle any in, and letters tell the fates apart.
func TestStripOnATerminal(t *testing.T) {
	x := offline.Explanation{ItemID: "evil\x1b[2J", Blocks: 70, BlockSize: 16, Strips: []offline.Strip{{Name: "span", Runs: []offline.Run{
		{Fate: offline.Prefix, First: 0, Last: 1, Donor: "d0", Places: 1}, {Fate: offline.Scattered, First: 2, Last: 65, Donor: "d1", DonorStart: 7, Places: 9},
		{Fate: offline.Recompute, First: 66, Last: 69},
	}}}}
	var plain, coloured strings.Builder
	if err := drawExplanation(&plain, x, false); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsRune(plain.String(), 0x1b) {
		t.Error("an escape is in plain text")
	}
	for _, want := range []string{"      0 PP" + strings.Repeat("s", 62) + "\n     64 ss....\n", "blocks 2-65   scattered   9 pieces from token 7 of donor d1 on"} {
		if !strings.Contains(plain.String(), want) {
			t.Errorf("%q is not in\n%s", want, plain.String())
		}
	}
	if err := drawExplanation(&coloured, x, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(coloured.String(), "\x1b[30;48;5;32mPP\x1b[0m") || strings.Contains(coloured.String(), "evil\x1b") {
		t.Errorf("coloured: %q", coloured.String())
	}
}

// The page names every look and nothing of another place.
func TestExplanationPageIsInert(t *testing.T) {
	var page strings.Builder
	x := offline.Explanation{ItemID: `"><script>alert(1)</script>`, Blocks: 1, BlockSize: 1, Texts: []string{`" onmouseover="x`},
		Strips: []offline.Strip{{Name: "exec:<i>", Runs: []offline.Run{{Fate: offline.SpanCopy, Donor: "<img src=x>", Places: 1}}}}}
	if err := explainPage.Execute(&page, pageOf(x)); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"<script", "<img", "<i>", `" onmouseover`, "ZgotmplZ", "http:", "https:", "url("} {
		if strings.Contains(page.String(), bad) {
			t.Errorf("%s is in the page", bad)
		}
	}
	for f, l := range looks {
		if !strings.Contains(page.String(), fmt.Sprintf(".strip .%s, .key .%s, td.%s { background: %s }", f, f, f, l.CSS)) {
			t.Errorf("%s has no colour", f)
		}
	}
}
