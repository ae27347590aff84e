/* The interface of a function that an outside compiler makes for relayc (`relayc run --external NAME=CMD`). */
#ifndef RELAYC_EXTERNAL_H
#define RELAYC_EXTERNAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of what is declared here. */
#define RELAYC_EXTERNAL_VERSION 1

/* The type of a tensor. Its elements lie in order, the last axis fastest; a bool is a byte. */
typedef struct relayc_external_tensor {
  const char *dtype; /* as in Relay: "float32", "int64", "bool", ... */
  uint64_t rank;
  const uint64_t *shape;
} relayc_external_tensor;

/* A compiled function. Everything that is pointed at stays as long as the shared object. */
typedef struct relayc_external {
  uint64_t version; /* RELAYC_EXTERNAL_VERSION */
  /* The parameters that are not in the file of weights, and the results, in order; the fields of a tuple one by one. */
  uint64_t n_inputs;
  const relayc_external_tensor *inputs;
  uint64_t n_outputs;
  const relayc_external_tensor *outputs;
  /* Computes the outputs from the inputs. Inputs are not written, outputs not read; all are aligned to 64 bytes, and none overlap.
     Several threads may call it at once. Anything but 0 is a failure, which ends the run. */
  int (*run)(const void *const *inputs, void *const *outputs);
} relayc_external;

/* The one symbol that the shared object defines. */
extern const relayc_external relayc_external_function;

#ifdef __cplusplus
}
#endif

#endif /* RELAYC_EXTERNAL_H */
