// What a run leaves out because the user asked for it: for a library that lacks it still. That no wildcard is used is promised by hints.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace random_p2p {

enum class Feature : std::uint8_t {
  isendrecv,
  sendrecv,
  persistent,
  buffered,
  synchronous,
  ready,
  probe,
  matched,
  cancel,
  nobody,      ///< MPI_PROC_NULL
  free,        ///< MPI_Request_free of an active send
  get_status,  ///< MPI_Request_get_status
  derived,     ///< datatypes other than bytes, ints and doubles
  wildcard,    ///< any source
  any_tag,     ///< receives of any tag
  multiplex,
  ordinary,  ///< messages on ordinary communicators
  progress,  ///< waits for what was started on a stream while blocked in the MPI
};
constexpr std::array<std::string_view, 18> feature_names = {"isendrecv", "sendrecv", "persistent", "buffered",  "synchronous", "ready",
                                                            "probe",     "matched",  "cancel",     "nobody",    "free",        "get_status",
                                                            "derived",   "wildcard", "any_tag",    "multiplex", "ordinary",    "progress"};

class Features {
 public:
  /// A comma-separated list; false if a name is unknown.
  bool leave_out(std::string_view list) {
    while (!list.empty()) {
      const std::size_t comma = list.find(',');
      const std::string_view name = list.substr(0, comma);
      list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
      std::size_t f = 0;
      while (f < feature_names.size() && feature_names[f] != name) ++f;
      if (f == feature_names.size()) return false;
      without_ |= 1U << f;
    }
    return true;
  }
  [[nodiscard]] bool has(Feature f) const { return (without_ >> static_cast<unsigned>(f) & 1U) == 0; }

 private:
  std::uint32_t without_ = 0;
};

}  // namespace random_p2p
