package fakeslack

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// AppToken is the app token that opens a connection for Socket Mode.
const AppToken = "xapp-fake-token"

// Press lets a person press a button, or choose from a menu if choice is set. It
// needs a server made by Start and returns an error if nobody is connected.
func (s *Server) Press(user, name, channel, action, value, choice string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.socket == nil {
		return errors.New("nobody is connected")
	}
	a := map[string]any{"type": "button", "action_id": action, "block_id": "b", "value": value}
	if choice != "" {
		a["type"], a["selected_option"] = "static_select", map[string]any{"value": choice}
	}
	s.envelopes++
	return s.socket.WriteJSON(map[string]any{
		"type": "interactive", "envelope_id": strconv.Itoa(s.envelopes), "accepts_response_payload": true,
		"payload": map[string]any{
			"type": "block_actions", "user": map[string]any{"id": user, "name": name},
			"channel": map[string]any{"id": s.channel(channel)}, "actions": []any{a},
		},
	})
}

// Connected says that somebody holds a connection for Socket Mode.
func (s *Server) Connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.socket != nil
}

// Receipts is the number of envelopes that were acknowledged.
func (s *Server) Receipts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.receipts
}

// Group sets the members of a group of users.
func (s *Server) Group(id string, users ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.groups[id] = users
}

func (s *Server) openConnection(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+AppToken {
		s.refuse(w, "apps.connections.open", "invalid_auth")
		return
	}
	s.answer(w, map[string]any{"url": strings.Replace(s.base, "http", "ws", 1) + "/socket"})
}

// serveSocket holds a connection until the other side ends it.
func (s *Server) serveSocket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	s.mu.Lock()
	s.socket = conn
	_ = conn.WriteJSON(map[string]any{"type": "hello", "num_connections": 1})
	_ = conn.WriteControl(websocket.PingMessage, []byte("x"), time.Now().Add(time.Second))
	s.mu.Unlock()
	for {
		var receipt struct {
			ID string `json:"envelope_id"`
		}
		_, raw, err := conn.ReadMessage()
		s.mu.Lock()
		if err != nil {
			s.socket = nil
			s.mu.Unlock()
			return
		}
		if json.Unmarshal(raw, &receipt) == nil && receipt.ID != "" {
			s.receipts++
		}
		s.mu.Unlock()
	}
}

func (s *Server) ephemeral(w http.ResponseWriter, form url.Values) {
	c := &checker{}
	c.mrkdwn(form.Get("text"), maxText, "invalid_arguments")
	if c.code != "" {
		s.refuse(w, "chat.postEphemeral", c.code)
		return
	}
	s.logf("chat.postEphemeral to %s\n  text: %s\n", form.Get("user"), indent(form.Get("text")))
	s.answer(w, map[string]any{"message_ts": s.stamp()})
}

func (s *Server) members(w http.ResponseWriter, form url.Values) {
	users, ok := s.groups[form.Get("usergroup")]
	if !ok {
		s.refuse(w, "usergroups.users.list", "no_such_subteam")
		return
	}
	s.answer(w, map[string]any{"users": users})
}
