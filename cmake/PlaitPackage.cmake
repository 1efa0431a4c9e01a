# What other projects need of libplait: CMake's package and pkg-config's file, in the build tree and for `make install`.
# Both name the MPI that libplait was built for, by its path: another one would not fit.
include(CMakePackageConfigHelpers)

# CMake: plait_DIR is the build tree itself, or PREFIX/lib/cmake/plait.
configure_file(cmake/plaitConfig.cmake.in plaitConfig.cmake @ONLY)
write_basic_package_version_file(plaitConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(TARGETS plait EXPORT plaitTargets LIBRARY DESTINATION lib)
install(TARGETS plait_lend_omp LIBRARY DESTINATION lib)
export(EXPORT plaitTargets NAMESPACE Plait:: FILE plaitTargets.cmake)
install(EXPORT plaitTargets NAMESPACE Plait:: DESTINATION lib/cmake/plait)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/plaitConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/plaitConfigVersion.cmake
  DESTINATION lib/cmake/plait)
install(DIRECTORY include/plait DESTINATION include FILES_MATCHING PATTERN "*.h")

# pkg-config: lib/pkgconfig of the build tree or of the prefix, which is known when it is installed.
set(mpi_cflags "")
foreach(folder IN LISTS PLAIT_MPI_INCLUDE_DIRS)
  string(APPEND mpi_cflags " -I${folder}")
endforeach()
foreach(definition IN LISTS PLAIT_MPI_DEFINITIONS)
  string(APPEND mpi_cflags " -D${definition}")
endforeach()
set(mpi_libs "")
foreach(library IN LISTS PLAIT_MPI_LIBRARIES)
  get_filename_component(folder ${library} DIRECTORY)
  if(NOT folder IN_LIST CMAKE_C_IMPLICIT_LINK_DIRECTORIES)
    string(APPEND mpi_libs " -Wl,-rpath,${folder}")
    set_property(TARGET plait APPEND PROPERTY INSTALL_RPATH ${folder})
  endif()
  string(APPEND mpi_libs " ${library}")
endforeach()

set(prefix ${CMAKE_CURRENT_BINARY_DIR})
set(includedir ${CMAKE_CURRENT_SOURCE_DIR}/include)
configure_file(cmake/plait.pc.in lib/pkgconfig/plait.pc @ONLY)
set(prefix "@CMAKE_INSTALL_PREFIX@")
set(includedir "\${prefix}/include")
configure_file(cmake/plait.pc.in installed/plait.pc.in @ONLY)
set(installed ${CMAKE_CURRENT_BINARY_DIR}/installed/plait.pc)
install(CODE "configure_file(\"${installed}.in\" \"${installed}\" @ONLY)")
install(FILES ${installed} DESTINATION lib/pkgconfig)
