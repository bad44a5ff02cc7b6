package report

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// pictureColours are the light page's, by kind.
var pictureColours = map[string]color.Color{
	"used": rgb(0x14181d), "external": rgb(0x0f7f5c), "scatter": rgb(0x0f7f5c), "head": rgb(0x3f8fc9), "exact_external": rgb(0xd29a2e), "exact": rgb(0x5b83b5), "none": rgb(0x98a2ae), "unmeasured": rgb(0x98a2ae),
	"negative": rgb(0x7a55b8), "wrong_reuse": rgb(0xc9541a), "excluded": rgb(0xb3261e), "floor": rgb(0xc9541a), "arm-cold": rgb(0x4a6fa5), "arm-warm": rgb(0xc9541a), "arm-exact": rgb(0x98a2ae), "arm-sham": rgb(0x7a55b8),
	"arm-aa": rgb(0x3f8fc9), "arm-single": rgb(0x14181d), "canary-pass": rgb(0x0f7048), "canary-fail": rgb(0xb3261e), "t0": rgb(0x4477aa), "t1": rgb(0xcc6677), "t2": rgb(0x228833), "t3": rgb(0xaa8800), "t4": rgb(0x33a0c0),
	"t5": rgb(0xaa3377), "t6": rgb(0x777777), "t7": rgb(0xe07b39), "t8": rgb(0x7a6ff0), "t9": rgb(0x5a8f29),
}

func rgb(n uint32) color.Color {
	return color.NRGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 255}
}

func colourOf(kind string) color.Color {
	if c, ok := pictureColours[kind]; ok {
		return c
	}
	return pictureColours["none"]
}

// Picture draws a chart of Charts as png or svg, 18 by 12 cm, from the same points as the page. An error for an empty chart or
// another format.
func Picture(w io.Writer, c Chart, format string) error {
	if c.Empty != "" {
		return fmt.Errorf("drawing %s: %s", c.ID, c.Empty)
	}
	if format != "png" && format != "svg" {
		return fmt.Errorf("drawing %s: format %q is neither png nor svg", c.ID, format)
	}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X.Title, c.Y.Title
	p.Title.TextStyle.Font.Size, p.Title.Padding = 12, 6
	p.Legend.Top, p.Legend.TextStyle.Font.Size, p.Legend.Padding = true, 8, 1
	p.Legend.ThumbnailWidth = font.Length(10)
	p.Add(plotter.NewGrid())
	for i, s := range c.Series {
		if err := addSeries(p, s, i, c.Series[:i]); err != nil {
			return fmt.Errorf("drawing %s: %w", c.ID, err)
		}
	}
	setAxis(&p.X, c.X)
	setAxis(&p.Y, c.Y)
	for _, style := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		style.Variant = "Sans"
	}
	if err := addLines(p, c.Lines); err != nil {
		return fmt.Errorf("drawing %s: %w", c.ID, err)
	}
	// Room above the points for the legend, which gonum draws over them.
	if entries := float64(len(c.Series) + len(c.Lines)); p.Y.Scale != (plot.LogScale{}) {
		p.Y.Max += (p.Y.Max - p.Y.Min) * min(0.03*entries, 0.35)
	}
	height := vg.Length(12) * vg.Centimeter
	if n := len(c.Y.Categories); n > 12 {
		height = vg.Length(n) * vg.Centimeter
	}
	to, err := p.WriterTo(18*vg.Centimeter, height, format)
	if err != nil {
		return fmt.Errorf("drawing %s: %w", c.ID, err)
	}
	if _, err := to.WriteTo(w); err != nil {
		return fmt.Errorf("drawing %s: %w", c.ID, err)
	}
	return nil
}

func setAxis(axis *plot.Axis, a Axis) {
	axis.Label.TextStyle.Font.Size, axis.Tick.Label.Font.Size = 10, 8
	if len(a.Categories) > 0 {
		ticks := make([]plot.Tick, len(a.Categories))
		for i, name := range a.Categories {
			ticks[i] = plot.Tick{Value: float64(i), Label: name}
		}
		axis.Tick.Marker = plot.ConstantTicks(ticks)
		axis.Min, axis.Max = -0.5, float64(len(ticks))-0.5
		return
	}
	if a.Log {
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		return
	}
	if a.Zero {
		axis.Min = 0
	}
	if a.Max > 0 {
		axis.Max = a.Max
	}
	if axis.Min == axis.Max {
		axis.Min, axis.Max = axis.Min-0.5, axis.Max+0.5
	}
}

func addSeries(p *plot.Plot, s Series, nth int, before []Series) error {
	c := colourOf(s.Kind)
	points := make(plotter.XYs, len(s.Points))
	for i, q := range s.Points {
		points[i] = plotter.XY{X: q.X, Y: q.Y}
	}
	switch s.Shape {
	case "step":
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.StepStyle, line.Color, line.Width = plotter.PostStep, c, vg.Points(1.4)
		p.Add(line)
		p.Legend.Add(s.Name, line)
		return nil
	case "bars":
		return addBars(p, s, before)
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.Color, dots.Radius, dots.Shape = c, vg.Points(2.6), glyph(s.Kind)
	if s.Shape == "intervals" {
		dots.GlyphStyleFunc = func(i int) draw.GlyphStyle {
			style := draw.GlyphStyle{Color: c, Radius: vg.Points(2), Shape: glyph(s.Kind)}
			if s.Points[i].Row < 0 {
				style.Radius = vg.Points(4)
			}
			return style
		}
		for _, q := range s.Points {
			if err := addBounds(p, q, c); err != nil {
				return err
			}
		}
	}
	p.Add(dots)
	p.Legend.Add(s.Name, dots)
	return nil
}

func glyph(kind string) draw.GlyphDrawer {
	switch kind {
	case "negative":
		return draw.PyramidGlyph{}
	case "wrong_reuse":
		return draw.TriangleGlyph{}
	case "excluded":
		return draw.CrossGlyph{}
	}
	return draw.CircleGlyph{}
}

// addBounds draws a point's intervals.
func addBounds(p *plot.Plot, q Point, c color.Color) error {
	add := func(a, b plotter.XY) error {
		line, err := plotter.NewLine(plotter.XYs{a, b})
		if err != nil {
			return err
		}
		line.Color, line.Width = c, vg.Points(1.4)
		p.Add(line)
		return nil
	}
	if q.XLo != nil && q.XHi != nil {
		if err := add(plotter.XY{X: *q.XLo, Y: q.Y}, plotter.XY{X: *q.XHi, Y: q.Y}); err != nil {
			return err
		}
	}
	if q.YLo != nil && q.YHi != nil {
		return add(plotter.XY{X: q.X, Y: *q.YLo}, plotter.XY{X: q.X, Y: *q.YHi})
	}
	return nil
}

// addBars stacks a series of horizontal bars upon those before it.
func addBars(p *plot.Plot, s Series, before []Series) error {
	for i, q := range s.Points {
		from := 0.0
		for _, earlier := range before {
			from += earlier.Points[i].X
		}
		if q.X == 0 {
			continue
		}
		box, err := plotter.NewPolygon(plotter.XYs{{X: from, Y: q.Y - 0.33}, {X: from + q.X, Y: q.Y - 0.33}, {X: from + q.X, Y: q.Y + 0.33}, {X: from, Y: q.Y + 0.33}})
		if err != nil {
			return err
		}
		box.Color, box.LineStyle.Width = colourOf(s.Kind), 0
		p.Add(box)
	}
	swatch, err := plotter.NewPolygon(plotter.XYs{{X: 0, Y: 0}, {X: 0, Y: 0}, {X: 0, Y: 0}})
	if err != nil {
		return err
	}
	swatch.Color, swatch.LineStyle.Width = colourOf(s.Kind), 0
	p.Legend.Add(s.Name, swatch)
	return nil
}

// addLines draws reference lines over the whole of the axes as they are.
func addLines(p *plot.Plot, lines []Line) error {
	named := map[string]bool{}
	x0, x1, y0, y1 := p.X.Min, p.X.Max, p.Y.Min, p.Y.Max
	for _, l := range lines {
		var ends plotter.XYs
		switch l.Dir {
		case "x":
			ends = plotter.XYs{{X: l.At, Y: y0}, {X: l.At, Y: y1}}
		case "y":
			ends = plotter.XYs{{X: x0, Y: l.At}, {X: x1, Y: l.At}}
		case "diagonal":
			from, to := math.Max(x0, y0), math.Min(x1, y1)
			ends = plotter.XYs{{X: from, Y: from}, {X: to, Y: to}}
		}
		line, err := plotter.NewLine(ends)
		if err != nil {
			return err
		}
		line.Color, line.Width = colourOf(l.Kind), vg.Points(0.9)
		if !strings.HasPrefix(l.Kind, "canary") {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(line)
		if !named[l.Name] {
			p.Legend.Add(l.Name, line)
			named[l.Name] = true
		}
	}
	// A line may not widen what the points ask for.
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = min(x0, p.X.Min), max(x1, p.X.Max), min(y0, p.Y.Min), max(y1, p.Y.Max)
	return nil
}
