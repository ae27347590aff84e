/* An artifact whose number of turns its inputs decide: greatest common divisors. */

#include "net.h"

#include <stdint.h>
#include <stdio.h>

int main(void) {
  static const int32_t cases[][3] = {{12, 18, 6}, {35, 0, 35}, {0, 7, 7}, {1134903170, 701408733, 1}, {6, 6, 6}};
  relayc_net *net;
  if (relayc_create(&net, NULL) != RELAYC_OK) return 1;
  for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
    int32_t found = -1;
    if (relayc_set_input(net, "n", &cases[at][0], 4) != RELAYC_OK || relayc_set_input(net, "m", &cases[at][1], 4) != RELAYC_OK ||
        relayc_run(net) != RELAYC_OK || relayc_get_output(net, "out.0", &found, 4) != RELAYC_OK || found != cases[at][2]) {
      printf("case %zu: %d, %s\n", at, (int)found, relayc_error(net));
      return 1;
    }
  }
  relayc_destroy(net);
  return 0;
}
