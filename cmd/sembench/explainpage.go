package main

import (
	_ "embed"
	"fmt"
	"html/template"

	"sembench/internal/offline"
)

//go:embed explain.html
var explainHTML string

// explainPage is a page of its own: no script, nothing loaded, every text escaped.
var explainPage = template.Must(template.New("explain").Parse(explainHTML))

type explanationPage struct {
	offline.Explanation
	Looks []look
	Rows  []stripRow
}

type stripRow struct {
	Name, Summary string
	Cells         []cell
	Runs          []runLine
}

// cell is one block of a strip; Title is what a reader sees who points at it.
type cell struct{ Class, Letter, Title string }

type runLine struct{ Class, Blocks, Fate, Origin string }

func pageOf(x offline.Explanation) explanationPage {
	page := explanationPage{Explanation: x}
	for _, f := range offline.Fates {
		page.Looks = append(page.Looks, looks[f])
	}
	for _, strip := range x.Strips {
		row := stripRow{Name: strip.Name, Summary: summary(strip)}
		for _, run := range strip.Runs {
			shown := looks[run.Fate]
			row.Runs = append(row.Runs, runLine{shown.Name, span(run), shown.Name, origin(run)})
			for b := run.First; b <= run.Last; b++ {
				title := fmt.Sprintf("block %d, tokens %d to %d: %s", b, b*x.BlockSize, (b+1)*x.BlockSize-1, shown.Says)
				if from := origin(run); from != "" {
					title += "; " + from
				}
				if x.Texts != nil {
					title += "\n" + x.Texts[b]
				}
				row.Cells = append(row.Cells, cell{shown.Name, shown.Letter, title})
			}
		}
		page.Rows = append(page.Rows, row)
	}
	return page
}
