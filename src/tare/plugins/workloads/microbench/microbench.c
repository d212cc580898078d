/*
 * Tare's microbenchmark: MPI point-to-point and collective operations, with every iteration timed and kept.
 *
 * One source for every MPI, so that platforms differ in the MPI and not in the benchmark. Means hide what an
 * overlay network does to the slowest messages; the percentiles printed here are exact, from all samples.
 *
 *     mpicc -std=c11 -O2 -o microbench microbench.c
 *     mpirun -n 2 ./microbench --max-bytes 65536 pingpong bandwidth
 *
 * Standard output is lines of JSON: a header, a row for each operation and message size, and an end that
 * counts the rows. Needs MPI 3.0 and Linux.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define VERSION 1
#ifndef SOURCE
#define SOURCE unknown /* a hash of this file, where the build names one */
#endif
#define TEXT_(token) #token
#define TEXT(token) TEXT_(token)

#define LARGEST_BYTES (1L << 30)     /* counts are ints */
#define FULL_EFFORT_BYTES (64 << 10) /* larger messages get fewer iterations, so that they move as much */
#define WINDOW_BYTES (16 << 20)      /* what is under way at once when bandwidth is measured, at most ... */
#define LEAST_WINDOW 4               /* ... unless the window would be smaller than this */
#define LEAST_CHUNK 5                /* iterations between two looks at the time limit */
#define MOST_CHUNK 100
#define USUAL_CHUNKS 16
#define CLOCK_MESSAGES 5             /* there and back, for each rank and chunk */
#define PAGE_BYTES 4096

typedef int64_t nanoseconds;

/* One sample: from when to when, on a clock of this rank or, for collective operations, of the first rank. */
struct span {
    nanoseconds from, to;
};

struct operation {
    const char *name;
    long least_bytes; /* the smallest message that it can send */
    void (*time)(const struct operation *, int bytes, int n, struct span *samples);
    void (*call)(int bytes);    /* one collective operation; NULL between two ranks */
    bool has_part_of_each_rank; /* whether its buffers hold a message for each rank */
    bool is_rate;               /* whether its figure is MB/s instead of a time */
    bool is_rooted;             /* whether it begins on the first rank alone */
};

static struct {
    long min_bytes, max_bytes, iterations, window, dump_bytes;
    double time_limit_s;
} options = {.min_bytes = 0, .max_bytes = 4 << 20, .iterations = 10000, .window = 64, .dump_bytes = -1,
             .time_limit_s = 1.0};

static int rank, n_ranks, last; /* `last` is the highest rank, which is far away where ranks fill nodes */
static char *out, *in;          /* the buffers that are sent and received, the same in all iterations */
static MPI_Request *requests;   /* one for each message of a window */

/* Clocks */

static nanoseconds raw_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now); /* which no time server slews */
    return (nanoseconds)now.tv_sec * 1000000000 + now.tv_nsec;
}

static nanoseconds mpi_clock(void) { return (nanoseconds)(MPI_Wtime() * 1e9); }

struct clock {
    const char *name;
    nanoseconds (*read)(void);
    double quality_ns[2]; /* resolution: the smallest step seen; overhead: what a reading takes, on average */
};

static nanoseconds (*now)(void) = raw_clock;

static void assess(struct clock *clock)
{
    enum { READINGS = 10000 };
    nanoseconds first = clock->read(), before = first, smallest = INT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        nanoseconds after = clock->read();
        if (after > before && after - before < smallest)
            smallest = after - before;
        before = after;
    }
    clock->quality_ns[0] = (double)smallest;
    clock->quality_ns[1] = (double)(before - first) / READINGS;
}

/* Returns the clock that all ranks use, with the worst quality that any of them sees. */
static struct clock choose_clock(void)
{
    struct clock raw = {"CLOCK_MONOTONIC_RAW", raw_clock, {0}}, mpi = {"MPI_Wtime", mpi_clock, {0}};
    assess(&raw);
    assess(&mpi);
    MPI_Allreduce(MPI_IN_PLACE, raw.quality_ns, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, mpi.quality_ns, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    /* Twice as good, because two clocks that are equally good would take turns from run to run. */
    struct clock chosen = 2 * mpi.quality_ns[0] < raw.quality_ns[0] ? mpi : raw;
    now = chosen.read;
    return chosen;
}

/*
 * Operations between the first rank and the last.
 *
 * Each loop takes `n` samples and begins with an iteration (-1) that is none: other ranks may still be busy
 * with what came before.
 */

static int window_of(int bytes)
{
    long fitting = bytes ? WINDOW_BYTES / bytes : options.window;
    if (fitting < LEAST_WINDOW)
        fitting = LEAST_WINDOW;
    return (int)(fitting < options.window ? fitting : options.window);
}

static void time_pingpong(const struct operation *operation, int bytes, int n, struct span *samples)
{
    (void)operation;
    if (rank == 0) {
        nanoseconds before = now();
        for (int i = -1; i < n; i++) {
            MPI_Send(out, bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD);
            MPI_Recv(in, bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            nanoseconds after = now();
            if (i >= 0)
                samples[i] = (struct span){before, after};
            before = after;
        }
    } else if (rank == last) {
        for (int i = -1; i < n; i++) {
            MPI_Recv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/*
 * A message each way at once; each rank goes on when it has the other's. If one rank is d late, the other
 * waits d longer, in the next exchange the first one does, and so on. So a sample is of two exchanges.
 */
static void time_exchange(const struct operation *operation, int bytes, int n, struct span *samples)
{
    (void)operation;
    if (rank != 0 && rank != last)
        return;
    const int peer = rank == 0 ? last : 0;
    nanoseconds before = now();
    for (int i = -1; i < n; i++) {
        for (int k = 0; k < 2; k++)
            MPI_Sendrecv(out, bytes, MPI_BYTE, peer, 0, in, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        nanoseconds after = now();
        if (i >= 0)
            samples[i] = (struct span){before, after};
        before = after;
    }
}

/* A window of messages, and an empty answer once all of them have arrived. */
static void time_bandwidth(const struct operation *operation, int bytes, int n, struct span *samples)
{
    (void)operation;
    int window = window_of(bytes);
    if (rank == 0) {
        nanoseconds before = now();
        for (int i = -1; i < n; i++) {
            for (int k = 0; k < window; k++)
                MPI_Isend(out, bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD, &requests[k]);
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(in, 0, MPI_BYTE, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            nanoseconds after = now();
            if (i >= 0)
                samples[i] = (struct span){before, after};
            before = after;
        }
    } else if (rank == last) {
        for (int i = -1; i < n; i++) {
            for (int k = 0; k < window; k++)
                MPI_Irecv(in, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[k]);
            MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
            MPI_Send(out, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        }
    }
}

/* Collective operations */

/*
 * Returns how far the clock of this rank is ahead of the first rank's: of some messages there and back, the
 * fastest tells (Cristian 1989, Distributed Computing 3:146), with an error of at most half its time.
 */
static nanoseconds clock_ahead(void)
{
    nanoseconds theirs, ahead = 0, fastest = INT64_MAX, best = 0;
    for (int peer = 1; peer < n_ranks; peer++, fastest = INT64_MAX) {
        for (int i = 0; i < CLOCK_MESSAGES && rank == peer; i++) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            theirs = now();
            MPI_Send(&theirs, 1, MPI_INT64_T, 0, 2, MPI_COMM_WORLD);
        }
        for (int i = 0; i < CLOCK_MESSAGES && rank == 0; i++) {
            nanoseconds before = now();
            MPI_Send(NULL, 0, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
            MPI_Recv(&theirs, 1, MPI_INT64_T, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            nanoseconds after = now();
            if (after - before < fastest) {
                fastest = after - before;
                best = theirs - before - fastest / 2;
            }
        }
        if (rank == 0)
            MPI_Send(&best, 1, MPI_INT64_T, peer, 2, MPI_COMM_WORLD);
        else if (rank == peer)
            MPI_Recv(&ahead, 1, MPI_INT64_T, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return ahead;
}

/*
 * An operation takes from when the last rank begins it, or its root does, until the last rank has ended it.
 * The time of a rank alone is longer by what it waits for ranks that leave the barrier later, which may be as
 * much as a message takes. The latest of all ranks is found when all samples are taken (`measure`).
 */
static void time_collective(const struct operation *operation, int bytes, int n, struct span *samples)
{
    nanoseconds ahead = clock_ahead();
    for (int i = -1; i < n; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        nanoseconds before = now();
        operation->call(bytes);
        nanoseconds after = now();
        if (i >= 0)
            samples[i] = (struct span){before - ahead, after - ahead};
        if (i >= 0 && operation->is_rooted && rank != 0)
            samples[i].from = INT64_MIN;
    }
}

static void barrier(int bytes)
{
    (void)bytes;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void bcast(int bytes) { MPI_Bcast(out, bytes, MPI_BYTE, 0, MPI_COMM_WORLD); }

static void allreduce(int bytes)
{
    MPI_Allreduce(out, in, bytes / (int)sizeof(float), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static void allgather(int bytes) { MPI_Allgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD); }

static void alltoall(int bytes) { MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD); }

static const struct operation operations[] = {
    {"pingpong", 0, time_pingpong, NULL, false, false, false},
    {"exchange", 0, time_exchange, NULL, false, false, false},
    {"bandwidth", 1, time_bandwidth, NULL, false, true, false},
    {"barrier", 0, time_collective, barrier, false, false, false},
    {"bcast", 1, time_collective, bcast, false, false, true},
    {"allreduce", sizeof(float), time_collective, allreduce, false, false, false},
    {"allgather", 1, time_collective, allgather, true, false, false},
    {"alltoall", 1, time_collective, alltoall, true, false, false},
};
enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

static bool has_sizes(const struct operation *operation) { return operation->call != barrier; }

/* Output, by the first rank and never in a timed loop */

static void print_text(const char *text)
{
    putchar('"');
    for (; *text != '\0' && *text != '\n'; text++) {
        if (*text == '"' || *text == '\\')
            putchar('\\');
        putchar((unsigned char)*text < ' ' ? ' ' : *text);
    }
    putchar('"');
}

static void print_header(const struct clock *clock, const struct operation *const *chosen, int n_chosen)
{
    static char name[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_processor_name(name, &length);
    MPI_Get_library_version(version, &length);
    char *hosts = calloc((size_t)n_ranks, sizeof name);
    if (hosts == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Gather(name, sizeof name, MPI_CHAR, hosts, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"tare\":\"header\",\"version\":%d,\"source\":\"%s\",\"mpi\":", VERSION, TEXT(SOURCE));
        print_text(version);
        printf(",\"ranks\":%d,\"hosts\":[", n_ranks);
        for (int i = 0; i < n_ranks; i++) {
            printf(i ? "," : "");
            print_text(hosts + (size_t)i * sizeof name);
        }
        printf("],\"clock\":\"%s\",\"clock_resolution_ns\":%.0f,\"clock_overhead_ns\":%.1f", clock->name,
               clock->quality_ns[0], clock->quality_ns[1]);
        printf(",\"iterations\":%ld,\"time_limit_s\":%g", options.iterations, options.time_limit_s);
        printf(",\"min_bytes\":%ld,\"max_bytes\":%ld,\"operations\":[", options.min_bytes, options.max_bytes);
        for (int i = 0; i < n_chosen; i++)
            printf("%s\"%s\"", i ? "," : "", chosen[i]->name);
        printf("]}\n");
        fflush(stdout);
    }
    free(hosts);
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* Returns the figure for a sample that took `ns`: µs, of one of two ways or of two exchanges, or MB/s. */
static double figure(const struct operation *operation, int bytes, double ns)
{
    if (operation->is_rate)
        return (double)window_of(bytes) * bytes / ns * 1e3;
    bool is_half = operation->time == time_pingpong || operation->time == time_exchange;
    return (is_half ? ns / 2 : ns) / 1e3;
}

/*
 * Prints the percentiles of `n` sorted values: the smallest that at least so many of them do not exceed,
 * hence always one that was measured. Where it would be no more than the extreme value, it is left out.
 */
static void print_percentiles(const double *sorted, long n)
{
    static const struct { const char *name; long permille; } places[] = {
        {"p1", 10}, {"p25", 250}, {"p50", 500}, {"p75", 750}, {"p90", 900}, {"p99", 990}, {"p99.9", 999}};
    printf(",\"min\":%.4f", sorted[0]);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        long permille = places[i].permille, rarer = permille < 500 ? permille : 1000 - permille;
        if (n * rarer >= 1000)
            printf(",\"%s\":%.4f", places[i].name, sorted[(permille * n + 999) / 1000 - 1]);
    }
    printf(",\"max\":%.4f", sorted[n - 1]);
}

static void print_row(const struct operation *operation, int bytes, const struct span *samples, int n)
{
    double *values = malloc((size_t)n * sizeof *values), sum_ns = 0;
    if (values == NULL)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < n; i++) {
        double ns = (double)(samples[i].to - samples[i].from);
        sum_ns += ns;
        values[i] = figure(operation, bytes, ns);
    }
    if (bytes == options.dump_bytes) {
        printf("{\"tare\":\"samples\",\"op\":\"%s\",\"bytes\":%d,\"values\":[", operation->name, bytes);
        for (int i = 0; i < n; i++)
            printf("%s%.4f", i ? "," : "", values[i]);
        printf("]}\n");
    }
    qsort(values, (size_t)n, sizeof *values, compare);
    printf("{\"tare\":\"row\",\"op\":\"%s\",\"bytes\":%d", operation->name, bytes);
    if (operation->is_rate)
        printf(",\"window\":%d", window_of(bytes));
    printf(",\"unit\":\"%s\",\"n\":%d", operation->is_rate ? "MB/s" : "us", n);
    print_percentiles(values, n);
    printf(",\"mean\":%.4f}\n", figure(operation, bytes, sum_ns / n)); /* of a rate: all bytes / all time */
    fflush(stdout);
    free(values);
}

/* Measuring */

static long at_most(long value, long most) { return value < most ? value : most; }

static long at_least(long value, long least) { return value > least ? value : least; }

/* Returns the most iterations to time: fewer for large messages, which move as much all the same. */
static long wanted_iterations(const struct operation *operation, int bytes)
{
    double moved = operation->is_rate ? (double)window_of(bytes) * bytes : bytes;
    if (moved <= FULL_EFFORT_BYTES)
        return options.iterations;
    return at_least((long)((double)options.iterations * FULL_EFFORT_BYTES / moved), 1);
}

/* Takes up to `wanted` samples, in chunks, after each of which the first rank says if there is time left. */
static long take_samples(const struct operation *operation, int bytes, long wanted, struct span *samples)
{
    long chunk = at_most(at_least(wanted / USUAL_CHUNKS, LEAST_CHUNK), MOST_CHUNK), n = 0;
    chunk = at_most(chunk, wanted);
    operation->time(operation, bytes, (int)chunk, samples); /* the warm-up: its samples are overwritten */
    nanoseconds start = now();
    int has_time = 1;
    while (n < wanted && has_time) {
        chunk = at_most(chunk, wanted - n);
        operation->time(operation, bytes, (int)chunk, samples + n);
        n += chunk;
        has_time = (double)(now() - start) < options.time_limit_s * 1e9;
        MPI_Bcast(&has_time, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return n;
}

static void measure(const struct operation *operation, int bytes, struct span *samples)
{
    MPI_Barrier(MPI_COMM_WORLD);
    int n = (int)take_samples(operation, bytes, wanted_iterations(operation, bytes), samples);
    if (operation->call != NULL) /* the last rank to begin, and the last to end */
        MPI_Reduce(rank ? samples : MPI_IN_PLACE, samples, 2 * n, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        print_row(operation, bytes, samples, n);
}

/* Measures all sizes, 0 and powers of two, and returns how many there were. */
static long measure_sizes(const struct operation *operation, struct span *samples)
{
    long n_rows = 0;
    if (!has_sizes(operation)) {
        measure(operation, 0, samples);
        return 1;
    }
    for (long bytes = options.min_bytes; bytes <= options.max_bytes; bytes = bytes ? 2 * bytes : 1)
        if (bytes >= operation->least_bytes) {
            measure(operation, (int)bytes, samples);
            n_rows++;
        }
    return n_rows;
}

/* Start and end */

/* Returns memory that has been written to, so that no timed loop meets a page for the first time. */
static void *written_memory(size_t bytes)
{
    void *memory = aligned_alloc(PAGE_BYTES, (bytes / PAGE_BYTES + 1) * PAGE_BYTES);
    if (memory == NULL) {
        fprintf(stderr, "microbench: no %zu bytes for a buffer on rank %d; lower --max-bytes\n", bytes, rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memset(memory, 0, bytes);
}

static int fail(const char *message, const char *what)
{
    if (rank == 0)
        fprintf(stderr, "microbench: %s%s\n", message, what);
    MPI_Finalize();
    return 2;
}

/* Returns whether `text` is a number from `least` to `most`, and sets `value` to it. */
static bool read_number(const char *text, double least, double most, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= least && *value <= most;
}

static bool read_whole(const char *text, long least, long most, long *value)
{
    double number;
    if (!read_number(text, (double)least, (double)most, &number) || number != (double)(long)number)
        return false;
    *value = (long)number;
    return true;
}

static bool is_size(long bytes) { return (bytes & (bytes - 1)) == 0; }

/* Returns NULL, or what is wrong with the options. */
static const char *read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"min-bytes", required_argument, NULL, 'm'}, {"max-bytes", required_argument, NULL, 'M'},
        {"iterations", required_argument, NULL, 'i'}, {"time-limit", required_argument, NULL, 't'},
        {"window", required_argument, NULL, 'w'},     {"dump", required_argument, NULL, 'd'},
        {NULL, 0, NULL, 0}};
    int letter;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "", known, NULL)) != -1) {
        bool is_good = false;
        switch (letter) {
        case 'm': is_good = read_whole(optarg, 0, LARGEST_BYTES, &options.min_bytes); break;
        case 'M': is_good = read_whole(optarg, 1, LARGEST_BYTES, &options.max_bytes); break;
        case 'i': is_good = read_whole(optarg, 1, 100000000, &options.iterations); break;
        case 't': is_good = read_number(optarg, 1e-6, 1e6, &options.time_limit_s); break;
        case 'w': is_good = read_whole(optarg, 1, 65536, &options.window); break;
        case 'd': is_good = read_whole(optarg, 0, LARGEST_BYTES, &options.dump_bytes); break;
        }
        if (!is_good)
            return argv[optind - 1];
    }
    if (!is_size(options.min_bytes) || !is_size(options.max_bytes) || options.min_bytes > options.max_bytes)
        return "sizes must be 0 or powers of two, --min-bytes not above --max-bytes";
    return NULL;
}

static const struct operation *find_operation(const char *name)
{
    for (int i = 0; i < N_OPERATIONS; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    return NULL;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    last = n_ranks - 1;
    const char *fault = read_options(argc, argv);
    if (fault != NULL)
        return fail("bad option: ", fault);
    if (n_ranks < 2)
        return fail("it runs on 1 rank and needs 2; started on more, it was built with another MPI", "");

    const struct operation *chosen[N_OPERATIONS];
    int n_chosen = 0;
    size_t n_parts = 1;
    for (; optind < argc; optind++) {
        const struct operation *operation = find_operation(argv[optind]);
        if (operation == NULL || n_chosen == N_OPERATIONS)
            return fail("no such operation: ", argv[optind]);
        n_parts = operation->has_part_of_each_rank ? (size_t)n_ranks : n_parts;
        chosen[n_chosen++] = operation;
    }
    if (n_chosen == 0)
        return fail("name what to measure, such as pingpong", "");
    out = written_memory((size_t)options.max_bytes * n_parts);
    in = written_memory((size_t)options.max_bytes * n_parts);
    struct span *samples = written_memory((size_t)options.iterations * sizeof *samples);
    requests = written_memory((size_t)options.window * sizeof *requests);

    struct clock clock = choose_clock();
    print_header(&clock, chosen, n_chosen);
    long n_rows = 0;
    for (int i = 0; i < n_chosen; i++)
        n_rows += measure_sizes(chosen[i], samples);
    if (rank == 0)
        printf("{\"tare\":\"end\",\"rows\":%ld}\n", n_rows);
    free(requests);
    free(samples);
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
