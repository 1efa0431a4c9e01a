// MPI's operations without the MPI: the same bits as PMPI_Reduce_local, for every operation and datatype that it takes, by all instructions
// that the processor has. 1 x 1.
#include "collective/combine.hpp"

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "collective/loops.hpp"

namespace plait::collective {
namespace {

struct Type {
  MPI_Datatype type;
  int size;
  bool floating;
};

std::vector<Type> types() {
  return {{MPI_INT, 4, false},       {MPI_LONG, 8, false},           {MPI_SHORT, 2, false},
          {MPI_UNSIGNED, 4, false},  {MPI_UNSIGNED_SHORT, 2, false}, {MPI_UNSIGNED_LONG, 8, false},
          {MPI_LONG_LONG, 8, false}, {MPI_SIGNED_CHAR, 1, false},    {MPI_UNSIGNED_CHAR, 1, false},
          {MPI_INT8_T, 1, false},    {MPI_INT16_T, 2, false},        {MPI_INT32_T, 4, false},
          {MPI_INT64_T, 8, false},   {MPI_UINT8_T, 1, false},        {MPI_UINT16_T, 2, false},
          {MPI_UINT32_T, 4, false},  {MPI_UINT64_T, 8, false},       {MPI_AINT, 8, false},
          {MPI_OFFSET, 8, false},    {MPI_COUNT, 8, false},          {MPI_FLOAT, 4, true},
          {MPI_DOUBLE, 8, true},     {MPI_DOUBLE_INT, 16, true}};
}

/// Bytes at random; where they are added or multiplied, integers that do not overflow: Open MPI 5.0.11 then leaves numbers of
/// one and two bytes at the largest. Floating-point numbers are no NaNs, of which MPI says nothing.
std::vector<std::byte> elements(const Type& t, std::size_t count, bool small, std::mt19937& random) {
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(t.size));
  for (std::size_t i = 0; i < count; ++i) {
    std::byte* const at = &bytes[i * static_cast<std::size_t>(t.size)];
    if (t.floating) {
      const double d = std::uniform_real_distribution<double>(-100, 100)(random);
      const auto f = static_cast<float>(d);
      std::memcpy(at, t.size == 4 ? static_cast<const void*>(&f) : &d, t.size == 4 ? 4 : 8);
      const int index = static_cast<int>(random() % 10);
      if (t.size == 16) std::memcpy(at + 8, &index, sizeof index);
    } else if (small) {
      at[0] = static_cast<std::byte>(random() % 10);
    } else {
      for (int b = 0; b < t.size; ++b) at[b] = static_cast<std::byte>(random() % 5 == 0 ? 0 : random());
    }
  }
  return bytes;
}

TEST(Combine, SameBitsAsTheMPI) {
  std::mt19937 random(7);
  const std::vector<MPI_Op> arithmetic{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  const std::vector<MPI_Op> integer{MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_LAND, MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR};
  const std::vector<MPI_Op> pairs{MPI_MINLOC, MPI_MAXLOC};
  for (const Type& t : types()) {
    for (const MPI_Op op : t.size == 16 ? pairs : t.floating ? arithmetic : integer) {
      for (const std::size_t count : {0, 1, 7, 100}) {
        // Open MPI 5.0.11 compares MPI_OFFSET as unsigned, Debian's MPICH 4.0.2 unsigned numbers as signed.
        const std::vector<MPI_Datatype> agreed{MPI_INT,    MPI_LONG,    MPI_SHORT,   MPI_LONG_LONG, MPI_SIGNED_CHAR,
                                               MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T};
        const bool compares = op == MPI_MIN || op == MPI_MAX;
        const bool small = op == MPI_SUM || op == MPI_PROD || (compares && std::ranges::find(agreed, t.type) == agreed.end());
        const auto lower = elements(t, count, small, random);
        const auto upper = elements(t, count, small, random);
        auto mine = upper;
        auto theirs = upper;
        ASSERT_EQ(PMPI_Reduce_local(lower.data(), theirs.data(), static_cast<int>(count), t.type, op), MPI_SUCCESS);
        Combination(t.type, op)(lower.data(), mine.data(), static_cast<MPI_Count>(count));
        char type_name[MPI_MAX_OBJECT_NAME] = {};
        int length = 0;
        MPI_Type_get_name(t.type, type_name, &length);
        const auto which = std::ranges::find(integer, op) - integer.begin();
        EXPECT_EQ(mine, theirs) << type_name << ", operation " << which << ", " << count << " elements";
        for (int i = 0; i <= static_cast<int>(best_instructions()); ++i) {
          auto result = upper;
          const Loop loop = find_loop(t.type, op, static_cast<Instructions>(i));
          ASSERT_NE(loop, nullptr) << type_name << ", operation " << which;
          loop(lower.data(), result.data(), result.data(), static_cast<std::int64_t>(count));
          EXPECT_EQ(result, theirs) << type_name << ", operation " << which << ", " << count << " elements, instructions " << i;
        }
      }
    }
  }
}

extern "C" void keep_first(void* in, void* inout, int* n, MPI_Datatype*) {
  std::memcpy(inout, in, static_cast<std::size_t>(*n) * sizeof(int));
}

TEST(Combine, OperationsOfTheProgramHaveTheLowerOperandFirst) {
  MPI_Op op = MPI_OP_NULL;
  PMPI_Op_create(keep_first, 0, &op);
  const int lower[2] = {1, 2};
  int upper[2] = {3, 4};
  Combination(MPI_INT, op)(lower, upper, 2);  // by the MPI
  EXPECT_EQ(upper[0], 1);
  remember_operation(op, keep_first);
  upper[1] = 5;
  Combination(MPI_INT, op)(lower, upper, 2);  // without
  EXPECT_EQ(upper[1], 2);
  forget_operation(op);
  PMPI_Op_free(&op);
}

}  // namespace
}  // namespace plait::collective
