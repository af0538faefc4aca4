"""mpi4py's shape: classes whose attributes cannot be set, a world of FAKE_MPI_SIZE processes."""
