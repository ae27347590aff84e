/* The functions for an artifact of several sizes: `x` is (n, 3) and `y` (n, m), for n of 1 and 2 and m of 2 and 4; the results are
   the sums of the rows of `x`, and `y` without what is negative (`tests/suite/artifacts.rs`). */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static relayc_net *net;

#define HOLDS(what) if (!(what)) (printf("line %d: %s; `%s`\n", __LINE__, #what, net ? relayc_error(net) : ""), exit(1))
#define IS(status, words, call) HOLDS((call) == (status)); HOLDS(strstr(relayc_error(net), words))
#define ALL "there is code for n=1 m=2, n=1 m=4, n=2 m=2, n=2 m=4"

static void signature(void) {
  relayc_tensor t;
  HOLDS(relayc_n_sizes() == 4 && !strcmp(relayc_size(0), "n=1 m=2") && !strcmp(relayc_size(3), "n=2 m=4") && !relayc_size(4));
  HOLDS(relayc_input(1, &t) == RELAYC_OK && t.rank == 2 && t.shape[0] == 1 && t.shape[1] == 2);
  HOLDS(relayc_input_at(3, 1, &t) == RELAYC_OK && !strcmp(t.name, "y") && t.bytes == 32 && t.shape[0] == 2 && t.shape[1] == 4);
  HOLDS(relayc_output_at(2, 0, &t) == RELAYC_OK && !strcmp(t.name, "out.0") && t.rank == 1 && t.shape[0] == 2);
  HOLDS(relayc_input_at(4, 0, &t) == RELAYC_NAME && relayc_output_at(0, 2, &t) == RELAYC_NAME);
  HOLDS(NET_INPUT_Y_BYTES == 32 && NET_OUTPUT_OUT_0_BYTES == 8);
}

int main(void) {
  const float x[] = {1, 2, 3, 4, 5, 6}, y[] = {-1, 1, 2, -2};
  const uint64_t wide[] = {1, 4}, square[] = {2, 2}, other[] = {3, 2};
  float sums[2] = {0}, out[4] = {0};
  relayc_tensor t;
  signature();
  HOLDS(relayc_create(&net, NULL) == RELAYC_OK);
  IS(RELAYC_MISSING, "no run has given results", relayc_result(net, 0, &t));
  IS(RELAYC_OK, "", relayc_set_input(net, "x", x, 12));
  IS(RELAYC_SIZE, "16 bytes do not say the shape of `y`; " ALL, relayc_set_input(net, "y", y, 16));
  IS(RELAYC_SIZE, "12 bytes do not say the shape of `y`; " ALL, relayc_set_input(net, "y", y, 12));
  IS(RELAYC_MISSING, "the input `y` has not been set", relayc_run(net));
  IS(RELAYC_SIZE, "`y` has no such shape; " ALL, relayc_set_input_shape(net, "y", y, other, 2));
  IS(RELAYC_SIZE, "`y` has no such shape; " ALL, relayc_set_input_shape(net, "y", y, wide, 1));
  IS(RELAYC_USAGE, "the shape is NULL", relayc_set_input_shape(net, "y", y, NULL, 2));
  IS(RELAYC_USAGE, "the tensor is NULL", relayc_set_input_shape(net, "y", NULL, wide, 2));
  IS(RELAYC_NAME, "there is no input `z`", relayc_set_input_shape(net, "z", y, wide, 2));
  IS(RELAYC_OK, "", relayc_set_input_shape(net, "y", y, wide, 2));
  IS(RELAYC_OK, "", relayc_run(net));
  HOLDS(relayc_result(net, 1, &t) == RELAYC_OK && t.rank == 2 && t.shape[0] == 1 && t.shape[1] == 4 && t.bytes == 16);
  HOLDS(relayc_result(net, 2, &t) == RELAYC_NAME && relayc_result(net, 0, NULL) == RELAYC_USAGE);
  IS(RELAYC_SIZE, "`out.0` has 4 bytes, not 8", relayc_get_output(net, "out.0", sums, 8));
  IS(RELAYC_OK, "", relayc_get_output(net, "out.0", sums, 4));
  IS(RELAYC_OK, "", relayc_get_output(net, "out.1", out, 16));
  HOLDS(sums[0] == 6 && out[0] == 0 && out[1] == 1 && out[2] == 2 && out[3] == 0);
  /* Two sizes for one name: nothing is run, and the last results stay. */
  IS(RELAYC_OK, "", relayc_set_input_shape(net, "y", y, square, 2));
  IS(RELAYC_SIZE, "no code for inputs of these shapes together; there is for n=1 m=2", relayc_run(net));
  IS(RELAYC_OK, "", relayc_get_output(net, "out.0", sums, 4));
  IS(RELAYC_OK, "", relayc_set_input(net, "x", x, 24));
  IS(RELAYC_OK, "", relayc_run(net));
  HOLDS(relayc_result(net, 1, &t) == RELAYC_OK && t.shape[0] == 2 && t.shape[1] == 2);
  IS(RELAYC_OK, "", relayc_get_output(net, "out.0", sums, 8));
  HOLDS(sums[0] == 6 && sums[1] == 15);
  relayc_destroy(net);
  return 0;
}
