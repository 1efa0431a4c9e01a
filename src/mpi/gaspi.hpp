// What the exported functions of GASPI have in common.
#pragma once

#include <cerrno>
#include <new>
#include <system_error>

#include "base/error.hpp"
#include "gaspi/job.hpp"
#include "plait/PGASPI.h"

/// gaspi_NAME beside pgaspi_NAME, weak, so that a tool's or a program's own takes its place.
#define PLAIT_GASPI_NAME(name) extern "C" [[gnu::weak, gnu::alias("pgaspi_" #name)]] decltype(gaspi_##name) gaspi_##name

namespace plait::mpi {

/// Runs the body of an exported function; what it throws becomes an error.
template <class Body>
gaspi_return_t gaspi_guarded(Body body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return GASPI_ERR_MEMALLOC;
  } catch (const std::system_error& e) {
    return e.code().value() == EMFILE || e.code().value() == ENFILE ? GASPI_ERR_EMFILE : GASPI_ERR_ENV;
  } catch (...) {
    return GASPI_ERROR;
  }
}

/// The same between gaspi_proc_init and gaspi_proc_term.
template <class Body>
gaspi_return_t in_job(Body body) noexcept {
  gaspi::Job* const job = gaspi::current();
  if (!job) return GASPI_ERR_NOINIT;
  return gaspi_guarded([&] { return body(*job); });
}

template <class T, class Value>
gaspi_return_t gaspi_give(T* to, Value value) noexcept {
  if (!to) return GASPI_ERR_NULLPTR;
  *to = static_cast<T>(value);
  return GASPI_SUCCESS;
}

}  // namespace plait::mpi
