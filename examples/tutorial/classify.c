/* Runs a network that `relayc build` made on a picture that is a .npy file, and shows the five best classes. The answer must be
 * that of another .npy file within 1e-5.
 *
 *     classify NET.so PICTURE.npy ANSWER.npy LABELS.txt
 *
 * The functions are those of the header beside the shared object. They are looked up by name, as the object is loaded when it is
 * named: only libc is linked.
 */
#include "net.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The floats of a .npy file of version 1.0 that has this many; NumPy's NEP 1 has the form. */
static float *floats(const char *path, size_t bytes) {
  unsigned char head[10];
  float *values = malloc(bytes);
  FILE *file = fopen(path, "rb");
  if (!file || !values || fread(head, 1, sizeof head, file) != sizeof head || memcmp(head, "\x93NUMPY\1\0", 8) != 0 ||
      fseek(file, head[8] | head[9] << 8, SEEK_CUR) != 0 || fread(values, 1, bytes, file) != bytes || fgetc(file) != EOF) {
    fprintf(stderr, "%s: no .npy file of %zu bytes of floats\n", path, bytes);
    exit(1);
  }
  fclose(file);
  return values;
}

/* The text of a line. */
static const char *label(const char *path, size_t line) {
  static char text[256];
  FILE *file = fopen(path, "r");
  for (size_t i = 0; file && i <= line; i++)
    if (!fgets(text, sizeof text, file)) break;
  if (file) fclose(file);
  text[strcspn(text, "\n")] = 0;
  return text;
}

#define LOAD(function) __typeof__(&function) p_##function = (__typeof__(&function))dlsym(so, #function)
#define TRY(call) if ((call) != RELAYC_OK) return fprintf(stderr, "%s\n", net ? p_relayc_error(net) : "no instance"), 1

int main(int argc, char **argv) {
  if (argc != 5) return fprintf(stderr, "classify NET.so PICTURE.npy ANSWER.npy LABELS.txt\n"), 2;
  void *so = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!so) return fprintf(stderr, "%s\n", dlerror()), 1;
  LOAD(relayc_create); LOAD(relayc_destroy); LOAD(relayc_error); LOAD(relayc_input); LOAD(relayc_output);
  LOAD(relayc_set_input); LOAD(relayc_run); LOAD(relayc_get_output);
  relayc_net *net = NULL;
  relayc_tensor in, out;
  TRY(p_relayc_create(&net, NULL));
  TRY(p_relayc_input(0, &in));
  TRY(p_relayc_output(0, &out));
  float *picture = floats(argv[2], in.bytes), *expected = floats(argv[3], out.bytes), *scores = malloc(out.bytes);
  TRY(p_relayc_set_input(net, in.name, picture, in.bytes));
  TRY(p_relayc_run(net));
  TRY(p_relayc_get_output(net, out.name, scores, out.bytes));
  size_t n = out.bytes / sizeof *scores;
  for (size_t i = 0; i < n; i++)
    if (!(fabsf(scores[i] - expected[i]) <= 1e-5f + 1e-5f * fabsf(expected[i])))
      return fprintf(stderr, "[%zu]: %g, expected %g\n", i, scores[i], expected[i]), 1;
  for (size_t rank = 1; rank <= 5 && rank <= n; rank++) {
    size_t best = 0;
    for (size_t i = 1; i < n; i++)
      if (scores[i] > scores[best]) best = i;
    printf("%4zu %12.6f %7zu  %s\n", rank, scores[best], best, label(argv[4], best));
    scores[best] = -INFINITY;
  }
  printf("agrees within 1e-5\n");
  free(picture), free(expected), free(scores);
  p_relayc_destroy(net);
  return dlclose(so);
}
