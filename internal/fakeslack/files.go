package fakeslack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// file is an upload on its way.
type file struct {
	name string
	size int
	got  int
}

func (s *Server) uploadURL(w http.ResponseWriter, form url.Values) {
	size, err := strconv.Atoi(form.Get("length"))
	if err != nil || size <= 0 || form.Get("filename") == "" {
		s.refuse(w, "files.getUploadURLExternal", "invalid_arguments")
		return
	}
	id := fmt.Sprintf("F%03d", len(s.files)+1)
	s.files[id] = &file{name: form.Get("filename"), size: size}
	s.answer(w, map[string]any{"upload_url": s.base + "/upload/" + id, "file_id": id})
}

func (s *Server) upload(w http.ResponseWriter, r *http.Request) {
	f := s.files[strings.TrimPrefix(r.URL.Path, "/upload/")]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	var body io.Reader = r.Body
	if mr, err := r.MultipartReader(); err == nil {
		part, err := mr.NextPart()
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = part
	}
	n, _ := io.Copy(io.Discard, body)
	f.got = int(n)
	_, _ = fmt.Fprintf(w, "OK - %d", n)
}

func (s *Server) completeUpload(w http.ResponseWriter, form url.Values) {
	const method = "files.completeUploadExternal"
	var list []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(form.Get("files")), &list) != nil || len(list) == 0 {
		s.refuse(w, method, "invalid_arguments")
		return
	}
	id, thread := first(form, "channel_id", "channels"), form.Get("thread_ts")
	var out []map[string]any
	for _, l := range list {
		f := s.files[l.ID]
		switch {
		case f == nil || f.got != f.size:
			s.refuse(w, method, "file_not_found")
			return
		case s.names[id] == "":
			s.refuse(w, method, "channel_not_found")
			return
		case thread != "" && s.find(id, thread) == nil:
			s.refuse(w, method, "thread_not_found")
			return
		}
		m := s.add(id, "file "+f.name+": "+l.Title, "", "")
		m.Thread = thread
		s.logMessage(method, m)
		out = append(out, map[string]any{"id": l.ID, "title": l.Title})
	}
	s.answer(w, map[string]any{"files": out})
}
