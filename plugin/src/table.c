/* Places in the fixed tables of a communicator. Taken by one compare-and-swap, never given back before the slot is reused. */
#include <string.h>

#include "inside.h"

/* The first CW_FUNCS places belong to one operation each and take what finds no place of its own. */
uint32_t cw_key_index(struct cw_comm_slot *s, uint32_t key, cw_u64 *drops) {
  const uint32_t room = CW_KEYS - CW_FUNCS;
  uint32_t at = (uint32_t)((key * 2654435761u) >> 16) % room;
  for (uint32_t i = 0; i < room; i++) {
    uint32_t index = CW_FUNCS + (at + i < room ? at + i : at + i - room);
    uint32_t seen = atomic_load_explicit(&s->keys[index].key, CW_RELAXED);
    if (seen == key) return index;
    if (seen == 0) {
      if (atomic_compare_exchange_strong_explicit(&s->keys[index].key, &seen, key, CW_RELAXED, CW_RELAXED)) return index;
      if (seen == key) return index;
    }
  }
  cw_add(&drops[CW_DROP_KEYS_FULL], 1);
  uint32_t op = key & 15;
  uint32_t rest = CW_KEY(op, 63, CW_ALGO_UNKNOWN, CW_PROTO_UNKNOWN) | (key & CW_KEY_CPU);
  /* Both timings of the overflow share a place; the first one labels it. Its durations are then not pure, which the
   * exporter avoids by not showing times of the overflow class. */
  uint32_t none = 0;
  atomic_compare_exchange_strong_explicit(&s->keys[op].key, &none, rest, CW_RELAXED, CW_RELAXED);
  return op;
}

struct cw_peer_slot *cw_peer_at(struct cw_comm_slot *s, int peer, cw_u64 *drops) {
  if (peer < 0) return NULL;
  uint64_t want = (uint64_t)(uint32_t)peer + 1;
  for (uint32_t i = 0; i < CW_PEERS; i++) {
    struct cw_peer_slot *slot = &s->peers[((uint32_t)peer + i) % CW_PEERS];
    uint64_t seen = cw_get(&slot->peer);
    if (seen == want) return slot;
    if (seen == 0) {
      if (atomic_compare_exchange_strong_explicit(&slot->peer, &seen, want, CW_RELAXED, CW_RELAXED)) return slot;
      if (seen == want) return slot;
    }
  }
  cw_add(&drops[CW_DROP_PEERS_FULL], 1);
  return NULL;
}

/* Bucket i holds (2^(min+i-1), 2^(min+i)], the last one the rest: Prometheus' buckets include their upper bound, so an
 * exact power of two must fall into the lower one; that is what subtracting one from the bits does. */
uint32_t cw_bucket(double v, int min_exp, uint32_t buckets) {
  if (!(v > 0)) return 0;
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  int index = (int)((bits - 1) >> 52) - 1023 + 1 - min_exp;
  if (index < 0) return 0;
  return index < (int)buckets ? (uint32_t)index : buckets - 1;
}
