# Plait::MPI, the C interface of the MPI chosen by PLAIT_MPI: mpich, openmpi or impi as scripts/setup puts them into
# .mpi/, or system, the mpicc on the PATH. Programs built with one find it at run time by their rpath.
set(PLAIT_MPI "" CACHE STRING "mpich, openmpi, impi or system")

add_library(Plait::MPI INTERFACE IMPORTED GLOBAL)
set_property(TARGET Plait::MPI PROPERTY INTERFACE_COMPILE_DEFINITIONS MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)

if(PLAIT_MPI STREQUAL "system")
  find_program(PLAIT_MPICC mpicc REQUIRED)
  set(MPI_C_COMPILER ${PLAIT_MPICC})
  find_package(MPI REQUIRED COMPONENTS C)
  set_property(TARGET Plait::MPI PROPERTY INTERFACE_LINK_LIBRARIES MPI::MPI_C)
elseif(PLAIT_MPI MATCHES "^(mpich|openmpi|impi)$")
  set(prefix ${CMAKE_CURRENT_SOURCE_DIR}/.mpi/${PLAIT_MPI})
  if(NOT EXISTS ${prefix}/.installed)
    message(FATAL_ERROR "${PLAIT_MPI} is not there yet: run scripts/setup ${PLAIT_MPI}")
  endif()
  find_package(Threads REQUIRED)
  add_library(Plait::MPILibrary SHARED IMPORTED GLOBAL)
  set_target_properties(Plait::MPILibrary PROPERTIES
    IMPORTED_LOCATION ${prefix}/lib/libmpi.so
    INTERFACE_INCLUDE_DIRECTORIES ${prefix}/include)
  set_property(TARGET Plait::MPI PROPERTY INTERFACE_LINK_LIBRARIES Plait::MPILibrary Threads::Threads)
else()
  message(FATAL_ERROR "PLAIT_MPI is '${PLAIT_MPI}': take mpich, openmpi, impi or system, or one of the presets of these names")
endif()
