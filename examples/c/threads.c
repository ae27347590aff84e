/* Four threads with an instance each, which share code and weights; all of them get the same bytes. The program has one input, and
 * float32 goes in and comes out.
 *
 *     cc threads.c ./net.so -lpthread -o threads && ./threads
 */
#include "net.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, RUNS = 20 };
static float *results[THREADS];

static void *work(void *number) {
  relayc_options options = {.threads = 1 + (uint32_t)(size_t)number};
  relayc_net *net;
  relayc_tensor in, out;
  if (relayc_create(&net, &options) || relayc_input(0, &in) || relayc_output(0, &out)) return "no instance";
  float *x = malloc(in.bytes), *y = malloc(out.bytes);
  for (size_t i = 0; i < in.bytes / sizeof *x; i++) x[i] = 1;
  if (relayc_set_input(net, in.name, x, in.bytes)) return "no input";
  for (int run = 0; run < RUNS; run++)
    if (relayc_run(net)) return "no run";
  if (relayc_get_output(net, out.name, y, out.bytes)) return "no output";
  relayc_destroy(net);
  free(x);
  results[(size_t)number] = y;
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  relayc_tensor out;
  if (relayc_output(0, &out)) return 1;
  for (size_t at = 0; at < THREADS; at++)
    if (pthread_create(&threads[at], NULL, work, (void *)at)) return 1;
  for (size_t at = 0; at < THREADS; at++) {
    void *trouble;
    if (pthread_join(threads[at], &trouble) || trouble) return fprintf(stderr, "%s\n", (char *)trouble), 1;
    if (memcmp(results[at], results[0], out.bytes)) return fprintf(stderr, "instances differ\n"), 1;
  }
  const float *y = results[0];
  printf("%s:", out.name);
  for (size_t i = 0; i < out.bytes / sizeof *y && i < 5; i++) printf(" %.9g", y[i]);
  printf("\n");
  for (size_t at = 0; at < THREADS; at++) free(results[at]);
  return 0;
}
