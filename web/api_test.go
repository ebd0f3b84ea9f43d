package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/collwatch/collwatch/engine"
)

func plain(t *testing.T, h http.Handler, path string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return rec
}

// schema is the part of JSON Schema that the description uses.
type schema struct {
	Ref        string             `json:"$ref"`
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Enum       []string           `json:"enum"`
	Required   []string           `json:"required"`
	Properties map[string]*schema `json:"properties"`
	Additional json.RawMessage    `json:"additionalProperties"`
	Items      *schema            `json:"items"`
	Text       string             `json:"description"`
}

type description struct {
	Paths map[string]map[string]struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema *schema `json:"schema"`
			} `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]*schema `json:"schemas"`
	} `json:"components"`
}

func describe(t *testing.T) *description {
	t.Helper()
	var d description
	require.NoError(t, json.Unmarshal(newRig().get(t, "/api/v1/openapi.json").Body.Bytes(), &d))
	require.NotEmpty(t, d.Paths)
	return &d
}

// check returns how v differs from what is described. seen collects the fields
// that occurred.
func (d *description) check(at string, s *schema, v any, seen map[string]bool) []string {
	if s.Ref != "" {
		name := s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
		return d.check(name, d.Components.Schemas[name], v, seen)
	}
	switch s.Type {
	case "object":
		m, ok := v.(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s is no object: %v", at, v)}
		}
		return d.checkObject(at, s, m, seen)
	case "array":
		list, ok := v.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is no array: %v", at, v)}
		}
		var out []string
		for _, x := range list {
			out = append(out, d.check(at+"[]", s.Items, x, seen)...)
		}
		return out
	case "string":
		text, ok := v.(string)
		_, err := time.Parse(time.RFC3339Nano, text)
		if !ok || (len(s.Enum) > 0 && !slices.Contains(s.Enum, text)) || (s.Format == "date-time" && (err != nil || !strings.HasSuffix(text, "Z"))) {
			return []string{fmt.Sprintf("%s is no %s of %v: %v", at, s.Format, s.Enum, v)}
		}
	case "integer", "number":
		x, ok := v.(float64)
		if !ok || (s.Type == "integer" && x != float64(int64(x))) {
			return []string{fmt.Sprintf("%s is no %s: %v", at, s.Type, v)}
		}
	case "boolean":
		if _, ok := v.(bool); !ok {
			return []string{fmt.Sprintf("%s is no boolean: %v", at, v)}
		}
	default:
		return []string{at + " has an unknown type " + s.Type}
	}
	return nil
}

func (d *description) checkObject(at string, s *schema, m map[string]any, seen map[string]bool) (out []string) {
	for _, name := range s.Required {
		if _, ok := m[name]; !ok {
			out = append(out, at+" lacks "+name)
		}
	}
	for name, v := range m {
		switch p := s.Properties[name]; {
		case p != nil:
			seen[at+"."+name] = true
			out = append(out, d.check(at+"."+name, p, v, seen)...)
		case string(s.Additional) == "false":
			out = append(out, at+" has "+name+", which is not described")
		case len(s.Additional) > 0:
			var a schema
			if json.Unmarshal(s.Additional, &a) == nil {
				out = append(out, d.check(at+"."+name, &a, v, seen)...)
			}
		}
	}
	return out
}

// Every path answers as described, and every described field occurs.
func TestAPIAnswersAsDescribed(t *testing.T) {
	d := describe(t)
	r := newRig()
	done := resolved()
	done.ResolveReason = "recovered"
	r.inc.past = append(r.inc.past, done)
	r.state.Coverage.Classes[1].Beside = "a topology"
	r.state.Coverage.Signals[0].Repairs = map[string]int{"percent": 2}
	seen := map[string]bool{}
	for path, methods := range d.Paths {
		require.Len(t, methods, 1, "the API is read-only")
		rec := r.get(t, strings.ReplaceAll(path, "{id}", "01J0OPEN"))
		require.Equal(t, http.StatusOK, rec.Code, path)
		require.Equal(t, "application/json; charset=utf-8", rec.Header().Get("Content-Type"))
		var v any
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &v), path)
		require.Empty(t, d.check(path, methods["get"].Responses["200"].Content["application/json"].Schema, v, seen), path)
	}
	for name, s := range d.Components.Schemas {
		for field, p := range s.Properties {
			require.NotEmpty(t, p.Text+p.Ref+string(p.Additional)+p.Type, "%s.%s is not explained", name, field)
			if name != "Error" {
				require.True(t, seen[name+"."+field], "no answer had %s.%s", name, field)
			}
		}
	}
}

func TestAPIErrorsAsDescribed(t *testing.T) {
	d := describe(t)
	r := newRig()
	r.state = nil
	for path, code := range map[string]int{"/api/v1/incidents": 400, "/api/v1/incidents/{id}": 404, "/api/v1/jobs": 503, "/api/v1/coverage": 503} {
		rec := r.get(t, strings.ReplaceAll(path, "{id}", "nobody")+"?state=nonsense")
		require.Equal(t, code, rec.Code, path)
		var v any
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &v))
		require.Empty(t, d.check(path, d.Paths[path]["get"].Responses[fmt.Sprint(code)].Content["application/json"].Schema, v, map[string]bool{}))
	}
}

func TestAPIFilters(t *testing.T) {
	ids := func(query string) []string {
		var got struct {
			Incidents []struct {
				ID string `json:"id"`
			} `json:"incidents"`
		}
		require.NoError(t, json.Unmarshal(newRig().get(t, "/api/v1/incidents"+query).Body.Bytes(), &got))
		require.NotNil(t, got.Incidents)
		var out []string
		for _, i := range got.Incidents {
			out = append(out, i.ID)
		}
		return out
	}
	require.Equal(t, []string{"01J0OPEN", "01J0TIED", "01J0PEND", "01J0DONE"}, ids(""))
	require.Equal(t, []string{"01J0OPEN", "01J0TIED"}, ids("?state=open"))
	require.Equal(t, []string{"01J0DONE"}, ids("?state=resolved"))
	require.Equal(t, []string{"01J0TIED"}, ids("?job=48214"))
	rec := newRig().get(t, "/api/v1/incidents?state=nonsense")
	require.Equal(t, http.StatusBadRequest, rec.Code)
	require.JSONEq(t, `{"error":"state is one of pending, open, latched, resolved"}`, rec.Body.String())
}

func TestAPIWithoutEvaluations(t *testing.T) {
	r := newRig()
	r.ticks = []engine.Tick{}
	require.JSONEq(t, `{"evaluations":[]}`, r.get(t, "/api/v1/evaluations").Body.String())
}
