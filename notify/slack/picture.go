package slack

import (
	"bytes"
	imgcolor "image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// png draws the course for workspaces without Slack's own charts: 960 by 360
// points at 96 dots an inch, which a phone shows without scrolling.
func (s *Series) png() ([]byte, error) {
	p := plot.New()
	p.Title.Text = s.Title
	p.Y.Label.Text = cut(oneLine(s.Unit), 50)
	p.X.Tick.Marker = plot.TimeTicks{Format: "15:04"}
	p.Y.Min = 0
	p.Legend.Top = true
	add := func(name string, values []float64, c imgcolor.RGBA, dashes ...vg.Length) error {
		var pts plotter.XYs
		for i, v := range values {
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				pts = append(pts, plotter.XY{X: float64(s.Times[i].Unix()), Y: v})
			}
		}
		if len(pts) == 0 {
			return nil
		}
		line, err := plotter.NewLine(pts)
		if err != nil {
			return err
		}
		line.Color, line.Width, line.Dashes = c, vg.Points(2), dashes
		p.Add(line)
		p.Legend.Add(name, line)
		return nil
	}
	// Dashes tell the lines apart where colours cannot.
	if err := add(peersName(s.Peers), s.Median, imgcolor.RGBA{R: 0x1d, G: 0x6f, B: 0xb8, A: 0xff}, vg.Points(6), vg.Points(3)); err != nil {
		return nil, err
	}
	if err := add("suspect", s.Suspect, imgcolor.RGBA{R: 0xe0, G: 0x1e, B: 0x5a, A: 0xff}); err != nil {
		return nil, err
	}
	if at := s.Onset; !at.Before(s.Times[0]) && !at.After(s.Times[len(s.Times)-1]) {
		mark, err := plotter.NewLine(plotter.XYs{{X: float64(at.Unix()), Y: 0}, {X: float64(at.Unix()), Y: p.Y.Max}})
		if err != nil {
			return nil, err
		}
		mark.Color, mark.Dashes = imgcolor.Gray{Y: 0x60}, []vg.Length{vg.Points(2), vg.Points(2)}
		p.Add(mark)
		p.Legend.Add("onset "+hm(at)+" UTC", mark)
	}
	w, err := p.WriterTo(10*vg.Inch, 3.75*vg.Inch, "png")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	_, err = w.WriteTo(&b)
	return b.Bytes(), err
}
