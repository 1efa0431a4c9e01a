// Matrix Market files, good ones and bad ones.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "error.hpp"
#include "rows.hpp"

namespace plait::spmv {
namespace {

/// A file with that text, for as long as it lives.
class File {
 public:
  explicit File(const std::string& text) : path_(testing::TempDir() + "spmv_market." + std::to_string(getpid())) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~File() { unlink(path_.c_str()); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

Market read(const std::string& text) { return read_market(File(text).path()); }

const std::string kReal = "%%MatrixMarket matrix coordinate real general\n";

TEST(Market, EntriesAreSortedByRowsAndColumns) {
  const Market m = read(kReal + "% a comment\n\n3 3 4\n3 1 -2.5e0\n1 3 +4\n% another\n1 1 1\n\n3 3 .5\n");
  EXPECT_EQ(m.rows, 3);
  EXPECT_EQ(m.start, (std::vector<long>{0, 2, 2, 4}));
  EXPECT_EQ(m.column, (std::vector<long>{0, 2, 0, 2}));
  EXPECT_EQ(m.value, (std::vector<double>{1, 4, -2.5, 0.5}));
  EXPECT_EQ(m.column_sum, (std::vector<double>{-1.5, 0, 4.5}));
  EXPECT_EQ(m.column_size, (std::vector<double>{3.5, 0, 4.5}));
}

TEST(Market, LinesMayEndAsElsewhereAndWordsBeWrittenInCapitals) {
  const Market m = read("%%matrixmarket MATRIX Coordinate INTEGER General\r\n2 2 2\r\n1 2 7\r\n2 1 -3");
  EXPECT_EQ(m.value, (std::vector<double>{7, -3}));
}

TEST(Market, ThatIsSymmetricHasBothHalves) {
  const Market m = read("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2\n3 1 5\n3 2 -1\n");
  EXPECT_EQ(m.start, (std::vector<long>{0, 2, 3, 5}));
  EXPECT_EQ(m.column, (std::vector<long>{0, 2, 2, 0, 1}));
  EXPECT_EQ(m.value, (std::vector<double>{2, 5, -1, 5, -1}));
}

TEST(Market, ThatIsSkewSymmetricHasTheOtherHalfWithTheOtherSign) {
  const Market m = read("%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n");
  EXPECT_EQ(m.value, (std::vector<double>{-5, 5}));
}

TEST(Market, PatternsAreOnes) {
  const Market m = read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n");
  EXPECT_EQ(m.value, (std::vector<double>{1, 1, 1}));
}

TEST(Market, WhatIsThereTwiceCountsTwice) {
  const Market m = read(kReal + "1 1 2\n1 1 3\n1 1 4\n");
  EXPECT_EQ(m.value, (std::vector<double>{3, 4}));
  EXPECT_EQ(m.column_sum, (std::vector<double>{7}));
}

struct Bad {
  const char* name;
  std::string text;
  const char* says;
};
void PrintTo(const Bad& b, std::ostream* out) { *out << b.name; }

class BadMarketTest : public testing::TestWithParam<Bad> {};

TEST_P(BadMarketTest, IsRefusedInOneLineThatNamesThePlace) {
  const File file(GetParam().text);
  try {
    (void)read_market(file.path());
    FAIL() << "nothing was said";
  } catch (const Error& e) {
    const std::string line = e.what();
    EXPECT_EQ(line.rfind(file.path(), 0), 0U) << line;
    EXPECT_NE(line.find(GetParam().says), std::string::npos) << line;
    EXPECT_LT(line.size(), file.path().size() + 160);
  }
}

const std::string kSymmetric = "%%MatrixMarket matrix coordinate real symmetric\n";

INSTANTIATE_TEST_SUITE_P(
    All, BadMarketTest,
    testing::Values(
        Bad{"Empty", "", "is not a Matrix Market file"}, Bad{"OtherFile", "P6\n512 512\n", "is not a Matrix Market file"},
        Bad{"ShortBanner", "%%MatrixMarket matrix coordinate\n", ":1: %%MatrixMarket must be followed by: matrix coordinate real"},
        Bad{"Vector", "%%MatrixMarket vector coordinate real general\n", ":1: %%MatrixMarket must be followed by"},
        Bad{"Array", "%%MatrixMarket matrix array real general\n", ":1: the format is array; it must be coordinate"},
        Bad{"LongBanner", "%%MatrixMarket matrix " + std::string(5000, 'x') + " real general\n", "xxx...; it must be coordinate"},
        Bad{"Complex", "%%MatrixMarket matrix coordinate complex general\n", ":1: the values are complex; they must be real, integer"},
        Bad{"Hermitian", "%%MatrixMarket matrix coordinate real hermitian\n", ":1: the matrix is hermitian; it must be general"},
        Bad{"NoSize", kReal + "% nothing\n", "ends before its size line"},
        Bad{"TwoSizes", kReal + "3 3\n", ":2: '3 3' must be three whole numbers"},
        Bad{"NegativeSize", kReal + "\n3 3 -1\n", ":3: '3 3 -1' must be three whole numbers"},
        Bad{"NoRows", kReal + "0 0 0\n", ":2: '0 0 0' must be three"},
        Bad{"NotSquare", kReal + "3 4 1\n", ":2: the matrix has 3 rows and 4 columns; it must be square"},
        Bad{"TooLarge", kReal + "9000000000000000000 9000000000000000000 1\n", "GB of memory"},
        Bad{"RowBelow", kReal + "3 3 1\n0 1 1\n", ":3: row 0 is not one of 1 to 3"},
        Bad{"RowBeyond", kReal + "3 3 1\n4 1 1\n", ":3: row 4 is not one of 1 to 3"},
        Bad{"ColumnBeyond", kReal + "3 3 1\n% c\n1 4 1\n", ":4: column 4 is not one of 1 to 3"},
        Bad{"NoNumber", kReal + "3 3 2\n1 1 1\n1 2 x\n", ":4: the value in '1 2 x' is no number"},
        Bad{"HalfANumber", kReal + "3 3 1\n1 2 1.5x\n", ":3: the value in '1 2 1.5x' is no number"},
        Bad{"Infinite", kReal + "3 3 1\n1 2 inf\n", ":3: the value in '1 2 inf' is no number that a double holds"},
        Bad{"BeyondADouble", kReal + "3 3 1\n1 2 1e999\n", ":3: the value in '1 2 1e999' is no number that a double holds"},
        Bad{"NoIndex", kReal + "3 3 1\nx 2 1\n", ":3: 'x 2 1' must be a row, a column and a value"},
        Bad{"IndexWithPoint", kReal + "3 3 1\n1.0 2 1\n", ":3: '1.0 2 1' must be a row, a column and a value"},
        Bad{"MissingValue", kReal + "3 3 1\n1 2\n", ":3: '1 2' must be a row, a column and a value"},
        Bad{"MoreValues", kReal + "3 3 1\n1 2 3 4\n", ":3: '1 2 3 4' must be"},
        Bad{"LongLine", kReal + "3 3 1\n" + std::string(5000, '7') + "\n", "7...' must be"},
        Bad{"ValueOfPattern", "%%MatrixMarket matrix coordinate pattern general\n3 3 1\n1 2 3\n", ":3: '1 2 3' must be a row and a column"},
        Bad{"IntegerWithPoint", "%%MatrixMarket matrix coordinate integer general\n3 3 1\n1 2 3.5\n", "'1 2 3.5' is no whole number"},
        Bad{"Truncated", kReal + "3 3 3\n1 1 1\n2 2 2\n", "ends after 2 of the 3 entries that line 2 tells of"},
        Bad{"TooMany", kReal + "3 3 1\n1 1 1\n2 2 2\n", ":4: here is one more than the 1 entries that line 2 tells of"},
        Bad{"AboveDiagonal", kSymmetric + "3 3 1\n1 2 1\n", ":3: row 1, column 2 is above the diagonal"},
        Bad{"SkewDiagonal", "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 1\n2 2 1\n",
            ":3: a skew-symmetric matrix has nothing"}),
    [](const auto& bad) { return bad.param.name; });

TEST(Market, FileThatIsNotThereIsNamed) {
  for (const std::string path : {"/proc/none/a.mtx", "/"}) {
    try {
      (void)read_market(path);
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(std::string(e.what()).rfind("matrix " + path + " cannot be read: ", 0), 0U) << e.what();
    }
  }
}

TEST(CutRows, ProcessesHaveAboutAsManyNonzerosAndARowAtLeast) {
  EXPECT_EQ(cut_rows({0, 1, 2, 3, 4}, 2), (std::vector<long>{0, 2, 4}));
  EXPECT_EQ(cut_rows({0, 10, 11, 12, 13, 14}, 2), (std::vector<long>{0, 1, 5}));
  EXPECT_EQ(cut_rows({0, 0, 0, 0, 90}, 3), (std::vector<long>{0, 2, 3, 4}));
  EXPECT_EQ(cut_rows({0, 90, 90, 90}, 3), (std::vector<long>{0, 1, 2, 3}));
  EXPECT_EQ(cut_rows({0, 0, 0}, 2), (std::vector<long>{0, 1, 2}));
  EXPECT_THROW((void)cut_rows({0, 1, 2}, 3), Error);
}

}  // namespace
}  // namespace plait::spmv
