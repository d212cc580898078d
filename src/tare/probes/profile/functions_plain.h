/* Functions without a number of elements (see functions.h). */
FUNCTION(Barrier, (MPI_Comm comm), (comm), count_collective(fn, 0, comm, spent, SPLIT_EXACT))
FUNCTION(Ibarrier, (MPI_Comm comm, MPI_Request *request), (comm, request),
         count_icollective(fn, 0, comm, spent, request))
FUNCTION(Probe, (int peer, int tag, MPI_Comm comm, MPI_Status *status), (peer, tag, comm, status),
         count_message(fn, 0, peer, comm, spent))
FUNCTION(Iprobe, (int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (peer, tag, comm, flag, status),
         count_message(fn, 0, peer, comm, spent))
FUNCTION(Mprobe, (int peer, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status),
         (peer, tag, comm, message, status), count_message(fn, 0, peer, comm, spent))
FUNCTION(Improbe, (int peer, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status),
         (peer, tag, comm, flag, message, status), count_message(fn, 0, peer, comm, spent))
FUNCTION(Start, (MPI_Request * request), (request), count_starts(1, request, spent))
FUNCTION(Startall, (int n, MPI_Request requests[]), (n, requests), count_starts(n, requests, spent))
FUNCTION(Request_free, (MPI_Request * request), (take_requests(&taken, 1, request)),
         count_taken(fn, &taken, spent))
FUNCTION(Wait, (MPI_Request * request, MPI_Status *status), (take_requests(&taken, 1, request), status),
         wait_ended(fn, &taken, request, spent))
FUNCTION(Waitall, (int n, MPI_Request requests[], MPI_Status statuses[]),
         (n, take_requests(&taken, n, requests), statuses), wait_ended(fn, &taken, requests, spent))
FUNCTION(Waitany, (int n, MPI_Request requests[], int *index, MPI_Status *status),
         (n, take_requests(&taken, n, requests), index, status), wait_ended(fn, &taken, requests, spent))
FUNCTION(Waitsome, (int n, MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[]),
         (n, take_requests(&taken, n, requests), n_done, indices, statuses), wait_ended(fn, &taken, requests, spent))
FUNCTION(Test, (MPI_Request * request, int *flag, MPI_Status *status),
         (take_requests(&taken, 1, request), flag, status), wait_ended(fn, &taken, request, spent))
FUNCTION(Testall, (int n, MPI_Request requests[], int *flag, MPI_Status statuses[]),
         (n, take_requests(&taken, n, requests), flag, statuses), wait_ended(fn, &taken, requests, spent))
FUNCTION(Testany, (int n, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
         (n, take_requests(&taken, n, requests), index, flag, status), wait_ended(fn, &taken, requests, spent))
FUNCTION(Testsome, (int n, MPI_Request requests[], int *n_done, int indices[], MPI_Status statuses[]),
         (n, take_requests(&taken, n, requests), n_done, indices, statuses), wait_ended(fn, &taken, requests, spent))

FUNCTION(Comm_dup, (MPI_Comm comm, MPI_Comm *made), (comm, made), count_collective(fn, 0, comm, spent, SPLIT_NONE))
FUNCTION(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), (comm, group, made),
         count_collective(fn, 0, comm, spent, SPLIT_NONE))
FUNCTION(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), (comm, color, key, made),
         count_collective(fn, 0, comm, spent, SPLIT_NONE))
FUNCTION(Comm_split_type, (MPI_Comm comm, int kind, int key, MPI_Info info, MPI_Comm *made),
         (comm, kind, key, info, made), count_collective(fn, 0, comm, spent, SPLIT_NONE))
FUNCTION(Cart_create,
         (MPI_Comm comm, int n, const int sizes[], const int periods[], int reorders, MPI_Comm *made),
         (comm, n, sizes, periods, reorders, made), count_collective(fn, 0, comm, spent, SPLIT_NONE))
FUNCTION(Comm_free, (MPI_Comm * comm), (comm_ends(comm)), count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent))
FUNCTION(Comm_disconnect, (MPI_Comm * comm), (comm_ends(comm)), count(row_key(fn, 0, 0, MIXED, SPLIT_NONE), 0, spent))

FUNCTION(Win_fence, (int assertion, MPI_Win win), (assertion, win),
         count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_start, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win),
         count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_complete, (MPI_Win win), (win), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_post, (MPI_Group group, int assertion, MPI_Win win), (group, assertion, win),
         count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
FUNCTION(Win_wait, (MPI_Win win), (win), count_one_sided(fn, 0, MPI_ANY_SOURCE, win, spent, NULL))
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
