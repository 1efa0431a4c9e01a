// Files that all processes write and read together (MPI-IO): fields for viewers, and checkpoints.
#pragma once

#include <string>

#include "simulation.hpp"

namespace plait::lbm {

/// Makes the folder if it is not there and sees that it can be written to; `option` is the one that names another. Collective;
/// reports.
void prepare_folder(const std::string& folder, const std::string& option, MPI_Comm comm);

/// Keeps other runs from writing files of the same names, for as long as it lives. A run that was ended leaves nothing that
/// would stop the next. Where the file system has no locks, nothing is kept.
class FolderLock {
 public:
  /// `stem` is what the files' names begin with. Collective; reports.
  FolderLock(const std::string& stem, MPI_Comm comm);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  [[nodiscard]] bool locked();
  std::string path_;
  int file_ = -1;  ///< on process 0
};

/// Writes density, velocity (32-bit floats) and solid (bytes) of every site as cells of a VTK image (.vti,
/// binary, for ParaView and others). Collective; settles; reports.
void write_fields(Simulation& simulation, const std::string& path);

/// Writes the whole state. The file appears under its name only when it is complete, in place of the one
/// before: a crash, or a full disk, never loses both. Collective; settles; reports.
void write_checkpoint(Simulation& simulation, const std::string& path);

/// Goes on from a checkpoint, on any number of processes: the same bits as without the stop. Refuses one of
/// another lattice, geometry or fluid, one cut short and one that is damaged. Collective; reports.
void read_checkpoint(Simulation& simulation, const std::string& path);

}  // namespace plait::lbm
