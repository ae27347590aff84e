/* The functions for an artifact of which a run decides the shapes of results: `out.0` has a row for each number of `x` above 0, and
   `out.1` is `x` (`tests/suite/artifacts.rs`). */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static relayc_net *net;

#define HOLDS(what) if (!(what)) (printf("line %d: %s; `%s`\n", __LINE__, #what, net ? relayc_error(net) : ""), exit(1))
#define IS(status, words, call) HOLDS((call) == (status)); HOLDS(strstr(relayc_error(net), words))

static void finds(const float *x, size_t n, const int32_t *rows) {
  int32_t out[4] = {0};
  relayc_tensor t;
  IS(RELAYC_OK, "", relayc_set_input(net, "x", x, 16));
  IS(RELAYC_OK, "", relayc_run(net));
  HOLDS(relayc_result(net, 0, &t) == RELAYC_OK && t.rank == 2 && t.shape[0] == n && t.shape[1] == 1 && t.bytes == 4 * n);
  IS(RELAYC_OK, "", relayc_get_output(net, "out.0", out, 4 * n));
  HOLDS(!memcmp(out, rows, 4 * n));
  HOLDS(relayc_result(net, 1, &t) == RELAYC_OK && t.rank == 1 && t.shape[0] == 4 && t.bytes == 16);
}

int main(void) {
  const float some[] = {1, -2, 0, 4}, none[] = {-1, -2, -3, -4}, all[] = {1, 2, 3, 4};
  int32_t out[4];
  relayc_tensor t;
  HOLDS(relayc_n_outputs() == 2 && relayc_output(0, &t) == RELAYC_OK && t.shape[0] == 4 && t.shape[1] == 1 && t.bytes == 16);
  HOLDS(NET_OUTPUT_OUT_0_BYTES == 16 && relayc_output(2, &t) == RELAYC_NAME);
  HOLDS(relayc_create(&net, NULL) == RELAYC_OK);
  finds(some, 2, (const int32_t[]){0, 3});
  IS(RELAYC_SIZE, "`out.0` has 8 bytes, not 16", relayc_get_output(net, "out.0", out, 16));
  finds(none, 0, (const int32_t[]){0});
  finds(all, 4, (const int32_t[]){0, 1, 2, 3});
  relayc_destroy(net);
  return 0;
}
