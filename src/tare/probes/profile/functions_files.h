/* The functions of MPI_File_... that are counted (see functions.h): name, parameters, arguments, bytes, request. */
#ifndef COUNT
#define COUNT int
#endif
#define BYTES file_bytes(n, type)
#define ACCESS(name, constant)                                                                                         \
    FILE_FUNCTION(name, (MPI_File file, constant void *buffer, COUNT n, MPI_Datatype type, MPI_Status *status),        \
                  (file, buffer, n, type, status), BYTES, NO_REQUEST)
#define ACCESS_AT(name, constant)                                                                                      \
    FILE_FUNCTION(                                                                                                     \
        name, (MPI_File file, MPI_Offset at, constant void *buffer, COUNT n, MPI_Datatype type, MPI_Status *status),   \
        (file, at, buffer, n, type, status), BYTES, NO_REQUEST)
#define START(name, constant)                                                                                          \
    FILE_FUNCTION(name, (MPI_File file, constant void *buffer, COUNT n, MPI_Datatype type, MPI_Request *request),      \
                  (file, buffer, n, type, request), BYTES, request)
#define START_AT(name, constant)                                                                                       \
    FILE_FUNCTION(                                                                                                     \
        name, (MPI_File file, MPI_Offset at, constant void *buffer, COUNT n, MPI_Datatype type, MPI_Request *request), \
        (file, at, buffer, n, type, request), BYTES, request)
#define BEGIN(name, constant)                                                                                          \
    FILE_FUNCTION(name, (MPI_File file, constant void *buffer, COUNT n, MPI_Datatype type), (file, buffer, n, type),   \
                  BYTES, NO_REQUEST)
#define BEGIN_AT(name, constant)                                                                                       \
    FILE_FUNCTION(name, (MPI_File file, MPI_Offset at, constant void *buffer, COUNT n, MPI_Datatype type),             \
                  (file, at, buffer, n, type), BYTES, NO_REQUEST)
#define END(name, constant)                                                                                            \
    FILE_FUNCTION(name, (MPI_File file, constant void *buffer, MPI_Status *status), (file, buffer, status), 0,         \
                  NO_REQUEST)
ACCESS(read, )
ACCESS(read_all, )
ACCESS(read_shared, )
ACCESS(read_ordered, )
ACCESS(write, const)
ACCESS(write_all, const)
ACCESS(write_shared, const)
ACCESS(write_ordered, const)
ACCESS_AT(read_at, )
ACCESS_AT(read_at_all, )
ACCESS_AT(write_at, const)
ACCESS_AT(write_at_all, const)
START(iread, )
START(iread_all, )
START(iread_shared, )
START(iwrite, const)
START(iwrite_all, const)
START(iwrite_shared, const)
START_AT(iread_at, )
START_AT(iread_at_all, )
START_AT(iwrite_at, const)
START_AT(iwrite_at_all, const)
BEGIN(read_all_begin, )
BEGIN(read_ordered_begin, )
BEGIN(write_all_begin, const)
BEGIN(write_ordered_begin, const)
BEGIN_AT(read_at_all_begin, )
BEGIN_AT(write_at_all_begin, const)
#ifndef ONLY_COUNTS
END(read_all_end, )
END(read_ordered_end, )
END(write_all_end, const)
END(write_ordered_end, const)
END(read_at_all_end, )
END(write_at_all_end, const)
FILE_FUNCTION(sync, (MPI_File file), (file), 0, NO_REQUEST)
FILE_FUNCTION(set_size, (MPI_File file, MPI_Offset size), (file, size), 0, NO_REQUEST)
FILE_FUNCTION(preallocate, (MPI_File file, MPI_Offset size), (file, size), 0, NO_REQUEST)
FILE_FUNCTION(set_view,
              (MPI_File file, MPI_Offset at, MPI_Datatype etype, MPI_Datatype filetype, const char *form,
               MPI_Info info),
              (file, at, etype, filetype, form, info), 0, NO_REQUEST)
#endif
#undef BYTES
#undef ACCESS
#undef ACCESS_AT
#undef START
#undef START_AT
#undef BEGIN
#undef BEGIN_AT
#undef END
