#include "ring.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void tune(int fd) {
  int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static int dial(const char *where, volatile bool *stop) {
  char host[256];
  snprintf(host, sizeof host, "%s", where);
  char *port = strrchr(host, ':');
  if (!port) return -1;
  *port++ = 0;
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
  if (inet_pton(AF_INET, host, &to.sin_addr) != 1) return -1;
  for (int i = 0; i < 600 && !*stop; i++) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    usleep(50000);
  }
  return -1;
}

bool ring_connect(struct ring *r, int port, const char *next) {
  int one = 1, server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  at.sin_addr.s_addr = htonl(INADDR_ANY);
  setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(server, (struct sockaddr *)&at, sizeof at) != 0 || listen(server, RING_MAX_CHANNELS) != 0) return false;
  for (int c = 0; c < r->channels; c++) {
    unsigned char hello = (unsigned char)c;
    if ((r->next[c] = dial(next, r->stop)) < 0 || write(r->next[c], &hello, 1) != 1) return false;
  }
  for (int i = 0; i < r->channels; i++) {
    unsigned char c = 0;
    int fd = accept(server, NULL, NULL);
    if (fd < 0 || read(fd, &c, 1) != 1 || c >= r->channels) return false;
    r->prev[c] = fd;
  }
  for (int c = 0; c < r->channels; c++) {
    tune(r->next[c]);
    tune(r->prev[c]);
  }
  close(server);
  return true;
}

/* One channel's part of an all-reduce. */
struct lane {
  struct ring *r;
  int c, step, steps;
  float *data, *in;
  size_t count;
  size_t sent, got;          /* bytes of this step */
  bool send_open, recv_open; /* this step's halves are under way */
  bool has_credit;
};

static void chunk(const struct lane *l, int which, size_t *at, size_t *len) {
  size_t n = (size_t)l->r->nranks, i = (size_t)((which % l->r->nranks + l->r->nranks) % l->r->nranks);
  *at = l->count * i / n;
  *len = l->count * (i + 1) / n - *at;
}

static void tell(struct lane *l, enum ring_event e) { l->r->on(l->r->arg, l->c, l->step, e); }

static bool reply(struct lane *l, char what) {
  while (write(l->r->prev[l->c], &what, 1) != 1)
    if (errno != EAGAIN || *l->r->stop) return false;
  return true;
}

static bool begin(struct lane *l) {
  l->sent = l->got = 0;
  l->has_credit = false;
  l->send_open = l->recv_open = true;
  tell(l, RING_RECV_START);
  if (!reply(l, 'C')) return false;
  tell(l, RING_RECV_POSTED);
  tell(l, RING_SEND_START);
  tell(l, RING_SEND_READY);
  return true;
}

/* False if the connection is lost. */
static bool push(struct lane *l) {
  char word;
  ssize_t n;
  while ((n = read(l->r->next[l->c], &word, 1)) == 1) {
    if (word == 'C') l->r->credits[l->c]++;
    else l->r->acks[l->c]++;
  }
  if (n < 0 && errno != EAGAIN) return false;
  if (!l->send_open) return true;
  /* A neighbour that has finished its last operation closes: its last words have been read above, and are enough or not. */
  if (n == 0 && l->r->acks[l->c] == 0) return false;
  if (!l->has_credit) {
    if (l->r->credits[l->c] == 0) return true;
    l->r->credits[l->c]--;
    l->has_credit = true;
    tell(l, RING_SEND_CREDIT);
  }
  size_t at, len;
  chunk(l, l->r->rank - l->step, &at, &len);
  len *= sizeof(float);
  while (l->sent < len) {
    n = send(l->r->next[l->c], (char *)(l->data + at) + l->sent, len - l->sent, MSG_NOSIGNAL);
    if (n < 0) return errno == EAGAIN;
    l->sent += (size_t)n;
  }
  if (l->r->acks[l->c] == 0) return true;
  l->r->acks[l->c]--;
  l->send_open = false;
  tell(l, RING_SEND_DONE);
  return true;
}

static bool pull(struct lane *l) {
  if (!l->recv_open) return true;
  size_t at, len;
  chunk(l, l->r->rank - l->step - 1, &at, &len);
  while (l->got < len * sizeof(float)) {
    ssize_t n = read(l->r->prev[l->c], (char *)l->in + l->got, len * sizeof(float) - l->got);
    if (n == 0) return false;
    if (n < 0) return errno == EAGAIN;
    l->got += (size_t)n;
  }
  tell(l, RING_RECV_ARRIVED);
  tell(l, RING_RECV_FLUSHED);
  bool reduce = l->step < l->r->nranks - 1;
  for (size_t i = 0; i < len; i++) l->data[at + i] = reduce ? l->data[at + i] + l->in[i] : l->in[i];
  l->recv_open = false;
  bool ok = reply(l, 'A');
  tell(l, RING_RECV_DONE);
  return ok;
}

static bool hang(struct ring *r) {
  while (!*r->stop) usleep(20000);
  return false;
}

bool ring_allreduce(struct ring *r, float *data, size_t count, int first, int n) {
  struct lane lane[RING_MAX_CHANNELS];
  struct pollfd fd[2 * RING_MAX_CHANNELS];
  float *in = malloc((count / (size_t)n + (size_t)r->nranks) * sizeof(float) * (size_t)n);
  bool ok = true;
  for (int i = 0; i < n; i++) {
    size_t at = count * (size_t)i / (size_t)n, end = count * (size_t)(i + 1) / (size_t)n;
    lane[i] = (struct lane){.r = r, .c = first + i, .steps = 2 * (r->nranks - 1), .data = data + at, .count = end - at,
                            .in = in + at + (size_t)(i * r->nranks)};
    if (lane[i].steps > 0) ok = ok && begin(&lane[i]);
  }
  for (int left = n; ok && left > 0;) {
    left = 0;
    for (int i = 0; ok && i < n; i++) {
      struct lane *l = &lane[i];
      ok = push(l) && pull(l);
      if (ok && l->step < l->steps && !l->send_open && !l->recv_open && ++l->step < l->steps) ok = begin(l);
      left += l->step < l->steps;
      bool blocked = l->send_open && l->has_credit && l->r->acks[l->c] == 0;
      fd[2 * i] = (struct pollfd){.fd = r->next[l->c], .events = (short)(POLLIN | (blocked ? POLLOUT : 0))};
      fd[2 * i + 1] = (struct pollfd){.fd = l->recv_open ? r->prev[l->c] : -1, .events = POLLIN};
      size_t at, len;
      chunk(l, r->rank - l->step, &at, &len);
      if (l->sent >= len * sizeof(float)) fd[2 * i].events = POLLIN;
    }
    if (ok && left) poll(fd, (nfds_t)(2 * n), 100);
    if (*r->stop) break;
  }
  free(in);
  if (*r->stop) return false;
  return ok ? true : hang(r);
}
