package fakeslack

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Message is a message as people see it.
type Message struct {
	N           int    // 1 is the first of the workspace
	Channel     string // id
	ChannelName string
	TS          string
	Thread      string // ts of the parent, "" for a message of its own
	Broadcast   bool   // also shown in the channel
	Text        string // what the phone shows
	Body        string // all blocks as text, a line each
	Color       string // of the bar, such as #2eb67d
	Edits       int
	Deleted     bool
	Webhook     bool
	Posted      time.Time

	metadata string
	payload  payload // as it looks now
}

// payload is what chat.postMessage, chat.update and a webhook have in common.
type payload struct {
	Text        string            `json:"text"`
	Blocks      []json.RawMessage `json:"blocks"`
	Attachments []attachment      `json:"attachments"`
}

type attachment struct {
	Color    string            `json:"color"`
	Title    string            `json:"title"`
	Fallback string            `json:"fallback"`
	Text     string            `json:"text"`
	Blocks   []json.RawMessage `json:"blocks"`
}

// legacy says that all is in attachments without blocks, as Alertmanager writes:
// then the phone shows their fallback.
func (p *payload) legacy() bool {
	return len(p.Blocks) == 0 && len(p.Attachments) > 0 && !slices.ContainsFunc(p.Attachments, func(a attachment) bool { return len(a.Blocks) > 0 })
}

// phone is what the lock screen shows.
func (p *payload) phone() string {
	if p.Text == "" && p.legacy() {
		return p.Attachments[0].Fallback
	}
	return p.Text
}

func payloadOf(form url.Values) (payload, string) {
	p := payload{Text: form.Get("text")}
	if raw := form.Get("blocks"); raw != "" && json.Unmarshal([]byte(raw), &p.Blocks) != nil {
		return p, "invalid_blocks_format"
	}
	if raw := form.Get("attachments"); raw != "" && json.Unmarshal([]byte(raw), &p.Attachments) != nil {
		return p, "invalid_attachments"
	}
	return p, ""
}

func (s *Server) postMessage(w http.ResponseWriter, form url.Values) {
	const method = "chat.postMessage"
	name := strings.TrimPrefix(form.Get("channel"), "#")
	if s.former[name] {
		s.logf("%s #%s -> channel_not_found\n", method, name)
		s.refuse(w, method, "channel_not_found")
		return
	}
	id := s.channel(name)
	p, code := payloadOf(form)
	body, color, limit := s.check(&p)
	switch {
	case name == "":
		code = "channel_not_found"
	case s.archived[id]:
		code = "is_archived"
	case code == "":
		code = limit
	}
	thread := form.Get("thread_ts")
	if code == "" && thread != "" && s.find(id, thread) == nil {
		code = "thread_not_found"
	}
	if code != "" {
		s.logf("%s #%s -> %s\n", method, s.names[id], code)
		s.refuse(w, method, code)
		return
	}
	if s.crowded(id) {
		s.logf("%s #%s -> 429, too fast\n", method, s.names[id])
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	m := s.add(id, p.phone(), body, color)
	m.payload = p
	m.Thread, m.Broadcast = thread, form.Get("reply_broadcast") == "true"
	m.metadata = form.Get("metadata")
	s.logMessage(method, m)
	s.answer(w, map[string]any{"channel": id, "ts": m.TS, "message": map[string]any{"text": m.Text, "ts": m.TS}})
}

func (s *Server) add(channel, text, body, color string) *Message {
	m := &Message{
		N: len(s.messages) + 1, Channel: channel, ChannelName: s.names[channel], TS: s.stamp(), Text: text, Body: body,
		Color: color, Posted: s.now(),
	}
	s.messages = append(s.messages, m)
	return m
}

func (s *Server) update(w http.ResponseWriter, form url.Values) {
	const method = "chat.update"
	id := form.Get("channel")
	m := s.find(id, form.Get("ts"))
	p, code := payloadOf(form)
	body, color, limit := s.check(&p)
	switch {
	case s.names[id] == "":
		code = "channel_not_found" // an edit needs the id, never the name
	case s.archived[id]:
		code = "is_archived"
	case m == nil:
		code = "message_not_found"
	case code == "":
		code = limit
	}
	if code != "" {
		s.logf("%s #%s -> %s\n", method, s.names[id], code)
		s.refuse(w, method, code)
		return
	}
	m.Text, m.Body, m.Color, m.payload = p.Text, body, color, p
	if raw := form.Get("metadata"); raw != "" {
		m.metadata = raw
	}
	m.Edits++
	s.logMessage(method, m)
	s.answer(w, map[string]any{"channel": id, "ts": m.TS, "text": m.Text})
}

// history answers conversations.history and .replies, the newest first.
func (s *Server) history(w http.ResponseWriter, form url.Values) {
	id, thread := form.Get("channel"), form.Get("ts")
	oldest, latest := form.Get("oldest"), form.Get("latest")
	out := []map[string]any{}
	for _, m := range slices.Backward(s.messages) {
		if m.Channel != id || m.Deleted || m.Thread != thread && m.TS != thread || m.TS < oldest || latest != "" && m.TS > latest {
			continue
		}
		item := map[string]any{"type": "message", "ts": m.TS, "text": m.Text}
		var meta map[string]any
		if form.Get("include_all_metadata") == "1" && json.Unmarshal([]byte(m.metadata), &meta) == nil {
			item["metadata"] = meta
		}
		out = append(out, item)
	}
	limit, err := strconv.Atoi(form.Get("limit"))
	if err != nil || limit < 1 || limit > 999 {
		limit = 100
	}
	from, _ := strconv.Atoi(form.Get("cursor"))
	from = min(max(from, 0), len(out))
	to, next := min(from+limit, len(out)), ""
	if to < len(out) {
		next = strconv.Itoa(to)
	}
	s.answer(w, map[string]any{
		"messages": out[from:to], "has_more": next != "", "response_metadata": map[string]any{"next_cursor": next},
	})
}

// conversations answers users.conversations: the channels that anything was
// posted to, a page each to have cursors tried.
func (s *Server) conversations(w http.ResponseWriter, form url.Values) {
	ids := slices.Sorted(maps.Keys(s.names))
	i, _ := strconv.Atoi(form.Get("cursor"))
	channels, next := []map[string]any{}, ""
	if i >= 0 && i < len(ids) {
		channels = append(channels, map[string]any{"id": ids[i], "name": s.names[ids[i]]})
	}
	if i+1 < len(ids) {
		next = strconv.Itoa(i + 1)
	}
	s.answer(w, map[string]any{"channels": channels, "response_metadata": map[string]any{"next_cursor": next}})
}

func (s *Server) webhook(w http.ResponseWriter, r *http.Request) {
	id := s.channel("hook")
	var p payload
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
		s.hookRefuse(w, http.StatusBadRequest, "invalid_payload")
		return
	}
	body, color, limit := s.check(&p)
	switch {
	case s.archived[id]:
		s.hookRefuse(w, http.StatusGone, "channel_is_archived")
	case limit != "":
		s.hookRefuse(w, http.StatusBadRequest, limit)
	case s.crowded(id):
		w.Header().Set("Retry-After", "1")
		s.hookRefuse(w, http.StatusTooManyRequests, "rate_limited")
	default:
		m := s.add(id, p.phone(), body, color)
		m.Webhook = true
		s.logMessage("webhook", m)
		_, _ = fmt.Fprint(w, "ok")
	}
}

func (s *Server) hookRefuse(w http.ResponseWriter, status int, code string) {
	s.logf("webhook -> %d %s\n", status, code)
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, code)
}

func (s *Server) answer(w http.ResponseWriter, fields map[string]any) {
	fields["ok"] = true
	s.json(w, fields)
}

func (s *Server) refuse(w http.ResponseWriter, _, code string) {
	s.json(w, map[string]any{"ok": false, "error": code})
}

func (s *Server) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) logMessage(method string, m *Message) {
	where := "#" + m.ChannelName
	if m.Thread != "" {
		if parent := s.find(m.Channel, m.Thread); parent != nil {
			where += fmt.Sprintf(", thread of #%d", parent.N)
		}
	}
	if m.Broadcast {
		where += ", broadcast"
	}
	s.logf("%s %s -> #%d\n", method, where, m.N)
	s.logf("  text: %s\n", indent(m.Text))
	if m.Color != "" {
		s.logf("  color: %s\n", m.Color)
	}
	if m.Body != "" {
		s.logf("%s\n", "  "+strings.ReplaceAll(m.Body, "\n", "\n  "))
	}
}

func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n        ") }
