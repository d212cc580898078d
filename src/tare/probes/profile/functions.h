/*
 * The functions of MPI that are counted, one entry each: FUNCTION(name, parameters, arguments, what to count).
 *
 * Included without an include guard wherever the list is needed: for the enumeration, the names and the wrappers.
 * COUNT and DISPLACEMENT are int, or MPI_Count and MPI_Aint for the functions of MPI 4 whose names end in _c.
 * What to count may use the parameters and `spent`, the ticks of the call.
 */
#ifndef COUNT
#define COUNT int
#define DISPLACEMENT int
#endif
#ifndef SPLICE
#define SPLICE(...) __VA_ARGS__
#endif
#ifndef WITHOUT_COUNTS
#include "functions_counted.h"
#endif
#ifndef ONLY_COUNTS
#include "functions_plain.h"
#endif
