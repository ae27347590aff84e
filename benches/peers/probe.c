// The peak of fused multiply-adds of this machine at this moment, in GFLOP/s: what the machine can do while nobody disturbs it.
//
//     probe THREADS
//
// Each thread adds products to 12 independent sums, enough to hide the latency, for some 20 ms after a warm-up; what others
// took of that time is missing in the rate. The slowest thread counts for all.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef float wide __attribute__((vector_size(64)));

enum { SUMS = 12, STEPS = 100000, WARM_UP = 4, RUNS = 50, MAX_THREADS = 256 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *measure(void *result) {
    double seconds = 0;
    for (int run = 0; run < WARM_UP + RUNS; run++) {
        wide sum[SUMS], x, y;
        for (int lane = 0; lane < 16; lane++) {
            x[lane] = 0.999f;
            y[lane] = 0.001f;
            for (int i = 0; i < SUMS; i++) sum[i][lane] = i;
        }
        // Without this the compiler would know the values, and compute nothing.
        __asm__ volatile("" : "+m"(x), "+m"(y));
        double start = now();
        for (int step = 0; step < STEPS; step++)
            for (int i = 0; i < SUMS; i++) sum[i] = sum[i] * x + y;
        double taken = now() - start;
        for (int i = 0; i < SUMS; i++) __asm__ volatile("" ::"m"(sum[i]));
        if (run >= WARM_UP) seconds += taken;
    }
    *(double *)result = 2.0 * 16 * SUMS * STEPS * RUNS / seconds / 1e9;
    return NULL;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1;
    if (n < 1 || n > MAX_THREADS) return 2;
    pthread_t threads[MAX_THREADS];
    double rates[MAX_THREADS];
    for (int i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, measure, &rates[i])) return 1;
    double least = 0;
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        if (i == 0 || rates[i] < least) least = rates[i];
    }
    printf("%.1f\n", least * n);
    return 0;
}
