// Files that all processes write and read together (MPI-IO): fields for viewers, and checkpoints.
#pragma once

#include <string>

#include "simulation.hpp"

namespace plait::lbm {

/// Makes the folder if it is not there and sees that it can be written to. Collective; reports.
void prepare_folder(const std::string& folder, MPI_Comm comm);

/// Writes density, velocity (32-bit floats) and solid (bytes) of every site as cells of a VTK image (.vti,
/// binary, for ParaView and others). Collective; settles; reports.
void write_fields(Simulation& simulation, const std::string& path);

/// Writes the whole state. The file appears under its name only when it is complete, in place of the one
/// before: a crash never loses both. Collective; settles; reports.
void write_checkpoint(Simulation& simulation, const std::string& path);

/// Goes on from a checkpoint, on any number of processes: the same bits as without the stop. Refuses one of
/// another lattice or geometry, one cut short and one that is damaged. Collective; reports.
void read_checkpoint(Simulation& simulation, const std::string& path);

}  // namespace plait::lbm
