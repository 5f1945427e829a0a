// Data that a command reads all of.
#pragma once

#include "base/cpu.h"
#include "job/options/data_flags.h"

namespace evener::job {

struct WholeSourceFlags : SourceFlags {
  using SourceFlags::SourceFlags;

  Option<std::optional<int>> threads{
      *this, {"--threads", "N", "Threads that decode (default: all cores)"}, {}, {.range = from_to(1, 4096)}};

  data::DataOptions whole_data_options() const {
    data::DataOptions options = data_options();
    options.threads = threads->value_or(usable_cores());
    return options;
  }
};

}  // namespace evener::job
