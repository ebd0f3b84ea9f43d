package fakeslack

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Token is the bot token that a new server accepts.
const Token = "xoxb-fake-token"

// hookPath is the path of the incoming webhook that posts into #hook.
const hookPath = "/services/T0/B0/fake-secret"

// Server is one workspace. All methods may be called from any goroutine.
type Server struct {
	now  func() time.Time
	base string

	mu       sync.Mutex
	token    string
	pace     time.Duration
	last     map[string]time.Time // newest message by channel id
	names    map[string]string    // channel id to name
	former   map[string]bool      // names that channels had
	archived map[string]bool
	messages []*Message
	stamps   int
	files    map[string]*file
	noCharts bool
	failures []failure
	log      strings.Builder
	calls    map[string]int

	socket    *websocket.Conn
	envelopes int
	receipts  int
	groups    map[string][]string
}

// failure is a planned answer.
type failure struct {
	method, code string
	retry        time.Duration
	lost         bool
	times        int
}

// New returns a workspace with an injected clock, an http.Handler for tests in
// fake time.
func New(now func() time.Time) *Server {
	return &Server{
		now: now, base: "http://slack.test", token: Token, pace: 900 * time.Millisecond,
		last: map[string]time.Time{}, names: map[string]string{}, former: map[string]bool{}, archived: map[string]bool{},
		files: map[string]*file{}, calls: map[string]int{}, groups: map[string][]string{},
	}
}

// Start serves a workspace on a local port until the test ends. The token is
// Token.
func Start(t testing.TB) *Server {
	t.Helper()
	s := New(time.Now)
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.base = srv.URL
	return s
}

// URL is the address of the Web API, for the key slack.api_url.
func (s *Server) URL() string { return s.base + "/api/" }

// Webhook is the address of an incoming webhook of channel #hook.
func (s *Server) Webhook() string { return s.base + hookPath }

// Messages are copies of all messages, deleted ones included, in the order in
// which they were posted and as they look now.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Message, len(s.messages))
	for i, m := range s.messages {
		out[i] = *m
	}
	return out
}

// Transcript lists all calls that changed or asked something, with the texts
// that people see. Messages are called #1, #2 and so on.
func (s *Server) Transcript() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Forget drops the transcript, all files and the messages posted before a time,
// so that a test of many days measures what it tests.
func (s *Server) Forget(before time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log.Reset()
	clear(s.files)
	s.messages = slices.DeleteFunc(s.messages, func(m *Message) bool { return m.Posted.Before(before) })
}

// Calls is the number of calls of a method, failed ones included.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[method]
}

// Fail lets the next calls of a method fail with an error name of Slack's, such
// as "internal_error", or "500" for a bare status. A method "" is any.
func (s *Server) Fail(method, code string, times int) {
	s.plan(failure{method: method, code: code, times: times})
}

// LimitRate answers the next calls with 429 and Retry-After.
func (s *Server) LimitRate(method string, retry time.Duration, times int) {
	s.plan(failure{method: method, retry: retry, times: times})
}

// LoseAnswers does what the next calls ask and then breaks the connection.
func (s *Server) LoseAnswers(method string, times int) {
	s.plan(failure{method: method, lost: true, times: times})
}

func (s *Server) plan(f failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, f)
}

// Heal forgets all planned failures.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = nil
}

// Rotate makes another token the only good one.
func (s *Server) Rotate(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token = token
}

// Archive archives a channel by its name, or brings it back.
func (s *Server) Archive(channel string, archived bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.archived[s.channel(channel)] = archived
}

// Rename gives a channel another name: nothing is found by the former one.
func (s *Server) Rename(channel, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[s.channel(channel)] = name
	s.former[strings.TrimPrefix(channel, "#")] = true
}

// Chat lets people write many messages in a channel at once.
func (s *Server) Chat(channel string, messages int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range messages {
		s.add(s.channel(channel), "what is going on?", "", "")
	}
}

// RefuseCharts lets data_visualization blocks be invalid, as in a workspace that
// does not have them yet.
func (s *Server) RefuseCharts() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noCharts = true
}

// Pace sets the least time between two messages in a channel; 0 is none.
func (s *Server) Pace(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace = d
}

// Delete removes a message as a person would.
func (s *Server) Delete(ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.TS == ts {
			m.Deleted = true
			s.logf("a person deletes #%d\n", m.N)
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/socket" {
		s.serveSocket(w, r)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	method, isAPI := strings.CutPrefix(r.URL.Path, "/api/")
	switch {
	case r.URL.Path == hookPath:
		method = "webhook"
	case strings.HasPrefix(r.URL.Path, "/upload/"):
		method = "upload"
	case !isAPI:
		http.NotFound(w, r)
		return
	}
	s.calls[method]++
	f := s.planned(method)
	switch {
	case f != nil && f.retry > 0:
		s.logf("%s -> 429\n", method)
		w.Header().Set("Retry-After", strconv.Itoa(int(f.retry.Seconds())))
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case f != nil && f.code != "":
		s.logf("%s -> %s\n", method, f.code)
		if status, err := strconv.Atoi(f.code); err == nil {
			w.WriteHeader(status)
			return
		}
		s.refuse(w, method, f.code)
		return
	case f != nil && f.lost:
		s.logf("(the answer is lost) ")
		s.handle(httptest.NewRecorder(), r, method)
		panic(http.ErrAbortHandler)
	}
	s.handle(w, r, method)
}

func (s *Server) planned(method string) *failure {
	for i := range s.failures {
		f := &s.failures[i]
		if (f.method == "" || f.method == method) && f.times > 0 {
			f.times--
			return f
		}
	}
	return nil
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request, method string) {
	switch method {
	case "webhook":
		s.webhook(w, r)
		return
	case "upload":
		s.upload(w, r)
		return
	}
	if err := r.ParseForm(); err != nil {
		s.refuse(w, method, "invalid_form_data")
		return
	}
	if method == "apps.connections.open" {
		s.openConnection(w, r)
		return
	}
	if !s.authorized(r) {
		s.logf("%s -> invalid_auth\n", method)
		s.refuse(w, method, "invalid_auth")
		return
	}
	switch method {
	case "auth.test":
		s.answer(w, map[string]any{"url": s.base, "team": "Fake", "user": "collwatch", "team_id": "T0", "user_id": "U0BOT", "bot_id": "B0BOT"})
	case "chat.postMessage":
		s.postMessage(w, r.Form)
	case "chat.update":
		s.update(w, r.Form)
	case "conversations.history", "conversations.replies":
		s.history(w, r.Form)
	case "users.conversations":
		s.conversations(w, r.Form)
	case "chat.postEphemeral":
		s.ephemeral(w, r.Form)
	case "usergroups.users.list":
		s.members(w, r.Form)
	case "files.getUploadURLExternal":
		s.uploadURL(w, r.Form)
	case "files.completeUploadExternal":
		s.completeUpload(w, r.Form)
	default:
		s.refuse(w, method, "unknown_method")
	}
}

func (s *Server) authorized(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		token = r.Form.Get("token")
	}
	return token == s.token
}

// channel returns the id of a channel by name or id.
func (s *Server) channel(name string) string {
	if _, known := s.names[name]; known {
		return name
	}
	name = strings.TrimPrefix(name, "#")
	id := name
	if !strings.HasPrefix(name, "C0") {
		sum := sha256.Sum256([]byte(name))
		id = "C0" + strings.ToUpper(hex.EncodeToString(sum[:4]))
	}
	s.names[id] = name
	return id
}

// crowded says that a channel got a message less than the pace ago, and counts
// this one if not.
func (s *Server) crowded(channel string) bool {
	now := s.now()
	if last, ok := s.last[channel]; ok && now.Sub(last) < s.pace {
		return true
	}
	s.last[channel] = now
	return false
}

// stamp returns a unique ts that rises.
func (s *Server) stamp() string {
	s.stamps++
	return fmt.Sprintf("%d.%06d", s.now().Unix(), s.stamps)
}

func (s *Server) find(channel, ts string) *Message {
	for _, m := range s.messages {
		if m.Channel == channel && m.TS == ts && !m.Deleted {
			return m
		}
	}
	return nil
}

func (s *Server) logf(format string, args ...any) { fmt.Fprintf(&s.log, format, args...) }

func first(v url.Values, names ...string) string {
	for _, n := range names {
		if x := v.Get(n); x != "" {
			return x
		}
	}
	return ""
}
