/* Functions without a number of elements (see functions.h). */
FUNCTION(Barrier, (MPI_Comm comm), (comm), count_collective(fn, 0, comm, spent, SPLIT_EXACT))
FUNCTION(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request),
         count_icollective(fn, 0, comm, spent, request))
#if MPI_VERSION >= 4
FUNCTION(Barrier_init, (MPI_Comm comm, MPI_Info info, MPI_Request *request), (comm, info, request),
         count_persistent_collective(fn, 0, comm, spent, request))
#endif
FUNCTION(Probe, (int peer, int tag, MPI_Comm comm, MPI_Status *status), (peer, tag, comm, status),
         count_message(fn, 0, peer, comm, spent))
FUNCTION(Iprobe, (int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (peer, tag, comm, flag, status),
         count_message(fn, 0, peer, comm, spent))
FUNCTION(Mprobe, (int peer, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
         (peer, tag, comm, message, OWN_STATUS(status)),
         count_match(fn, peer, comm, spent, result == MPI_SUCCESS ? message : NULL, status_here->MPI_SOURCE))
FUNCTION(Improbe, (int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
         (peer, tag, comm, flag, message, OWN_STATUS(status)),
         count_match(fn, peer, comm, spent, result == MPI_SUCCESS && *flag ? message : NULL, status_here->MPI_SOURCE))
FUNCTION(Start, (MPI_Request * request), (request), count_starts(fn, 1, request, spent))
FUNCTION(Startall, (int n, MPI_Request requests[]), (n, requests), count_starts(fn, n, requests, spent))
FUNCTION(Request_free, (MPI_Request * request), (take_requests(&taken, 1, request)),
         count_taken(fn, &taken, spent))
#ifdef HAS_STARTED_AND_PARTITIONED
FUNCTION(Psend_init,
         (const void *buffer, int parts, MPI_Count n, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
          MPI_Info info, MPI_Request *request),
         (buffer, parts, n, type, peer, tag, comm, info, request),
         count_persistent(fn, bytes_of(parts * n, type), peer, comm, spent, request))
FUNCTION(Precv_init,
         (void *buffer, int parts, MPI_Count n, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Info info,
          MPI_Request *request),
         (buffer, parts, n, type, peer, tag, comm, info, request),
         count_persistent(fn, bytes_of(parts * n, type), peer, comm, spent, request))
#define OF_PART(name, args, ...)                                                                                       \
    FUNCTION(name, (__VA_ARGS__), args, count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent))
OF_PART(Pready, (part, request), int part, MPI_Request request)
OF_PART(Pready_range, (first, last, request), int first, int last, MPI_Request request)
OF_PART(Parrived, (request, part, flag), MPI_Request request, int part, int *flag)
#undef OF_PART
#endif
/* Waits and tests: `ended` says which requests may have ended. They are only believed if the call succeeded. */
#define WAIT(name, args, ended, ...)                                                                                   \
    FUNCTION(name, (__VA_ARGS__), args, if (result == MPI_SUCCESS) { ended; } wait_ended(fn, &taken, requests, spent))
#define REQUESTS(n) take_requests(&taken, n, requests)
#define STATUSES(n) statuses_of(&taken, n, statuses)
WAIT(Wait, (REQUESTS(1), STATUSES(1)), all_ended(&taken), MPI_Request *requests, MPI_Status *statuses)
WAIT(Waitall, (n, REQUESTS(n), STATUSES(n)), all_ended(&taken), int n, MPI_Request requests[], MPI_Status statuses[])
WAIT(Waitany, (n, REQUESTS(n), index, STATUSES(1)), request_ended(&taken, *index, 0), int n, MPI_Request requests[],
     int *index, MPI_Status *statuses)
WAIT(Waitsome, (n, REQUESTS(n), n_done, indices, STATUSES(n)), some_ended(&taken, *n_done, indices), int n,
     MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[])
WAIT(Test, (REQUESTS(1), flag, STATUSES(1)), if (*flag) all_ended(&taken), MPI_Request *requests, int *flag,
     MPI_Status *statuses)
WAIT(Testall, (n, REQUESTS(n), flag, STATUSES(n)), if (*flag) all_ended(&taken), int n, MPI_Request requests[],
     int *flag, MPI_Status statuses[])
WAIT(Testany, (n, REQUESTS(n), index, flag, STATUSES(1)), if (*flag) request_ended(&taken, *index, 0), int n,
     MPI_Request requests[], int *index, int *flag, MPI_Status *statuses)
WAIT(Testsome, (n, REQUESTS(n), n_done, indices, STATUSES(n)), some_ended(&taken, *n_done, indices), int n,
     MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[])
#undef WAIT
#undef REQUESTS
#undef STATUSES
FUNCTION(Request_get_status, (MPI_Request request, int *flag, MPI_Status *status), (request, flag, status),
         count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent))
FUNCTION(Buffer_detach, (void *buffer, int *size), (buffer, size),
         count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent))

#define MAKE(name, args, ...) FUNCTION(name, (__VA_ARGS__), args, count_collective(fn, 0, comm, spent, SPLIT_NONE))
MAKE(Comm_dup, (comm, made), MPI_Comm comm, MPI_Comm *made)
MAKE(Comm_dup_with_info, (comm, info, made), MPI_Comm comm, MPI_Info info, MPI_Comm *made)
FUNCTION(Comm_idup, (MPI_Comm comm, MPI_Comm *made, MPI_Request *request), (comm, made, request),
         count_icollective(fn, 0, comm, spent, request))
MAKE(Comm_create, (comm, group, made), MPI_Comm comm, MPI_Group group, MPI_Comm *made)
MAKE(Comm_create_group, (comm, group, tag, made), MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
MAKE(Comm_split, (comm, color, key, made), MPI_Comm comm, int color, int key, MPI_Comm *made)
MAKE(Comm_split_type, (comm, kind, key, info, made), MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made)
MAKE(Cart_create, (comm, n, sizes, periods, reorders, made), MPI_Comm comm, int n, const int sizes[],
     const int periods[], int reorders, MPI_Comm *made)
MAKE(Cart_sub, (comm, remain, made), MPI_Comm comm, const int remain[], MPI_Comm *made)
MAKE(Graph_create, (comm, n, index, edges, reorders, made), MPI_Comm comm, int n, const int index[], const int edges[],
     int reorders, MPI_Comm *made)
MAKE(Dist_graph_create, (comm, n, sources, degrees, targets, weights, info, reorders, made), MPI_Comm comm, int n,
     const int sources[], const int degrees[], const int targets[], const int weights[], MPI_Info info, int reorders,
     MPI_Comm *made)
MAKE(Dist_graph_create_adjacent, (comm, n_in, sources, weights_in, n_out, targets, weights_out, info, reorders, made),
     MPI_Comm comm, int n_in, const int sources[], const int weights_in[], int n_out, const int targets[],
     const int weights_out[], MPI_Info info, int reorders, MPI_Comm *made)
MAKE(Intercomm_create, (comm, leader, peers, other_leader, tag, made), MPI_Comm comm, int leader, MPI_Comm peers,
     int other_leader, int tag, MPI_Comm *made)
MAKE(Intercomm_merge, (comm, is_high, made), MPI_Comm comm, int is_high, MPI_Comm *made)
MAKE(Comm_spawn, (command, argv, n, info, root, comm, made, errors), const char *command, char *argv[], int n,
     MPI_Info info, int root, MPI_Comm comm, MPI_Comm *made, int errors[])
MAKE(Comm_spawn_multiple, (n, commands, argv, n_each, infos, root, comm, made, errors), int n, char *commands[],
     char **argv[], const int n_each[], const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm *made, int errors[])
MAKE(Comm_accept, (port, info, root, comm, made), const char *port, MPI_Info info, int root, MPI_Comm comm,
     MPI_Comm *made)
MAKE(Comm_connect, (port, info, root, comm, made), const char *port, MPI_Info info, int root, MPI_Comm comm,
     MPI_Comm *made)
MAKE(Win_create_dynamic, (info, comm, made), MPI_Info info, MPI_Comm comm, MPI_Win *made)
#undef MAKE
#define UNMAKE(name)                                                                                                   \
    FUNCTION(name, (MPI_Comm * comm), (comm_ends(comm)),                                                               \
             count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent - taken.own))
UNMAKE(Comm_free)
UNMAKE(Comm_disconnect)
#undef UNMAKE

FUNCTION(Win_fence, (int assertion, MPI_Win win), (assertion, win),
         count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win),
         count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_complete, (MPI_Win win), (win), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win),
         count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_wait, (MPI_Win win), (win), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_test, (MPI_Win win, int *flag), (win, flag), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_lock, (int kind, int target, int assertion, MPI_Win win), (kind, target, assertion, win),
         count_one_sided(fn, 0, target, win, spent, NULL))
FUNCTION(Win_unlock, (int target, MPI_Win win), (target, win), count_one_sided(fn, 0, target, win, spent, NULL))
FUNCTION(Win_lock_all, (int assertion, MPI_Win win), (assertion, win),
         count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_unlock_all, (MPI_Win win), (win), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_flush, (int target, MPI_Win win), (target, win), count_one_sided(fn, 0, target, win, spent, NULL))
FUNCTION(Win_flush_all, (MPI_Win win), (win), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_flush_local, (int target, MPI_Win win), (target, win), count_one_sided(fn, 0, target, win, spent, NULL))
FUNCTION(Win_flush_local_all, (MPI_Win win), (win), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_free, (MPI_Win * win), (window_ends(win)), count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent))
FUNCTION(Fetch_and_op,
         (const void *sent, void *received, MPI_Datatype type, int target, MPI_Aint at, MPI_Op op, MPI_Win win),
         (sent, received, type, target, at, op, win), count_one_sided(fn, bytes_of(1, type), target, win, spent, NULL))
FUNCTION(Compare_and_swap,
         (const void *sent, const void *compared, void *received, MPI_Datatype type, int target, MPI_Aint at,
          MPI_Win win),
         (sent, compared, received, type, target, at, win),
         count_one_sided(fn, bytes_of(1, type), target, win, spent, NULL))
