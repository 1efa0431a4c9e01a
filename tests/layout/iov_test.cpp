// The exported MPIX_Type_iov_len and MPIX_Type_iov.
#include <gtest/gtest.h>
#include <plait/mpix.h>

#include <vector>

#include "datatypes.hpp"

namespace plait::layout::test {
namespace {

/// Counts what reaches the error handlers of the two communicators MPI may use, and restores them.
class CaughtErrors {
 public:
  CaughtErrors() {
    calls = 0;
    MPI_Comm_create_errhandler(count, &counting_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting_);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, counting_);
  }
  ~CaughtErrors() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&counting_);
  }
  static inline int calls = 0;

 private:
  static void count(MPI_Comm*, int*, ...) { ++calls; }

  MPI_Errhandler counting_;
};

int error_class(int code) {
  int c = 0;
  MPI_Error_class(code, &c);
  return c;
}

class Iov : public testing::Test {
 protected:
  Iov() {
    MPI_Type_vector(4, 2, 5, MPI_INT, &type);  // 8 bytes every 20
    MPI_Type_commit(&type);
  }
  ~Iov() override { MPI_Type_free(&type); }

  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Count n = -7, bytes = -7;
};

TEST_F(Iov, LengthOfAllByMinusOneAndByMore) {
  for (const MPI_Count most : {MPI_Count{-1}, MPI_Count{32}, MPI_Count{1} << 40}) {
    ASSERT_EQ(MPIX_Type_iov_len(type, most, &n, &bytes), MPI_SUCCESS);
    EXPECT_EQ(n, 4);
    EXPECT_EQ(bytes, 32);
  }
}

TEST_F(Iov, LengthCountsWholeSegmentsOnly) {
  const MPI_Count expected[][3] = {{0, 0, 0}, {7, 0, 0}, {8, 1, 8}, {9, 1, 8}, {31, 3, 24}};
  for (const auto& [most, segments, in_them] : expected) {
    ASSERT_EQ(MPIX_Type_iov_len(type, most, &n, &bytes), MPI_SUCCESS);
    EXPECT_EQ(n, segments);
    EXPECT_EQ(bytes, in_them);
  }
}

TEST_F(Iov, ListsFromAnOffsetAsManyAsFit) {
  std::vector<MPIX_Iov> iov(10);
  ASSERT_EQ(MPIX_Type_iov(type, 1, iov.data(), 2, &n), MPI_SUCCESS);
  ASSERT_EQ(n, 2);
  EXPECT_EQ(reinterpret_cast<MPI_Aint>(iov[0].iov_base), 20);
  EXPECT_EQ(iov[0].iov_len, 8);
  EXPECT_EQ(reinterpret_cast<MPI_Aint>(iov[1].iov_base), 40);
  EXPECT_EQ(iov[2].iov_len, 0);
  ASSERT_EQ(MPIX_Type_iov(type, 1, iov.data(), 10, &n), MPI_SUCCESS);
  EXPECT_EQ(n, 3);
  ASSERT_EQ(MPIX_Type_iov(type, 4, iov.data(), 10, &n), MPI_SUCCESS);
  EXPECT_EQ(n, 0);
  ASSERT_EQ(MPIX_Type_iov(type, 0, nullptr, 0, &n), MPI_SUCCESS);
  EXPECT_EQ(n, 0);
}

TEST_F(Iov, PredefinedDatatypesHaveOneSegment) {
  MPIX_Iov iov;
  ASSERT_EQ(MPIX_Type_iov_len(MPI_DOUBLE, -1, &n, &bytes), MPI_SUCCESS);
  EXPECT_EQ(n, 1);
  EXPECT_EQ(bytes, 8);
  ASSERT_EQ(MPIX_Type_iov(MPI_DOUBLE, 0, &iov, 1, &n), MPI_SUCCESS);
  EXPECT_EQ(iov.iov_len, 8);
}

TEST_F(Iov, ListsOfRandomDatatypesAreTheirSegments) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    Sample s = random_datatype(random, static_cast<int>(random.in(0, 3)));
    if (addresses(s.map).size() > 4000) continue;
    MPI_Datatype t = s.type.get();
    MPI_Type_commit(&t);
    const auto expected = segments(s.map);
    std::vector<MPIX_Iov> iov(expected.size() + 1);
    ASSERT_EQ(MPIX_Type_iov(t, 0, iov.data(), static_cast<MPI_Count>(iov.size()), &n), MPI_SUCCESS);
    ASSERT_EQ(n, static_cast<MPI_Count>(expected.size())) << seed << ": " << s.name;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      ASSERT_EQ(reinterpret_cast<MPI_Aint>(iov[k].iov_base), expected[k].offset) << seed << ": " << s.name;
      ASSERT_EQ(iov[k].iov_len, expected[k].bytes);
    }
  }
}

TEST_F(Iov, BadArgumentsReachTheErrorHandlerOnceAndLeaveTheOutputs) {
  const CaughtErrors caught;
  MPI_Datatype uncommitted;
  MPI_Type_vector(2, 1, 2, MPI_INT, &uncommitted);
  MPI_Datatype freed;
  MPI_Type_dup(type, &freed);
  MPI_Type_free(&freed);
  MPIX_Iov iov;
  int calls = 0;
  const auto expect = [&](int expected, int code) {
    EXPECT_EQ(error_class(code), expected);
    EXPECT_EQ(CaughtErrors::calls, ++calls);
    EXPECT_EQ(n, -7);
    EXPECT_EQ(bytes, -7);
  };
  expect(MPI_ERR_TYPE, MPIX_Type_iov_len(uncommitted, -1, &n, &bytes));
  expect(MPI_ERR_TYPE, MPIX_Type_iov(uncommitted, 0, &iov, 1, &n));
  expect(MPI_ERR_TYPE, MPIX_Type_iov_len(freed, -1, &n, &bytes));
  expect(MPI_ERR_TYPE, MPIX_Type_iov(MPI_DATATYPE_NULL, 0, &iov, 1, &n));
  expect(MPI_ERR_COUNT, MPIX_Type_iov_len(type, -2, &n, &bytes));
  expect(MPI_ERR_COUNT, MPIX_Type_iov(type, -1, &iov, 1, &n));
  expect(MPI_ERR_COUNT, MPIX_Type_iov(type, 0, &iov, -1, &n));
  expect(MPI_ERR_ARG, MPIX_Type_iov_len(type, -1, nullptr, &bytes));
  expect(MPI_ERR_ARG, MPIX_Type_iov_len(type, -1, &n, nullptr));
  expect(MPI_ERR_ARG, MPIX_Type_iov(type, 0, nullptr, 1, &n));
  expect(MPI_ERR_ARG, MPIX_Type_iov(type, 0, &iov, 1, nullptr));
  MPI_Type_free(&uncommitted);
}

}  // namespace
}  // namespace plait::layout::test
