package fakeslack

import (
	"encoding/json"
	"fmt"
	"strings"
)

// chart checks a data_visualization block with series.
func (c *checker) chart(b *block) {
	c.charts++
	if c.noCharts || c.charts > maxCharts || b.Title == "" || length(b.Title) > 50 {
		c.fail("invalid_blocks")
	}
	var ch struct {
		Type   string `json:"type"`
		Series []struct {
			Name string `json:"name"`
			Data []struct {
				Label string  `json:"label"`
				Value float64 `json:"value"`
			} `json:"data"`
		} `json:"series"`
		Axis struct {
			Categories []string `json:"categories"`
			X          string   `json:"x_label"`
			Y          string   `json:"y_label"`
		} `json:"axis_config"`
	}
	if json.Unmarshal(b.Chart, &ch) != nil {
		c.fail("invalid_blocks")
		return
	}
	known := map[string]bool{}
	for _, name := range ch.Axis.Categories {
		if name == "" || length(name) > 20 || known[name] {
			c.fail("invalid_blocks")
		}
		known[name] = true
	}
	if !strings.Contains("line bar area", ch.Type) || len(ch.Series) == 0 || len(ch.Series) > 6 || len(known) == 0 ||
		length(ch.Axis.X) > 50 || length(ch.Axis.Y) > 50 {
		c.fail("invalid_blocks")
	}
	names := map[string]bool{}
	for _, s := range ch.Series {
		if s.Name == "" || length(s.Name) > 20 || names[s.Name] || len(s.Data) > 20 || len(s.Data) != len(known) {
			c.fail("invalid_blocks")
		}
		names[s.Name] = true
		for _, p := range s.Data {
			if !known[p.Label] {
				c.fail("invalid_blocks")
			}
		}
	}
	c.say("chart", fmt.Sprintf("%s, %d series of %d points", b.Title, len(ch.Series), len(known)))
}
