#include "files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>

#include "error.hpp"
#include "ranks.hpp"

namespace plait::lbm {
namespace {

[[nodiscard]] std::string mpi_message(int code) {
  char text[MPI_MAX_ERROR_STRING]{};
  int length = 0;
  MPI_Error_string(code, text, &length);
  const std::string line(text, static_cast<std::size_t>(length));
  return line.substr(0, line.find_first_of(",\n"));
}

/// An MPI file. All processes agree after each collective call whether it went well: one that left alone would be waited for in the
/// next call. A file that failed is not closed, and the program ends soon: Open MPI 5.0.11 hangs in closing where a write failed on
/// one process, and one that only some have open cannot be closed, which is collective.
class File {
 public:
  /// Collective; reports.
  File(const std::string& path, int mode, MPI_Comm comm) : path_(path), comm_(comm) {
    agree(MPI_File_open(comm, path.c_str(), mode, MPI_INFO_NULL, &file_), "opened");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// By any process. What fails is reported by the next collective call.
  void write_at(MPI_Offset at, const void* data, int bytes) {
    keep(MPI_File_write_at(file_, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "written");
  }
  // Collective; these report.
  void view(MPI_Offset at, MPI_Datatype element, MPI_Datatype type) {
    agree(MPI_File_set_view(file_, at, element, type, "native", MPI_INFO_NULL), "laid out");
  }
  void write_all(const void* data, int count, MPI_Datatype element) {
    agree(MPI_File_write_all(file_, data, count, element, MPI_STATUS_IGNORE), "written");
  }
  void read_all(void* data, int count, MPI_Datatype element) {
    agree(MPI_File_read_all(file_, data, count, element, MPI_STATUS_IGNORE), "read");
  }
  /// Closes; sees that all is on the disk if something was written.
  void finish(bool written) {
    if (written) agree(MPI_File_sync(file_), "written");
    agree(MPI_File_close(&file_), "closed");
  }

 private:
  void keep(int code, const char* done) {
    if (code != MPI_SUCCESS && problem_.empty()) problem_ = fmt::format("{} cannot be {}: {}", path_, done, mpi_message(code));
  }
  void agree(int code, const char* done) {
    keep(code, done);
    collectively(comm_, [&] {
      if (!problem_.empty()) throw Error(problem_);
    });
  }
  std::string path_, problem_;
  MPI_Comm comm_;
  MPI_File file_ = MPI_FILE_NULL;
};

/// This process's box within the whole lattice, with `components` numbers of one type at each site.
class BoxType {
 public:
  BoxType(const Subdomain& box, MPI_Datatype number, int components) {
    MPI_Type_contiguous(components, number, &site_);
    const int whole[3] = {box.global[2], box.global[1], box.global[0]};
    const int mine[3] = {box.size[2], box.size[1], box.size[0]};
    const int at[3] = {box.offset[2], box.offset[1], box.offset[0]};
    MPI_Type_create_subarray(3, whole, mine, at, MPI_ORDER_C, site_, &type_);
    MPI_Type_commit(&site_);
    MPI_Type_commit(&type_);
  }
  BoxType(const BoxType&) = delete;
  BoxType& operator=(const BoxType&) = delete;
  ~BoxType() {
    MPI_Type_free(&type_);
    MPI_Type_free(&site_);
  }
  [[nodiscard]] MPI_Datatype site() const { return site_; }
  [[nodiscard]] MPI_Datatype box() const { return type_; }

 private:
  MPI_Datatype site_ = MPI_DATATYPE_NULL, type_ = MPI_DATATYPE_NULL;
};

[[nodiscard]] long long sites(const Int3& size) { return 1LL * size[0] * size[1] * size[2]; }

template <class Work>
void for_each_site(const Subdomain& box, Work&& work) {
  std::size_t at = 0;
  for (int z = 0; z < box.size[2]; ++z) {
    for (int y = 0; y < box.size[1]; ++y) {
      for (int x = 0; x < box.size[0]; ++x, ++at) work(at, x, y, z);
    }
  }
}

/// Takes the room on the disk for all the file, so that a full one is met here, by one process, and not by some in the midst of
/// a collective call. Returns errno; 0 also where the file system cannot do this, and the writing will tell.
[[nodiscard]] int reserve(int fd, long long bytes) {
  int code = 0;
  do {
    code = fallocate(fd, 0, 0, bytes) == 0 ? 0 : errno;
  } while (code == EINTR);
  return code == EOPNOTSUPP || code == ENOSYS ? 0 : code;
}

/// A file under construction. Until it is complete it has another name, and then it takes the place of the one before, so that
/// one of them is always there whole; if that does not come to pass, it is removed. All calls are collective and report.
class NewFile {
 public:
  NewFile(const std::string& path, long long bytes, MPI_Comm comm) : path_(path), partial_(path + ".partial"), comm_(comm) {
    // Opening an old file and shortening it with MPI_File_set_size lost what the first process wrote next, now and then: Intel MPI
    // 2021.19 shortens it on every process, and the last one may be late.
    collectively(comm, [&] {
      if (rank_of(comm) != 0) return;
      if (unlink(partial_.c_str()) != 0 && errno != ENOENT) {
        throw Error(fmt::format("{} cannot be replaced: {}", partial_, std::strerror(errno)));
      }
      const int fd = open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (fd < 0) throw Error(fmt::format("{} cannot be written: {}", partial_, std::strerror(errno)));
      mine_ = true;
      const int code = reserve(fd, bytes);
      close(fd);
      if (code == 0) return;
      remove();  // the destructor is not called
      throw Error(fmt::format("{} cannot be written: {}; it takes {} bytes", path_, std::strerror(code), bytes));
    });
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() { remove(); }

  [[nodiscard]] const std::string& partial() const { return partial_; }

  void put_in_place() {
    collectively(comm_, [&] {
      if (!mine_) return;
      if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
        throw Error(fmt::format("{} cannot be renamed to {}: {}", partial_, path_, std::strerror(errno)));
      }
      mine_ = false;
      const std::string folder = std::filesystem::path(path_).parent_path().string();
      const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (fd < 0) return;  // the name reaches the disk a little later
      fsync(fd);
      close(fd);
    });
  }

 private:
  void remove() {
    if (mine_) unlink(partial_.c_str());
    mine_ = false;
  }
  std::string path_, partial_;
  MPI_Comm comm_;
  bool mine_ = false;  // this process removes it
};

/// One array of a .vti file's appended data: a length in 8 bytes, then the sites, x fastest.
struct Field {
  const char* xml;
  MPI_Datatype number;
  int components, bytes;
};

constexpr int kFields = 3;

std::string vti_header(const Int3& n, const Field (&fields)[kFields], const long long (&offsets)[kFields]) {
  std::string extent = fmt::format("0 {} 0 {} 0 {}", n[0], n[1], n[2]);
  std::string h = fmt::format(
      "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n"
      "<ImageData WholeExtent=\"{0}\" Origin=\"0 0 0\" Spacing=\"1 1 1\">\n<Piece Extent=\"{0}\">\n"
      "<CellData Scalars=\"density\" Vectors=\"velocity\">\n",
      extent);
  for (int f = 0; f < kFields; ++f) {
    h += fmt::format("<DataArray {} format=\"appended\" offset=\"{}\"/>\n", fields[f].xml, offsets[f]);
  }
  return h + "</CellData>\n</Piece>\n</ImageData>\n<AppendedData encoding=\"raw\">\n_";
}

// A checkpoint: this header, then 19 arrays of doubles (population i of every site, x fastest; 0 in walls).
struct CheckpointHeader {
  char magic[24] = "plait-lbm checkpoint 2\n";
  std::uint64_t order = 0x0102030405060708ULL;  // tells the byte order
  std::int64_t size[3]{};
  std::int64_t step = 0;
  double viscosity = 0;
  double force[3]{};
  double walls[3][2][4]{};  // 1 where there is one, then its velocity
  std::uint64_t geometry = 0;
  Digest digest{};          // of the populations
  std::uint64_t check = 0;  // of all before it
};
static_assert(sizeof(CheckpointHeader) == 24 + 8 * (1 + 3 + 1 + 1 + 3 + 24 + 1 + 2 + 1), "no padding, which a check could not tell");
constexpr long long kCheckpointData = 4096;

[[nodiscard]] std::uint64_t check_of(const CheckpointHeader& header) {
  std::uint64_t words[offsetof(CheckpointHeader, check) / 8], sum = 0;
  std::memcpy(words, &header, sizeof words);
  for (const std::uint64_t w : words) sum = mix(sum + w);
  return sum;
}

/// What a checkpoint of this state says, but for the digest.
[[nodiscard]] CheckpointHeader header_of(const Simulation& s) {
  CheckpointHeader h;
  for (int d = 0; d < 3; ++d) {
    h.size[d] = s.box().global[d];
    h.force[d] = s.fluid().force[d];
    for (int side = 0; side < 2 && !s.deck().periodic(d); ++side) {
      h.walls[d][side][0] = 1;
      for (int k = 0; k < 3; ++k) h.walls[d][side][k + 1] = (*s.deck().walls[d][side])[k];
    }
  }
  h.step = s.step();
  h.viscosity = s.fluid().viscosity;
  h.geometry = s.geometry_digest();
  return h;
}

}  // namespace

void prepare_folder(const std::string& folder, const std::string& option, MPI_Comm comm) {
  collectively(comm, [&] {
    if (rank_of(comm) != 0) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string probe = (std::filesystem::path(folder) / fmt::format(".plait-{}", getpid())).string();
    const int fd = error ? -1 : open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
      throw Error(fmt::format("output folder {} cannot be written to: {}; choose another with {}", folder,
                              error ? error.message() : std::strerror(errno), option));
    }
    close(fd);
    unlink(probe.c_str());
  });
}

FolderLock::FolderLock(const std::string& stem, MPI_Comm comm) : path_(stem + ".lock") {
  collectively(comm, [&] {
    if (rank_of(comm) != 0) return;
    while (!locked()) {
    }
  });
}

/// One try. False if the file was removed, by the run that had it, before we had its lock.
bool FolderLock::locked() {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file_ < 0) throw Error(fmt::format("{} cannot be written: {}", path_, std::strerror(errno)));
  const int code = flock(file_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
  if (code == EWOULDBLOCK) {
    close(file_);
    file_ = -1;
    throw Error(fmt::format("another run writes here ({}): wait for its end, or choose another folder with --output", path_));
  }
  if (code != 0) return true;  // a file system without locks
  struct stat ours{}, there{};
  if (fstat(file_, &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_ino == there.st_ino && ours.st_dev == there.st_dev)
    return true;
  close(file_);
  file_ = -1;
  return false;
}

FolderLock::~FolderLock() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
}

void write_fields(Simulation& s, const std::string& path) {
  s.settle();
  static const Field fields[kFields] = {{"type=\"Float32\" Name=\"density\"", MPI_FLOAT, 1, 4},
                                        {"type=\"Float32\" Name=\"velocity\" NumberOfComponents=\"3\"", MPI_FLOAT, 3, 12},
                                        {"type=\"UInt8\" Name=\"solid\"", MPI_BYTE, 1, 1}};
  const Subdomain& box = s.box();
  const long long all = sites(box.global);
  long long offsets[kFields]{};
  for (int f = 1; f < kFields; ++f) offsets[f] = offsets[f - 1] + 8 + all * fields[f - 1].bytes;
  const std::string header = vti_header(box.global, fields, offsets);
  const std::string footer = "\n</AppendedData>\n</VTKFile>\n";
  const auto data = static_cast<long long>(header.size());
  const auto count = static_cast<std::size_t>(sites(box.size));
  std::vector<float> density, velocity;
  std::vector<std::uint8_t> solid;
  collectively(s.comm(), [&] {
    density.assign(count, 0);
    velocity.assign(3 * count, 0);
    solid.assign(count, 1);
  });
  for_each_site(box, [&](std::size_t at, int x, int y, int z) {
    if (!s.lattice().fluid(x, y, z)) return;
    const Moments m = s.site(x, y, z);
    solid[at] = 0;
    density[at] = static_cast<float>(m.density);
    for (int d = 0; d < 3; ++d) velocity[3 * at + static_cast<std::size_t>(d)] = static_cast<float>(m.velocity[d]);
  });
  const void* values[kFields] = {density.data(), velocity.data(), solid.data()};
  const long long end = data + offsets[kFields - 1] + 8 + all;
  NewFile made(path, end + static_cast<long long>(footer.size()), s.comm());
  File file(made.partial(), MPI_MODE_WRONLY, s.comm());
  if (rank_of(s.comm()) == 0) {
    file.write_at(0, header.data(), static_cast<int>(header.size()));
    for (int f = 0; f < kFields; ++f) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(all) * fields[f].bytes;
      file.write_at(data + offsets[f], &bytes, 8);
    }
    file.write_at(end, footer.data(), static_cast<int>(footer.size()));
  }
  for (int f = 0; f < kFields; ++f) {
    const BoxType type(box, fields[f].number, fields[f].components);
    file.view(data + offsets[f] + 8, type.site(), type.box());
    file.write_all(values[f], static_cast<int>(count), type.site());
  }
  file.finish(true);
  made.put_in_place();
}

void write_checkpoint(Simulation& s, const std::string& path) {
  const Subdomain& box = s.box();
  CheckpointHeader header = header_of(s);
  header.digest = s.digest();  // settles
  header.check = check_of(header);
  std::vector<double> values;
  collectively(s.comm(), [&] { values.resize(static_cast<std::size_t>(sites(box.size))); });
  const BoxType type(box, MPI_DOUBLE, 1);
  NewFile made(path, kCheckpointData + 8 * kVelocities * sites(box.global), s.comm());
  File file(made.partial(), MPI_MODE_WRONLY, s.comm());
  if (rank_of(s.comm()) == 0) file.write_at(0, &header, sizeof header);
  for (int i = 0; i < kVelocities; ++i) {
    for_each_site(box,
                  [&](std::size_t at, int x, int y, int z) { values[at] = s.lattice().fluid(x, y, z) ? s.population(i, x, y, z) : 0; });
    file.view(kCheckpointData + 8 * i * sites(box.global), MPI_DOUBLE, type.box());
    file.write_all(values.data(), static_cast<int>(values.size()), MPI_DOUBLE);
  }
  file.finish(true);
  made.put_in_place();
}

namespace {

/// Process 0 looks at the header; what is wrong with it is an Error there. `ours` is what the deck would have written.
CheckpointHeader look_at(const std::string& path, const CheckpointHeader& ours) {
  CheckpointHeader header;
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error)) {
    throw Error(fmt::format("{} is not a checkpoint, but a folder or a device", path));
  }
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(fmt::format("checkpoint {} cannot be opened: {}", path, std::strerror(errno)));
  const auto got = read(fd, &header, sizeof header);
  close(fd);
  constexpr std::size_t kName = sizeof "plait-lbm checkpoint " - 1;
  const bool ours_by_name = got >= static_cast<ssize_t>(kName) && std::memcmp(header.magic, ours.magic, kName) == 0;
  if (!ours_by_name || (got < static_cast<ssize_t>(sizeof header) && header.magic[kName] == ours.magic[kName])) {
    throw Error(fmt::format("{} is not a checkpoint of plait-lbm", path));
  }
  if (std::memcmp(header.magic, ours.magic, sizeof ours.magic) != 0) {
    throw Error(fmt::format("checkpoint {} is of another version of plait-lbm; this one reads its own only", path));
  }
  if (header.order != ours.order) throw Error(fmt::format("checkpoint {} is from a machine of another byte order", path));
  if (header.check != check_of(header) || header.step < 0)
    throw Error(fmt::format("checkpoint {} is damaged: its header is not what was written", path));
  if (!std::equal(header.size, header.size + 3, ours.size)) {
    throw Error(fmt::format("checkpoint {} is of a lattice of {}x{}x{}, the deck's is {}x{}x{}", path, header.size[0], header.size[1],
                            header.size[2], ours.size[0], ours.size[1], ours.size[2]));
  }
  const auto need = static_cast<std::uintmax_t>(kCheckpointData + 8 * kVelocities * header.size[0] * header.size[1] * header.size[2]);
  const auto have = std::filesystem::file_size(path);
  if (have < need) throw Error(fmt::format("checkpoint {} is cut short: {} of {} bytes", path, have, need));
  if (header.viscosity != ours.viscosity) {
    throw Error(fmt::format("checkpoint {} is of a viscosity of {}, the deck's is {}", path, header.viscosity, ours.viscosity));
  }
  if (!std::equal(header.force, header.force + 3, ours.force)) {
    throw Error(fmt::format("checkpoint {} is of a force of [{}, {}, {}], the deck's is [{}, {}, {}]", path, header.force[0],
                            header.force[1], header.force[2], ours.force[0], ours.force[1], ours.force[2]));
  }
  if (!std::equal(&header.walls[0][0][0], &header.walls[0][0][0] + 24, &ours.walls[0][0][0])) {
    throw Error(fmt::format("checkpoint {} is of other [walls] than the deck's", path));
  }
  if (header.geometry != ours.geometry) throw Error(fmt::format("checkpoint {} is of another geometry than the deck's", path));
  return header;
}

}  // namespace

void read_checkpoint(Simulation& s, const std::string& path) {
  const Subdomain& box = s.box();
  CheckpointHeader header = header_of(s);
  collectively(s.comm(), [&] {
    if (rank_of(s.comm()) == 0) header = look_at(path, header);
  });
  MPI_Bcast(&header, sizeof header, MPI_BYTE, 0, s.comm());
  const auto count = static_cast<std::size_t>(sites(box.size));
  std::vector<double> values;
  collectively(s.comm(), [&] { values.resize(count); });
  const BoxType type(box, MPI_DOUBLE, 1);
  File file(path, MPI_MODE_RDONLY, s.comm());
  for (int i = 0; i < kVelocities; ++i) {
    file.view(kCheckpointData + 8 * i * sites(box.global), MPI_DOUBLE, type.box());
    file.read_all(values.data(), static_cast<int>(count), MPI_DOUBLE);
    s.restore(header.step, i, values);
  }
  file.finish(false);
  const Digest digest = s.digest();
  collectively(s.comm(), [&] {
    if (rank_of(s.comm()) == 0 && digest != header.digest) {
      throw Error(fmt::format("checkpoint {} is damaged: its content does not match its digest", path));
    }
  });
}

}  // namespace plait::lbm
