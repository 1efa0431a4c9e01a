// The numbers of plait-heat: one row of the plate at a time, the same bits whoever updates it, and in whatever order. Neither OpenMP nor
// MPI is seen here. Any thread may call.
#pragma once

#include "deck/digest.hpp"

namespace plait::heat {

/// Temperature at the beginning. The plate is a square of n x n points. Row 0 stays at 0, row n - 1 at 1, both sides rise evenly from 0 to
/// 1: so the steady state is known, and rises evenly everywhere. Inside it is 1/2, not 0: far from the edges a 0 would become numbers so
/// small that processors are slow with them.
void fill_row(double* row, long number, long n);

/// One step (Jacobi's, the longest that is stable) of the inner points of a row of n. Returns the largest change of a point.
double update_row(const double* above, const double* row, const double* below, double* next, long n);

/// The largest distance of a row's points from the steady state.
double distance_of_row(const double* row, long number, long n);

using deck::Digest;
/// Of a row's points; that of the plate is the sum.
Digest digest_of_row(const double* row, long number, long n);

}  // namespace plait::heat
