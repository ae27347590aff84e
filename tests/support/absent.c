/* An artifact whose threads are promised and never come: the caller does all of their shares, so that every run ends, with what
 * one thread gives (`tests/artifacts.rs`). The program has one input and one result. */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, N = NET_INPUT_X_BYTES / sizeof(float) };

static float input[N];
static char alone[NET_OUTPUT_OUT_BYTES], together[NET_OUTPUT_OUT_BYTES];
static int promised, joined;

/* These stand before those of the library. */
int pthread_create(void *thread, const void *attributes, void *(*start)(void *), void *with) {
  (void)thread, (void)attributes, (void)start, (void)with;
  promised++;
  return 0;
}

int pthread_join(size_t thread, void **result) {
  (void)thread, (void)result;
  joined++;
  return 0;
}

#define HOLDS(what) if (!(what)) (printf("line %d: %s\n", __LINE__, #what), exit(1))

static void run(unsigned threads, char *output) {
  relayc_net *net;
  relayc_options options = {.threads = threads};
  HOLDS(relayc_create(&net, &options) == RELAYC_OK);
  HOLDS(relayc_set_input(net, "x", input, sizeof input) == RELAYC_OK);
  for (int i = 0; i < 3; i++) HOLDS(relayc_run(net) == RELAYC_OK);
  HOLDS(relayc_get_output(net, "out", output, NET_OUTPUT_OUT_BYTES) == RELAYC_OK);
  relayc_destroy(net);
}

int main(void) {
  for (size_t i = 0; i < N; i++) input[i] = (float)(i % 97) - 48;
  run(1, alone);
  HOLDS(promised == 0);
  run(THREADS, together);
  HOLDS(promised == THREADS - 1 && joined == THREADS - 1);
  HOLDS(!memcmp(alone, together, NET_OUTPUT_OUT_BYTES));
  return 0;
}
