#include "mpi/error.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <string_view>

#include "transport/packets.hpp"

namespace plait::mpi {
namespace {

struct ErrorClass {
  int number;
  const char* name;
  const char* text;
};

/// Those that plait gives. docs/errors.md says of each when.
const ErrorClass kClasses[] = {
    {MPI_ERR_ARG, "MPI_ERR_ARG", "an argument is not valid here"},
    {MPI_ERR_BASE, "MPI_ERR_BASE", "no block of memory begins at that address"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER", "the buffer is not valid"},
    {MPI_ERR_COMM, "MPI_ERR_COMM", "the communicator is not of the kind that the call takes"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT", "the count is not valid"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS", "the dimensions are not valid"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP", "the group is not of the kind that the call takes"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE", "a value of the info object is not valid"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN", "a mistake of plait's"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS", "a request has failed; its status says how"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL", "the key is not valid"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM", "there is not enough memory"},
    {MPI_ERR_OP, "MPI_ERR_OP", "the operation is not valid"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER", "the call has failed"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING", "operations are not complete"},
    {MPI_ERR_RANK, "MPI_ERR_RANK", "the rank is not valid"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST", "the request or message has ended, was not started, or is of a kind that the call does not take"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT", "the root is not valid"},
    {MPI_ERR_TAG, "MPI_ERR_TAG", "the tag is not valid"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY", "the communicator's topology is not of the kind that the call takes"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE", "the message is larger than the receive buffer"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE", "the datatype is not valid"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION",
     "plait does not have this call on such a communicator, or this machine lacks what it needs"},
};

/// `where`: ", on communicator halo" or nothing.
void say(const char* call, int code, const char* where) noexcept {
  int rank = 0;
  if (transport::world_exists()) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int error_class = MPI_ERR_OTHER;
  PMPI_Error_class(code, &error_class);
  const auto* const known = std::ranges::find(kClasses, error_class, &ErrorClass::number);
  if (known != std::end(kClasses)) {
    std::fprintf(stderr, "plait: %s: %s (%s)%s, rank %d\n", call, known->text, known->name, where, rank);
    return;
  }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  PMPI_Error_string(code, text.data(), &length);
  std::fprintf(stderr, "plait: %s: %s%s, rank %d\n", call, text.data(), where, rank);
}

/// Gives back what the MPI has handed out.
bool is_fatal(MPI_Errhandler handler) noexcept {
  const bool fatal = ends_the_job(handler);
  if (!fatal && handler != MPI_ERRORS_RETURN) PMPI_Errhandler_free(&handler);
  return fatal;
}

}  // namespace

bool ends_the_job(MPI_Errhandler handler) noexcept {
#ifdef MPI_ERRORS_ABORT
  if (handler == MPI_ERRORS_ABORT) return true;
#endif
  return handler == MPI_ERRORS_ARE_FATAL;
}

void name_if_fatal(MPI_Comm comm, bool named, int code, const char* call) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Comm_get_errhandler(comm, &handler) != MPI_SUCCESS || !is_fatal(handler)) return;
  std::array<char, MPI_MAX_OBJECT_NAME> name{};
  std::array<char, MPI_MAX_OBJECT_NAME + 32> where{};
  int length = 0;
  if (named && PMPI_Comm_get_name(comm, name.data(), &length) == MPI_SUCCESS) {
    std::snprintf(where.data(), where.size(), ", on communicator %s", length > 0 ? name.data() : "without a name");
  }
  say(call, code, where.data());
}

void name_if_fatal_on_window(MPI_Win window, int code, const char* call) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Win_get_errhandler(window, &handler) == MPI_SUCCESS && is_fatal(handler)) say(call, code, ", on a window");
}

void name_if_fatal_on_file(MPI_File file, int code, const char* call) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_File_get_errhandler(file, &handler) == MPI_SUCCESS && is_fatal(handler)) say(call, code, ", on a file");
}

#if MPI_VERSION >= 4
void name_if_fatal_on_session(MPI_Session session, int code, const char* call) noexcept {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (PMPI_Session_get_errhandler(session, &handler) == MPI_SUCCESS && is_fatal(handler)) say(call, code, "");
}
#endif

}  // namespace plait::mpi
