package web

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/collwatch/collwatch/incidents"
)

// row is an incident in a list.
type row struct {
	*incidents.Incident
	Title      string
	Suppressed string
}

type indexData struct {
	chrome
	Filter              string // job
	Live, Pending, Past []row
	Total, Page, Pages  int // of the past
	Newer, Older        string
	Evaluated           bool
	Series, Jobs, Blind int
}

func (s *Site) indexPage(w http.ResponseWriter, r *http.Request) {
	d := indexData{chrome: s.chrome("Incidents", "/"), Filter: r.URL.Query().Get("job")}
	var past []row
	for _, inc := range s.all() {
		if !harms(&inc, d.Filter) {
			continue
		}
		x := s.row(&inc)
		switch inc.State {
		case incidents.Pending:
			d.Pending = append(d.Pending, x)
		case incidents.Resolved:
			past = append(past, x)
		default:
			d.Live = append(d.Live, x)
		}
	}
	d.paginate(past, r.URL.Query().Get("page"))
	if st := s.opts.State(); st != nil {
		d.Evaluated, d.Series, d.Jobs, d.Blind = true, st.Series, len(st.Jobs), len(st.Blind)
	}
	s.show(w, "index", http.StatusOK, d)
}

func (s *Site) row(inc *incidents.Incident) row {
	return row{inc, s.opts.Renderer().Annotations(inc)["summary"], s.suppressed(inc)}
}

// paginate cuts out one page; a number that makes no sense is the first.
func (d *indexData) paginate(past []row, page string) {
	size := d.Settings.PageSize
	d.Total, d.Pages = len(past), max(1, (len(past)+size-1)/size)
	d.Page, _ = strconv.Atoi(page)
	d.Page = min(max(d.Page, 1), d.Pages)
	d.Past = past[(d.Page-1)*size : min(d.Page*size, len(past))]
	link := func(p int) string {
		q := url.Values{"page": {strconv.Itoa(p)}}
		if d.Filter != "" {
			q.Set("job", d.Filter)
		}
		return d.URL("/?" + q.Encode() + "#past")
	}
	if d.Page > 1 {
		d.Newer = link(d.Page - 1)
	}
	if d.Page < d.Pages {
		d.Older = link(d.Page + 1)
	}
}

// openByJob lists the incidents that go on, by the jobs they harm.
func (s *Site) openByJob() map[string][]row {
	out := map[string][]row{}
	for _, inc := range s.opts.Incidents().Live() {
		if !inc.Active() {
			continue
		}
		jobs := map[string]bool{inc.Verdict.Job: true}
		for _, j := range inc.Jobs {
			jobs[j] = true
		}
		for j := range jobs {
			out[j] = append(out[j], s.row(&inc))
		}
	}
	return out
}
