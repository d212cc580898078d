/*
 * Symbols of the MPI that may be missing when the library is loaded, as in processes without MPI.
 * Open MPI's constants are addresses of data; the pragmas must precede mpi.h.
 */
#pragma weak ompi_mpi_comm_world
#pragma weak ompi_mpi_comm_self
#pragma weak ompi_mpi_comm_null
#pragma weak ompi_mpi_group_null
#pragma weak ompi_mpi_byte
#pragma weak ompi_mpi_datatype_null
#pragma weak ompi_mpi_int
#pragma weak ompi_mpi_float
#pragma weak ompi_mpi_double
#pragma weak ompi_mpi_uint64_t
#pragma weak ompi_mpi_op_min
#pragma weak ompi_mpi_info_null
#pragma weak ompi_mpi_win_null
#pragma weak ompi_message_null
#pragma weak ompi_message_no_proc
#pragma weak ompi_request_null
#pragma weak PMPI_Cartdim_get
#pragma weak PMPI_Comm_get_parent
#pragma weak PMPI_Comm_group
#pragma weak PMPI_Comm_rank
#pragma weak PMPI_Comm_remote_group
#pragma weak PMPI_Comm_remote_size
#pragma weak PMPI_Comm_size
#pragma weak PMPI_Comm_test_inter
#pragma weak PMPI_Dist_graph_neighbors_count
#pragma weak PMPI_Get_elements_x
#pragma weak PMPI_Get_library_version
#pragma weak PMPI_Get_processor_name
#pragma weak PMPI_Graph_neighbors_count
#pragma weak PMPI_Group_free
#pragma weak PMPI_Group_size
#pragma weak PMPI_Group_translate_ranks
#pragma weak PMPI_Query_thread
#pragma weak PMPI_Test_cancelled
#pragma weak PMPI_Topo_test
#pragma weak PMPI_Type_commit
#pragma weak PMPI_Type_contiguous
#pragma weak PMPI_Type_free
#pragma weak PMPI_Type_size
#pragma weak PMPI_Type_size_x
#pragma weak PMPI_Win_get_group
