/* Every answer of the functions of `net.h`, with its words; the program divides two vectors of integers (`tests/artifacts.rs`). */
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static relayc_net *net;

#define HOLDS(what) if (!(what)) (printf("line %d: %s; `%s`\n", __LINE__, #what, net ? relayc_error(net) : ""), exit(1))
#define IS(status, words, call) HOLDS((call) == (status)); HOLDS(strstr(relayc_error(net), words))

static void no_instance(void) {
  relayc_tensor t;
  relayc_options none = {.level = 9};
  relayc_net *made = (relayc_net *)&t;
  HOLDS(relayc_create(&made, &none) == RELAYC_MACHINE && !made);
  HOLDS(relayc_create(NULL, NULL) == RELAYC_USAGE);
  HOLDS(relayc_set_input(NULL, "x", &t, 0) == RELAYC_USAGE);
  HOLDS(relayc_run(NULL) == RELAYC_USAGE);
  HOLDS(relayc_get_output(NULL, "out", &t, 0) == RELAYC_USAGE);
  HOLDS(strstr(relayc_error(NULL), "no instance"));
  relayc_destroy(NULL);
}

static void signature(void) {
  relayc_tensor t;
  HOLDS(relayc_abi_version() == RELAYC_ABI_VERSION);
  HOLDS(relayc_n_inputs() == 2 && relayc_n_outputs() == 1);
  HOLDS(relayc_input(1, &t) == RELAYC_OK && !strcmp(t.name, "y") && !strcmp(t.dtype, "int32"));
  HOLDS(t.bytes == NET_INPUT_Y_BYTES && t.rank == 1 && t.shape[0] == 3);
  HOLDS(relayc_output(0, &t) == RELAYC_OK && !strcmp(t.name, "out") && t.bytes == NET_OUTPUT_OUT_BYTES);
  HOLDS(relayc_input(2, &t) == RELAYC_NAME && relayc_output(1, &t) == RELAYC_NAME);
  HOLDS(relayc_input(0, NULL) == RELAYC_USAGE && relayc_output(0, NULL) == RELAYC_USAGE);
  size_t bytes = 0;
  const char *source = relayc_source(&bytes);
  HOLDS(!strncmp(source, "def @main", 9) && strlen(source) == bytes && relayc_source(NULL) == source);
  const char *graph = relayc_graph_json(&bytes);
  HOLDS(graph[0] == '{' && strlen(graph) == bytes);
}

static void words(void) {
  for (int status = RELAYC_OK; status <= RELAYC_USAGE; status++) {
    const char *text = relayc_status_text((relayc_status)status);
    HOLDS(*text && strcmp(text, "no status"));
    for (int other = RELAYC_OK; other < status; other++) HOLDS(strcmp(text, relayc_status_text((relayc_status)other)));
  }
  HOLDS(!strcmp(relayc_status_text((relayc_status)99), "no status"));
}

int main(void) {
  const int32_t x[] = {7, -7, 9}, y[] = {2, 2, -3}, zeros[3] = {0}, right[] = {3, -3, -3};
  int32_t out[3] = {5, 5, 5};
  no_instance(), signature(), words();
  HOLDS(relayc_create(&net, NULL) == RELAYC_OK && !*relayc_error(net));
  IS(RELAYC_NAME, "there is no input `z`", relayc_set_input(net, "z", x, sizeof x));
  IS(RELAYC_SIZE, "`x` has 12 bytes, not 8", relayc_set_input(net, "x", x, 8));
  IS(RELAYC_SIZE, "`x` has 12 bytes, not 0", relayc_set_input(net, "x", NULL, 0));
  const uint64_t shape[] = {2};
  IS(RELAYC_SIZE, "`x` has no such shape, but (3)", relayc_set_input_shape(net, "x", x, shape, 1));
  IS(RELAYC_USAGE, "the name is NULL", relayc_set_input(net, NULL, x, sizeof x));
  IS(RELAYC_USAGE, "the tensor is NULL", relayc_set_input(net, "x", NULL, sizeof x));
  IS(RELAYC_OK, "", relayc_set_input(net, "x", x, sizeof x));
  IS(RELAYC_MISSING, "the input `y` has not been set", relayc_run(net));
  IS(RELAYC_OK, "", relayc_set_input(net, "y", y, sizeof y));
  IS(RELAYC_MISSING, "no run has given results", relayc_get_output(net, "out", out, sizeof out));
  HOLDS(out[0] == 5);
  IS(RELAYC_OK, "", relayc_run(net));
  IS(RELAYC_NAME, "there is no output `x`", relayc_get_output(net, "x", out, sizeof out));
  IS(RELAYC_SIZE, "`out` has 12 bytes, not 16", relayc_get_output(net, "out", out, 16));
  IS(RELAYC_USAGE, "the name is NULL", relayc_get_output(net, NULL, out, sizeof out));
  IS(RELAYC_USAGE, "the tensor is NULL", relayc_get_output(net, "out", NULL, sizeof out));
  IS(RELAYC_OK, "", relayc_get_output(net, "out", out, sizeof out));
  HOLDS(!memcmp(out, right, sizeof out));
  /* What fails leaves no results; inputs stay set. */
  IS(RELAYC_OK, "", relayc_set_input(net, "y", zeros, sizeof zeros));
  IS(RELAYC_FAILED, "division by zero", relayc_run(net));
  IS(RELAYC_MISSING, "no run has given results", relayc_get_output(net, "out", out, sizeof out));
  IS(RELAYC_OK, "", relayc_set_input(net, "y", y, sizeof y));
  IS(RELAYC_OK, "", relayc_run(net));
  IS(RELAYC_OK, "", relayc_get_output(net, "out", out, sizeof out));
  HOLDS(!memcmp(out, right, sizeof out));
  /* Words for which there is no room end before a character, not inside of one. */
  char name[602] = "x";
  for (size_t at = 1; at < 601; at += 2) memcpy(name + at, "\xc3\xa9", 2);
  IS(RELAYC_NAME, "there is no input `x\xc3\xa9", relayc_set_input(net, name, x, sizeof x));
  HOLDS(relayc_error(net)[strlen(relayc_error(net)) - 1] == '\xa9');
  relayc_destroy(net);
  return 0;
}
