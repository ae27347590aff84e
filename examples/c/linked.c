/* Runs the program that `relayc build net.relay -o net.so` made: every input is ones, and each result's first elements are printed.
 * Its inputs and results are float32.
 *
 *     cc linked.c ./net.so -o linked && ./linked
 */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static relayc_net *net;

static void check(relayc_status status) {
  if (status != RELAYC_OK) {
    fprintf(stderr, "%s: %s\n", relayc_status_text(status), relayc_error(net));
    exit(1);
  }
}

static void check_dtype(const relayc_tensor *t) {
  if (!strcmp(t->dtype, "float32")) return;
  fprintf(stderr, "%s is %s, not float32\n", t->name, t->dtype);
  exit(1);
}

int main(void) {
  relayc_tensor t;
  check(relayc_create(&net, NULL));
  for (size_t at = 0; at < relayc_n_inputs(); at++) {
    check(relayc_input(at, &t));
    check_dtype(&t);
    float *data = malloc(t.bytes);
    for (size_t i = 0; i < t.bytes / sizeof *data; i++) data[i] = 1;
    check(relayc_set_input(net, t.name, data, t.bytes));
    free(data);
  }
  check(relayc_run(net));
  for (size_t at = 0; at < relayc_n_outputs(); at++) {
    check(relayc_output(at, &t));
    check_dtype(&t);
    float *data = malloc(t.bytes);
    check(relayc_get_output(net, t.name, data, t.bytes));
    printf("%s:", t.name);
    for (size_t i = 0; i < t.bytes / sizeof *data && i < 5; i++) printf(" %.9g", data[i]);
    printf("\n");
    free(data);
  }
  relayc_destroy(net);
  return 0;
}
