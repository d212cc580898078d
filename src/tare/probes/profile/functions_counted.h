/* Functions with a number of elements (see functions.h). All have a twin with _c from MPI 4 on. */
#define SEND(name)                                                                                                     \
    FUNCTION(name, (const void *buffer, COUNT n, MPI_Datatype type, int peer, int tag, MPI_Comm comm),                 \
             (buffer, n, type, peer, tag, comm), count_message(fn, bytes_of(n, type), peer, comm, spent))
#define START_SEND(name, kind)                                                                                         \
    FUNCTION(name,                                                                                                     \
             (const void *buffer, COUNT n, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request), \
             (buffer, n, type, peer, tag, comm, request),                                                              \
             kind(fn, bytes_of(n, type), peer, comm, spent, request))
#define START_RECV(name, kind)                                                                                         \
    FUNCTION(name, (void *buffer, COUNT n, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *request), \
             (buffer, n, type, peer, tag, comm, request),                                                              \
             kind(fn, bytes_of(n, type), peer, comm, spent, request))
SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)
START_SEND(Isend, count_started)
START_SEND(Ibsend, count_started)
START_SEND(Issend, count_started)
START_SEND(Irsend, count_started)
START_RECV(Irecv, count_started)
START_SEND(Send_init, count_persistent)
START_SEND(Bsend_init, count_persistent)
START_SEND(Ssend_init, count_persistent)
START_SEND(Rsend_init, count_persistent)
START_RECV(Recv_init, count_persistent)
FUNCTION(Recv, (void *buffer, COUNT n, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Status *status),
         (buffer, n, type, peer, tag, comm, OWN_STATUS(status)), count_received(fn, comm, spent, status_here, result))
FUNCTION(Mrecv, (void *buffer, COUNT n, MPI_Datatype type, MPI_Message *message, MPI_Status *status),
         (buffer, n, type, matched(message), OWN_STATUS(status)),
         count_mrecv(result == MPI_SUCCESS ? bytes_received(status_here) : 0, spent))
FUNCTION(Imrecv, (void *buffer, COUNT n, MPI_Datatype type, MPI_Message *message, MPI_Request *request),
         (buffer, n, type, matched(message), request), count_imrecv(bytes_of(n, type), spent, request))
FUNCTION(Sendrecv,
         (const void *sent, COUNT n, MPI_Datatype type, int peer, int tag, void *received, COUNT n_received,
          MPI_Datatype type_received, int source, int tag_received, MPI_Comm comm, MPI_Status *status),
         (sent, n, type, peer, tag, received, n_received, type_received, source, tag_received, comm,
          OWN_STATUS(status)),
         count_both(fn, bytes_of(n, type), peer, source, comm, spent, status_here, result))
FUNCTION(Sendrecv_replace,
         (void *buffer, COUNT n, MPI_Datatype type, int peer, int tag, int source, int tag_received, MPI_Comm comm,
          MPI_Status *status),
         (buffer, n, type, peer, tag, source, tag_received, comm, OWN_STATUS(status)),
         count_both(fn, bytes_of(n, type), peer, source, comm, spent, status_here, result))
#ifdef HAS_STARTED_AND_PARTITIONED
FUNCTION(Isendrecv,
         (const void *sent, COUNT n, MPI_Datatype type, int peer, int tag, void *received, COUNT n_received,
          MPI_Datatype type_received, int source, int tag_received, MPI_Comm comm, MPI_Request *request),
         (sent, n, type, peer, tag, received, n_received, type_received, source, tag_received, comm, request),
         count_started_both(fn, bytes_of(n, type), peer, bytes_of(n_received, type_received), source, comm, spent,
                            request))
FUNCTION(Isendrecv_replace,
         (void *buffer, COUNT n, MPI_Datatype type, int peer, int tag, int source, int tag_received, MPI_Comm comm,
          MPI_Request *request),
         (buffer, n, type, peer, tag, source, tag_received, comm, request),
         count_started_both(fn, bytes_of(n, type), peer, bytes_of(n, type), source, comm, spent, request))
#endif

/* Collectives: blocking, non-blocking, and persistent where the MPI has them. */
#define COLLECTIVE(name, iname, split, bytes, args, ...)                                                               \
    FUNCTION(name, (__VA_ARGS__), args, count_collective(fn, bytes, comm, spent, split))                               \
    FUNCTION(iname, (__VA_ARGS__, MPI_Request *request), (SPLICE args, request),                                       \
             count_icollective(fn, bytes, comm, spent, request))                                                       \
    PERSISTENT_COLLECTIVE(name##_init, bytes, args, __VA_ARGS__)
#if MPI_VERSION >= 4
#define PERSISTENT_COLLECTIVE(name, bytes, args, ...)                                                                  \
    FUNCTION(name, (__VA_ARGS__, MPI_Info info, MPI_Request *request), (SPLICE args, info, request),                   \
             count_persistent_collective(fn, bytes, comm, spent, request))
#else
#define PERSISTENT_COLLECTIVE(...)
#endif
#define FROM const void *sent, COUNT n, MPI_Datatype type
#define TO void *received, COUNT n_received, MPI_Datatype type_received
#define FROM_EACH const void *sent, const COUNT n[], const DISPLACEMENT at[], MPI_Datatype type
#define TO_EACH void *received, const COUNT n_received[], const DISPLACEMENT at_received[], MPI_Datatype type_received
#define PART (sent == MPI_IN_PLACE ? bytes_of(n_received, type_received) : bytes_of(n, type))
#define OWN_PART (sent == MPI_IN_PLACE ? bytes_at_self(n_received, type_received, comm) : bytes_of(n, type))
/* Between groups the root passes MPI_ROOT and only the other side of the data, and its own group MPI_PROC_NULL. */
#define ROOTED(part, at_root) (root == MPI_PROC_NULL ? 0 : root == MPI_ROOT ? (at_root) : (part))
#define SAME_AT_ROOT ROOTED(bytes_of(n, type), bytes_of(n, type))
#define MEAN_PART                                                                                                      \
    (sent == MPI_IN_PLACE ? mean_bytes(n_received, type_received, ranks_of(comm)) : mean_bytes(n, type, ranks_of(comm)))

COLLECTIVE(Bcast, Ibcast, SPLIT_BOUND, SAME_AT_ROOT, (buffer, n, type, root, comm), void *buffer, COUNT n,
           MPI_Datatype type, int root, MPI_Comm comm)
COLLECTIVE(Reduce, Ireduce, SPLIT_BOUND, SAME_AT_ROOT, (sent, received, n, type, op, root, comm), const void *sent,
           void *received, COUNT n, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm)
COLLECTIVE(Allreduce, Iallreduce, SPLIT_EXACT, bytes_of(n, type), (sent, received, n, type, op, comm), const void *sent,
           void *received, COUNT n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
COLLECTIVE(Scan, Iscan, SPLIT_BOUND, bytes_of(n, type), (sent, received, n, type, op, comm), const void *sent,
           void *received, COUNT n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
COLLECTIVE(Exscan, Iexscan, SPLIT_BOUND, bytes_of(n, type), (sent, received, n, type, op, comm), const void *sent,
           void *received, COUNT n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, SPLIT_EXACT, bytes_of(n, type) * (uint64_t)own_ranks_of(comm),
           (sent, received, n, type, op, comm), const void *sent, void *received, COUNT n, MPI_Datatype type, MPI_Op op,
           MPI_Comm comm)
COLLECTIVE(Reduce_scatter, Ireduce_scatter, SPLIT_OF_PARTS(n, comm), sum_bytes(n, type, own_ranks_of(comm)),
           (sent, received, n, type, op, comm), const void *sent, void *received, const COUNT n[], MPI_Datatype type,
           MPI_Op op, MPI_Comm comm)
COLLECTIVE(Gather, Igather, SPLIT_BOUND, ROOTED(PART, bytes_of(n_received, type_received)),
           (sent, n, type, received, n_received, type_received, root, comm), FROM, TO, int root, MPI_Comm comm)
COLLECTIVE(Gatherv, Igatherv, SPLIT_BOUND,
           ROOTED(OWN_PART, mean_bytes(n_received, type_received, ranks_of(comm))),
           (sent, n, type, received, n_received, at_received, type_received, root, comm), FROM, TO_EACH, int root,
           MPI_Comm comm)
COLLECTIVE(Scatter, Iscatter, SPLIT_BOUND,
           ROOTED(received == MPI_IN_PLACE ? bytes_of(n, type) : bytes_of(n_received, type_received),
                  bytes_of(n, type)),
           (sent, n, type, received, n_received, type_received, root, comm), FROM, TO, int root, MPI_Comm comm)
COLLECTIVE(Scatterv, Iscatterv, SPLIT_BOUND,
           ROOTED(received == MPI_IN_PLACE ? bytes_at_self(n, type, comm) : bytes_of(n_received, type_received),
                  mean_bytes(n, type, ranks_of(comm))),
           (sent, n, at, type, received, n_received, type_received, root, comm), FROM_EACH, TO, int root, MPI_Comm comm)
COLLECTIVE(Allgather, Iallgather, SPLIT_EXACT, PART, (sent, n, type, received, n_received, type_received, comm), FROM,
           TO, MPI_Comm comm)
COLLECTIVE(Allgatherv, Iallgatherv, SPLIT_OF_PARTS(n_received, comm), OWN_PART,
           (sent, n, type, received, n_received, at_received, type_received, comm), FROM, TO_EACH, MPI_Comm comm)
COLLECTIVE(Alltoall, Ialltoall, SPLIT_EXACT, PART, (sent, n, type, received, n_received, type_received, comm), FROM, TO,
           MPI_Comm comm)
COLLECTIVE(Alltoallv, Ialltoallv, SPLIT_BOUND, MEAN_PART,
           (sent, n, at, type, received, n_received, at_received, type_received, comm), FROM_EACH, TO_EACH,
           MPI_Comm comm)
COLLECTIVE(Alltoallw, Ialltoallw, SPLIT_BOUND,
           (sent == MPI_IN_PLACE ? mean_bytes_of_types(n_received, types_received, ranks_of(comm))
                                 : mean_bytes_of_types(n, types, ranks_of(comm))),
           (sent, n, at, types, received, n_received, at_received, types_received, comm), const void *sent,
           const COUNT n[], const DISPLACEMENT at[], const MPI_Datatype types[], void *received,
           const COUNT n_received[], const DISPLACEMENT at_received[], const MPI_Datatype types_received[],
           MPI_Comm comm)
COLLECTIVE(Neighbor_allgather, Ineighbor_allgather, SPLIT_NONE, bytes_of(n, type),
           (sent, n, type, received, n_received, type_received, comm), FROM, TO, MPI_Comm comm)
COLLECTIVE(Neighbor_allgatherv, Ineighbor_allgatherv, SPLIT_NONE, bytes_of(n, type),
           (sent, n, type, received, n_received, at_received, type_received, comm), FROM, TO_EACH, MPI_Comm comm)
COLLECTIVE(Neighbor_alltoall, Ineighbor_alltoall, SPLIT_NONE, bytes_of(n, type),
           (sent, n, type, received, n_received, type_received, comm), FROM, TO, MPI_Comm comm)
COLLECTIVE(Neighbor_alltoallv, Ineighbor_alltoallv, SPLIT_NONE, mean_bytes(n, type, neighbours(comm)),
           (sent, n, at, type, received, n_received, at_received, type_received, comm), FROM_EACH, TO_EACH,
           MPI_Comm comm)
COLLECTIVE(Neighbor_alltoallw, Ineighbor_alltoallw, SPLIT_NONE, mean_bytes_of_types(n, types, neighbours(comm)),
           (sent, n, at, types, received, n_received, at_received, types_received, comm), const void *sent,
           const COUNT n[], const MPI_Aint at[], const MPI_Datatype types[], void *received, const COUNT n_received[],
           const MPI_Aint at_received[], const MPI_Datatype types_received[], MPI_Comm comm)

/* One-sided. */
#define WINDOW(name, args, ...) FUNCTION(name, (__VA_ARGS__), args, count_collective(fn, 0, comm, spent, SPLIT_NONE))
WINDOW(Win_create, (base, size, unit, info, comm, made), void *base, MPI_Aint size, DISPLACEMENT unit, MPI_Info info,
       MPI_Comm comm, MPI_Win *made)
WINDOW(Win_allocate, (size, unit, info, comm, base, made), MPI_Aint size, DISPLACEMENT unit, MPI_Info info,
       MPI_Comm comm, void *base, MPI_Win *made)
WINDOW(Win_allocate_shared, (size, unit, info, comm, base, made), MPI_Aint size, DISPLACEMENT unit, MPI_Info info,
       MPI_Comm comm, void *base, MPI_Win *made)
#define TARGET int target, MPI_Aint at_target, COUNT n_target, MPI_Datatype type_target
#define ONE_SIDED(name, rname, bytes, args, ...)                                                                       \
    FUNCTION(name, (__VA_ARGS__), args, count_one_sided(fn, bytes, target, win, spent, NULL))                          \
    FUNCTION(rname, (__VA_ARGS__, MPI_Request *request), (SPLICE args, request),                                       \
             count_one_sided(fn, bytes, target, win, spent, request))
ONE_SIDED(Put, Rput, bytes_of(n, type), (sent, n, type, target, at_target, n_target, type_target, win), FROM, TARGET,
          MPI_Win win)
ONE_SIDED(Get, Rget, bytes_of(n, type), (received, n, type, target, at_target, n_target, type_target, win),
          void *received, COUNT n, MPI_Datatype type, TARGET, MPI_Win win)
ONE_SIDED(Accumulate, Raccumulate, bytes_of(n, type),
          (sent, n, type, target, at_target, n_target, type_target, op, win), FROM, TARGET, MPI_Op op, MPI_Win win)
ONE_SIDED(Get_accumulate, Rget_accumulate, bytes_of(n_target, type_target), /* with MPI_NO_OP nothing is sent */
          (sent, n, type, received, n_received, type_received, target, at_target, n_target, type_target, op, win), FROM,
          TO, TARGET, MPI_Op op, MPI_Win win)
#undef SEND
#undef START_SEND
#undef START_RECV
#undef COLLECTIVE
#undef PERSISTENT_COLLECTIVE
#undef FROM
#undef TO
#undef FROM_EACH
#undef TO_EACH
#undef PART
#undef OWN_PART
#undef ROOTED
#undef SAME_AT_ROOT
#undef MEAN_PART
#undef WINDOW
#undef TARGET
#undef ONE_SIDED
