/* Gather the rows of all ranks, and write them as one JSON file. Times are in seconds, sizes in bytes. */
#define _GNU_SOURCE
#include "profile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern HIDDEN const char *const profile_file_names[];

/* A row as it is sent, and as rank 0 sorts it. */
struct sent_row {
    uint64_t key, calls, bytes;
    double seconds, others, transfer, waiting; /* of the thread that called MPI_Init; others: of all others */
    int rank;
    char type[24], point[104];
};

struct totals {
    double wall, computation, overhead;
    uint64_t kept, unsplit, lost_requests, overflow;
    int n_rows, threads, node;
    char host[MPI_MAX_PROCESSOR_NAME];
};

static int by_key(const void *left, const void *right)
{
    const struct sent_row *a = left, *b = right;
    const int types = strcmp(a->type, b->type), points = strcmp(a->point, b->point);
    /* The number of a mount differs between ranks. */
    const uint64_t x = a->key >> 62 & 1 ? a->key & ~0xffffffffull : a->key;
    const uint64_t y = b->key >> 62 & 1 ? b->key & ~0xffffffffull : b->key;
    if (x != y)
        return x > y ? 1 : -1;
    return types ? types : points ? points : a->rank - b->rank;
}

static int is_same(const struct sent_row *a, const struct sent_row *b)
{
    struct sent_row same = *b;
    same.rank = a->rank;
    return by_key(a, &same) == 0;
}

static int add_row(struct sent_row *to, const struct row *row, int rank, int is_main)
{
    if (!row->calls && !row->ticks)
        return 0;
    memset(to, 0, sizeof *to);
    to->key = row->key;
    to->calls = row->calls;
    to->bytes = row->bytes;
    if (is_main) {
        to->seconds = (double)row->ticks * profile_tick_s;
        to->transfer = (double)row->transfer * profile_tick_s;
        to->waiting = (double)row->waiting * profile_tick_s;
    } else {
        to->others = (double)row->ticks * profile_tick_s;
    }
    to->rank = rank;
    if (row->key >> 62 & 1) {
        strcpy(to->type, mount_type((int)(uint32_t)row->key));
        strcpy(to->point, mount_point((int)(uint32_t)row->key));
    }
    return 1;
}

/* Add up the rows of all threads of this rank. */
static struct sent_row *rows_here(int rank, double call_cost_s, struct totals *totals)
{
    size_t room = 1;
    for (struct table *table = table_first(); table; table = table->next)
        room += table->n_rows + 1;
    struct sent_row *rows = calloc(room, sizeof *rows);
    uint64_t n_calls = 0, own_ticks = 0;
    int n = 0;
    totals->computation = totals->wall;
    for (struct table *table = table_first(); rows && table; table = table->next) {
        const int first = n;
        for (int i = 0; i < ROWS; i++)
            n += add_row(&rows[n], &table->rows[i], rank, table->is_main);
        n += add_row(&rows[n], &table->other, rank, table->is_main);
        for (int i = first; i < n; i++) {
            n_calls += rows[i].calls;
            totals->computation -= rows[i].seconds;
        }
        totals->computation -= table->is_main ? (double)table->own_ticks * profile_tick_s : 0;
        own_ticks += table->own_ticks;
        totals->overflow += table->overflow;
        totals->threads++;
    }
    totals->overhead = (double)own_ticks * profile_tick_s + (double)n_calls * call_cost_s;
    if (totals->computation < 0)
        totals->computation = 0;
    if (n > 0)
        qsort(rows, (size_t)n, sizeof *rows, by_key);
    int kept = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0 || by_key(&rows[i], &rows[kept - 1]) != 0) {
            rows[kept++] = rows[i];
            continue;
        }
        struct sent_row *to = &rows[kept - 1];
        to->calls += rows[i].calls;
        to->bytes += rows[i].bytes;
        to->seconds += rows[i].seconds;
        to->others += rows[i].others;
        to->transfer += rows[i].transfer;
        to->waiting += rows[i].waiting;
    }
    totals->n_rows = kept;
    return rows;
}

/* Write a string of JSON; bytes that are no ASCII become question marks. */
static void put_text(FILE *file, const char *text)
{
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fprintf(file, "\\%c", *text);
        else if (*text >= ' ' && *text <= '~')
            fputc(*text, file);
        else
            fputc('?', file);
    }
    fputc('"', file);
}

/* Write the name and version of the MPI: "Open MPI 4.1.4". */
static void put_version(FILE *file)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "", short_text[128] = "";
    int n = 0;
    PMPI_Get_library_version(text, &n);
    size_t to = 0;
    for (const char *at = text; *at && *at != ',' && *at != '\n' && to < sizeof short_text - 1; at++) {
        if (strncmp(at, "Version:", 8) == 0)
            at += 8;
        if (*at == '\n')
            break;
        const int is_blank = *at == ' ' || *at == '\t';
        if (is_blank && (to == 0 || short_text[to - 1] == ' '))
            continue;
        if (*at == 'v' && to && short_text[to - 1] == ' ' && at[1] >= '0' && at[1] <= '9')
            continue;
        short_text[to++] = is_blank ? ' ' : *at;
    }
    while (to && short_text[to - 1] == ' ')
        to--;
    short_text[to] = 0;
    put_text(file, short_text);
}

enum column { CALLS, BYTES, SECONDS, OTHERS, TRANSFER, WAITING };

static const char *const column_names[] = {"calls", "bytes", "seconds", "other_threads_s", "transfer_s", "waiting_s"};

/* Write one column of the rows from `first` to `last`, which are of one kind: one value for each rank. */
static void put_column(FILE *file, enum column column, const struct sent_row *first, const struct sent_row *last,
                       int n_ranks)
{
    fprintf(file, ", \"%s\": [", column_names[column]);
    for (int rank = 0; rank < n_ranks; rank++) {
        const struct sent_row none = {0}, *row = first < last && first->rank == rank ? first++ : &none;
        fputs(rank ? ", " : "", file);
        const double times[] = {0, 0, row->seconds, row->others, row->transfer, row->waiting};
        if (column == CALLS || column == BYTES)
            fprintf(file, "%llu", (unsigned long long)(column == CALLS ? row->calls : row->bytes));
        else
            fprintf(file, "%.9g", times[column]);
    }
    fputc(']', file);
}

static void put_function(FILE *file, const struct sent_row *first, const struct sent_row *last, int n_ranks)
{
    static const char *const places[] = {"intra", "inter", "mixed"}, *const splits[] = {"none", "bound", "exact"};
    const unsigned size_bits = first->key >> 56 & 63, split = first->key >> 52 & 3;
    fprintf(file, "  {\"function\": \"%s\", \"size_class\": %llu, \"comm_size\": %u, \"locality\": \"%s\"",
            profile_names[first->key >> 40 & 0xfff], size_bits ? 1ull << (size_bits - 1) : 0ull,
            first->key & 0xffffffffu ? (unsigned)(first->key & 0xffffffffu) : 1u, places[first->key >> 54 & 3]);
    fprintf(file, ", \"split\": \"%s\"", splits[split]);
    for (enum column column = CALLS; column <= (split == SPLIT_NONE ? OTHERS : WAITING); column++)
        put_column(file, column, first, last, n_ranks);
    fputc('}', file);
}

static void put_file(FILE *file, const struct sent_row *first, const struct sent_row *last, int n_ranks)
{
    fprintf(file, "  {\"operation\": \"%s\", \"file_system\": ", profile_file_names[first->key >> 40 & 0xfff]);
    put_text(file, first->type);
    fputs(", \"path_prefix\": ", file);
    put_text(file, first->point);
    for (enum column column = CALLS; column <= OTHERS; column++)
        put_column(file, column, first, last, n_ranks);
    fputc('}', file);
}

static void put_rows(FILE *file, const struct sent_row *rows, int n, int n_ranks, int are_files)
{
    const char *between = "\n";
    for (int i = 0, next; i < n; i = next) {
        for (next = i + 1; next < n && is_same(&rows[i], &rows[next]);)
            next++;
        if ((int)(rows[i].key >> 62 & 1) != are_files)
            continue;
        fputs(between, file);
        between = ",\n";
        (are_files ? put_file : put_function)(file, &rows[i], &rows[next], n_ranks);
    }
}

static void put_times(FILE *file, const char *name, const struct totals *totals, int n_ranks, size_t offset)
{
    fprintf(file, " \"%s\": [", name);
    for (int rank = 0; rank < n_ranks; rank++) {
        double value;
        memcpy(&value, (const char *)&totals[rank] + offset, sizeof value);
        fprintf(file, "%s%.9g", rank ? ", " : "", value);
    }
    fputs("],\n", file);
}

static int write_file(const char *path, const struct totals *totals, const struct sent_row *rows, int n, int n_ranks)
{
    struct totals sum = {0};
    FILE *file = fopen(path, "we");
    if (!file)
        return 0;
    fputs("{\"version\": 1, \"mpi\": ", file);
    put_version(file);
    fprintf(file, ", \"ranks\": %d,\n \"nodes\": [", n_ranks);
    for (int rank = 0; rank < n_ranks; rank++) {
        fputs(rank ? ", " : "", file);
        put_text(file, totals[totals[rank].node].host);
        sum.kept += totals[rank].kept;
        sum.unsplit += totals[rank].unsplit;
        sum.lost_requests += totals[rank].lost_requests;
        sum.overflow += totals[rank].overflow;
        sum.threads = totals[rank].threads > sum.threads ? totals[rank].threads : sum.threads;
    }
    fputs("],\n", file);
    put_times(file, "wall_s", totals, n_ranks, offsetof(struct totals, wall));
    put_times(file, "computation_s", totals, n_ranks, offsetof(struct totals, computation));
    fputs(" \"functions\": [", file);
    put_rows(file, rows, n, n_ranks, 0);
    fputs("],\n \"files\": [", file);
    put_rows(file, rows, n, n_ranks, 1);
    fprintf(file, "],\n \"instances_kept\": %llu, \"instances_dropped\": %llu,\n", (unsigned long long)sum.kept,
            (unsigned long long)sum.unsplit);
    put_times(file, "overhead_s", totals, n_ranks, offsetof(struct totals, overhead));
    fprintf(file, " \"threads\": %d, \"requests_lost\": %llu, \"rows_lost\": %llu, \"complete\": true}\n", sum.threads,
            (unsigned long long)sum.lost_requests, (unsigned long long)sum.overflow);
    const int failed = fflush(file) != 0 || ferror(file);
    return fclose(file) == 0 && !failed;
}

/* Write the file under another name first: half a file never has the right name. */
static void write_whole(const char *path, const struct totals *totals, const struct sent_row *rows, int n, int n_ranks)
{
    char *other = NULL;
    if (asprintf(&other, "%s.part", path) < 0)
        return;
    if (!write_file(other, totals, rows, n, n_ranks) || rename(other, path) != 0) {
        perror("tare profile: cannot write the profile");
        unlink(other);
    }
    free(other);
}

/* Gather what all ranks have counted; rank 0 writes it to `path`. Collective. */
void report_write(const char *path, double wall_s, double call_cost_s)
{
    struct totals mine = {.wall = wall_s}, *totals = NULL;
    int me, n_ranks, length, n = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &me);
    PMPI_Comm_size(MPI_COMM_WORLD, &n_ranks);
    struct sent_row *rows = rows_here(me, call_cost_s, &mine), *all = NULL;
    int *sizes = NULL, *offsets = NULL;
    MPI_Datatype row_type;
    mine.kept = profile_kept;
    mine.unsplit = profile_dropped;
    mine.lost_requests = profile_lost_requests;
    mine.node = nodes_of_ranks()[me];
    PMPI_Get_processor_name(mine.host, &length);
    if (me == 0) {
        totals = calloc((size_t)n_ranks, sizeof *totals);
        sizes = calloc((size_t)n_ranks, sizeof *sizes);
        offsets = calloc((size_t)n_ranks, sizeof *offsets);
    }
    PMPI_Gather(&mine, (int)sizeof mine, MPI_BYTE, totals, (int)sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int rank = 0; me == 0 && rank < n_ranks; rank++) {
        sizes[rank] = totals[rank].n_rows;
        offsets[rank] = n;
        n += totals[rank].n_rows;
    }
    if (me == 0)
        all = calloc((size_t)n + 1, sizeof *all);
    PMPI_Type_contiguous((int)sizeof *rows, MPI_BYTE, &row_type); /* so that counts are those of rows, not of bytes */
    PMPI_Type_commit(&row_type);
    PMPI_Gatherv(rows, mine.n_rows, row_type, all, sizes, offsets, row_type, 0, MPI_COMM_WORLD);
    PMPI_Type_free(&row_type);
    if (me == 0 && all) {
        qsort(all, (size_t)n, sizeof *all, by_key);
        write_whole(path, totals, all, n, n_ranks);
    }
    free(rows);
    free(all);
    free(totals);
    free(sizes);
    free(offsets);
}
