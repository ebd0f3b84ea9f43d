/*
 * A real ring all-reduce over TCP: every channel has a connection of its own to the next rank, data goes forward, credit
 * ('C', the receive is posted) and acknowledgement ('A', all bytes arrived) come back on the same connection. So the
 * sender's waits for the receiver's credit and for the wire are as distinct as they are on InfiniBand.
 */
#ifndef COLLWATCH_HARNESS_RING_H
#define COLLWATCH_HARNESS_RING_H

#include <stdbool.h>
#include <stddef.h>

#define RING_MAX_CHANNELS 16

/* What happens to one step, for whoever reports it. */
enum ring_event {
  RING_SEND_START, RING_SEND_READY, RING_SEND_CREDIT, RING_SEND_DONE,
  RING_RECV_START, RING_RECV_POSTED, RING_RECV_ARRIVED, RING_RECV_FLUSHED, RING_RECV_DONE
};

struct ring {
  int rank, nranks, channels;
  int next[RING_MAX_CHANNELS], prev[RING_MAX_CHANNELS];
  /* Received from the next rank and not used up. It may be a whole operation ahead of us. */
  int credits[RING_MAX_CHANNELS], acks[RING_MAX_CHANNELS];
  void (*on)(void *arg, int channel, int step, enum ring_event e);
  void *arg;
  volatile bool *stop;
};

/* Listens on the port, connects to next ("host:port") and waits for the previous rank. False on failure. */
bool ring_connect(struct ring *r, int port, const char *next);

/* Sums data[0..count) over all ranks on channels [first, first+n). A lost neighbour makes it wait for *stop, as a hung
 * collective does; then it returns false. */
bool ring_allreduce(struct ring *r, float *data, size_t count, int first, int n);

#endif
