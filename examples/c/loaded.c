/* As linked.c, but the shared object is loaded while the program runs, so that several may be: their functions have the same names;
 * the first result is printed.
 *
 *     cc loaded.c -ldl -o loaded && ./loaded ./net.so
 */
#include "net.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define LOAD(function) __typeof__(&function) p_##function = (__typeof__(&function))dlsym(so, #function)
#define TRY(call) if ((call) != RELAYC_OK) return fprintf(stderr, "%s\n", net ? p_relayc_error(net) : "no instance"), 1

int main(int argc, char **argv) {
  void *so = dlopen(argc > 1 ? argv[1] : "./net.so", RTLD_NOW | RTLD_LOCAL);
  if (!so) return fprintf(stderr, "%s\n", dlerror()), 1;
  LOAD(relayc_create); LOAD(relayc_destroy); LOAD(relayc_error); LOAD(relayc_input); LOAD(relayc_output);
  LOAD(relayc_n_inputs); LOAD(relayc_set_input); LOAD(relayc_run); LOAD(relayc_get_output);
  relayc_net *net = NULL;
  relayc_tensor in, out;
  TRY(p_relayc_create(&net, NULL));
  for (size_t at = 0; at < p_relayc_n_inputs(); at++) {
    TRY(p_relayc_input(at, &in));
    float *x = malloc(in.bytes);
    for (size_t i = 0; i < in.bytes / sizeof *x; i++) x[i] = 1;
    TRY(p_relayc_set_input(net, in.name, x, in.bytes));
    free(x);
  }
  TRY(p_relayc_run(net));
  TRY(p_relayc_output(0, &out));
  float *y = malloc(out.bytes);
  TRY(p_relayc_get_output(net, out.name, y, out.bytes));
  printf("%s:", out.name);
  for (size_t i = 0; i < out.bytes / sizeof *y && i < 5; i++) printf(" %.9g", y[i]);
  printf("\n");
  free(y);
  p_relayc_destroy(net);
  return dlclose(so);
}
