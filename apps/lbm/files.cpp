#include "files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include "error.hpp"

namespace plait::lbm {
namespace {

[[nodiscard]] std::string mpi_message(int code) {
  char text[MPI_MAX_ERROR_STRING]{};
  int length = 0;
  MPI_Error_string(code, text, &length);
  std::string line(text, static_cast<std::size_t>(length));
  return line.substr(0, line.find('\n'));
}

/// An MPI file, closed at the end. Errors are Error, to be thrown inside collectively().
class File {
 public:
  File(const std::string& path, int mode, MPI_Comm comm) : path_(path) {
    need(MPI_File_open(comm, path.c_str(), mode, MPI_INFO_NULL, &file_), "opened");
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (file_ != MPI_FILE_NULL) MPI_File_close(&file_);
  }
  void view(MPI_Offset at, MPI_Datatype element, MPI_Datatype type) {
    need(MPI_File_set_view(file_, at, element, type, "native", MPI_INFO_NULL), "written");
  }
  void write_at(MPI_Offset at, const void* data, int bytes) {
    need(MPI_File_write_at(file_, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "written");
  }
  void read_at(MPI_Offset at, void* data, int bytes) {
    need(MPI_File_read_at(file_, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE), "read");
  }
  void write_all(const void* data, int count, MPI_Datatype element) {
    need(MPI_File_write_all(file_, data, count, element, MPI_STATUS_IGNORE), "written");
  }
  void read_all(void* data, int count, MPI_Datatype element) {
    need(MPI_File_read_all(file_, data, count, element, MPI_STATUS_IGNORE), "read");
  }
  void finish() {
    need(MPI_File_sync(file_), "written");
    need(MPI_File_close(&file_), "closed");
  }

 private:
  void need(int code, const char* done) const {
    if (code != MPI_SUCCESS) throw Error(fmt::format("{} cannot be {}: {}", path_, done, mpi_message(code)));
  }
  std::string path_;
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

[[nodiscard]] int rank_of(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

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

/// The name under which a file is written until it is complete; nothing is there. (Opening an old file and shortening it
/// with MPI_File_set_size lost what the first process wrote next, now and then: Intel MPI 2021.19 shortens it
/// on every process, and the last one may be late.) Collective.
[[nodiscard]] std::string partial_name(const std::string& path, MPI_Comm comm) {
  std::string partial = path + ".partial";
  collectively(comm, [&] {
    if (rank_of(comm) != 0 || unlink(partial.c_str()) == 0 || errno == ENOENT) return;
    throw Error(fmt::format("{} cannot be replaced: {}", partial, std::strerror(errno)));
  });
  return partial;
}

/// Puts a finished file in the place of the one before, so that one of them is always there whole.
void replace(const std::string& from, const std::string& to, MPI_Comm comm) {
  collectively(comm, [&] {
    if (rank_of(comm) != 0) return;
    if (std::rename(from.c_str(), to.c_str()) != 0) {
      throw Error(fmt::format("{} cannot be renamed to {}: {}", from, to, std::strerror(errno)));
    }
    const std::string folder = std::filesystem::path(to).parent_path().string();
    const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return;  // the name reaches the disk a little later
    fsync(fd);
    close(fd);
  });
}

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
  char magic[24] = "plait-lbm checkpoint 1\n";
  std::uint64_t order = 0x0102030405060708ULL;  // tells the byte order
  std::int64_t size[3]{};
  std::int64_t step = 0;
  std::uint64_t geometry = 0;
  Digest digest{};
};
constexpr long long kCheckpointData = 4096;

}  // namespace

void prepare_folder(const std::string& folder, MPI_Comm comm) {
  collectively(comm, [&] {
    if (rank_of(comm) != 0) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string probe = (std::filesystem::path(folder) / fmt::format(".plait-{}", getpid())).string();
    const int fd = error ? -1 : open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
      throw Error(fmt::format("output folder {} cannot be written to: {}; choose another with --output", folder,
                              error ? error.message() : std::strerror(errno)));
    }
    close(fd);
    unlink(probe.c_str());
  });
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
  const std::string partial = partial_name(path, s.comm());
  const auto count = static_cast<std::size_t>(sites(box.size));
  collectively(s.comm(), [&] {
    std::vector<float> density(count, 0), velocity(3 * count, 0);
    std::vector<std::uint8_t> solid(count, 1);
    for_each_site(box, [&](std::size_t at, int x, int y, int z) {
      if (!s.lattice().fluid(x, y, z)) return;
      const Moments m = s.site(x, y, z);
      solid[at] = 0;
      density[at] = static_cast<float>(m.density);
      for (int d = 0; d < 3; ++d) velocity[3 * at + static_cast<std::size_t>(d)] = static_cast<float>(m.velocity[d]);
    });
    const void* values[kFields] = {density.data(), velocity.data(), solid.data()};
    File file(partial, MPI_MODE_CREATE | MPI_MODE_WRONLY, s.comm());
    if (rank_of(s.comm()) == 0) {
      file.write_at(0, header.data(), static_cast<int>(header.size()));
      for (int f = 0; f < kFields; ++f) {
        const std::uint64_t bytes = static_cast<std::uint64_t>(all) * fields[f].bytes;
        file.write_at(data + offsets[f], &bytes, 8);
      }
      file.write_at(data + offsets[kFields - 1] + 8 + all, footer.data(), static_cast<int>(footer.size()));
    }
    for (int f = 0; f < kFields; ++f) {
      const BoxType type(box, fields[f].number, fields[f].components);
      file.view(data + offsets[f] + 8, type.site(), type.box());
      file.write_all(values[f], static_cast<int>(count), type.site());
    }
    file.finish();
  });
  replace(partial, path, s.comm());
}

void write_checkpoint(Simulation& s, const std::string& path) {
  const Subdomain& box = s.box();
  CheckpointHeader header;
  for (int d = 0; d < 3; ++d) header.size[d] = box.global[d];
  header.step = s.step();
  header.geometry = s.geometry_digest();
  header.digest = s.digest();  // settles
  const std::string partial = partial_name(path, s.comm());
  collectively(s.comm(), [&] {
    std::vector<double> values(static_cast<std::size_t>(sites(box.size)));
    const BoxType type(box, MPI_DOUBLE, 1);
    File file(partial, MPI_MODE_CREATE | MPI_MODE_WRONLY, s.comm());
    if (rank_of(s.comm()) == 0) file.write_at(0, &header, sizeof header);
    for (int i = 0; i < kVelocities; ++i) {
      for_each_site(box,
                    [&](std::size_t at, int x, int y, int z) { values[at] = s.lattice().fluid(x, y, z) ? s.population(i, x, y, z) : 0; });
      file.view(kCheckpointData + 8 * i * sites(box.global), MPI_DOUBLE, type.box());
      file.write_all(values.data(), static_cast<int>(values.size()), MPI_DOUBLE);
    }
    file.finish();
  });
  replace(partial, path, s.comm());
}

namespace {

/// Process 0 looks at the header; what is wrong with it is an Error there.
CheckpointHeader look_at(const Simulation& s, const std::string& path, std::uint64_t geometry) {
  CheckpointHeader header;
  const CheckpointHeader right;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) throw Error(fmt::format("checkpoint {} cannot be opened: {}", path, std::strerror(errno)));
  const auto got = read(fd, &header, sizeof header);
  close(fd);
  if (got < static_cast<ssize_t>(sizeof header) || std::memcmp(header.magic, right.magic, sizeof right.magic) != 0) {
    throw Error(fmt::format("{} is not a checkpoint of plait-lbm", path));
  }
  if (header.order != right.order) throw Error(fmt::format("checkpoint {} is from a machine of another byte order", path));
  const Int3& n = s.box().global;
  if (header.size[0] != n[0] || header.size[1] != n[1] || header.size[2] != n[2]) {
    throw Error(fmt::format("checkpoint {} is of a lattice of {}x{}x{}, the deck's is {}x{}x{}", path, header.size[0], header.size[1],
                            header.size[2], n[0], n[1], n[2]));
  }
  const auto need = static_cast<std::uintmax_t>(kCheckpointData + 8 * kVelocities * sites(n));
  const auto have = std::filesystem::file_size(path);
  if (have < need) throw Error(fmt::format("checkpoint {} is cut short: {} of {} bytes", path, have, need));
  if (header.geometry != geometry) throw Error(fmt::format("checkpoint {} is of another geometry than the deck's", path));
  return header;
}

}  // namespace

void read_checkpoint(Simulation& s, const std::string& path) {
  const Subdomain& box = s.box();
  const std::uint64_t geometry = s.geometry_digest();
  CheckpointHeader header;
  collectively(s.comm(), [&] {
    if (rank_of(s.comm()) == 0) header = look_at(s, path, geometry);
  });
  MPI_Bcast(&header, sizeof header, MPI_BYTE, 0, s.comm());
  collectively(s.comm(), [&] {
    const auto count = static_cast<std::size_t>(sites(box.size));
    std::vector<double> values(count);
    const BoxType type(box, MPI_DOUBLE, 1);
    File file(path, MPI_MODE_RDONLY, s.comm());
    for (int i = 0; i < kVelocities; ++i) {
      file.view(kCheckpointData + 8 * i * sites(box.global), MPI_DOUBLE, type.box());
      file.read_all(values.data(), static_cast<int>(count), MPI_DOUBLE);
      s.restore(header.step, i, values);
    }
  });
  const Digest digest = s.digest();
  collectively(s.comm(), [&] {
    if (rank_of(s.comm()) == 0 && digest != header.digest) {
      throw Error(fmt::format("checkpoint {} is damaged: its content does not match its digest", path));
    }
  });
}

}  // namespace plait::lbm
