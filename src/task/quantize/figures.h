// What running a network costs and gives: the columns of the table before and after quantisation.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "data/samples.h"
#include "task/infer.h"

namespace evener::task {

struct RunFigures {
  std::int64_t images = 0;  // that were answered
  std::int64_t labelled = 0, correct = 0;
  std::vector<std::int32_t> classes;    // found, of each sample in order; -1 = it could not be read
  std::vector<double> rates;            // images per second of the network alone, of blocks of calls
  std::vector<double> latencies_s;      // of calls with one image, one after the other
  std::uint64_t memory_bytes = 0;       // that the process took more at its peak than before the network was there
  std::map<std::string, int> executed;  // engine::Runner::executed
};

/// Shows the samples to the network, and measures its speed for about `seconds` each way. In a child process, so that
/// its memory is its own and no library stays behind. Throws as InferJob does, as Error.
RunFigures measure_run(const InferenceModel& model, const data::Samples& samples, const InferOptions& options,
                       double seconds);

/// How many layers were computed in 8 bits, and how many altogether, by what `executed` says of convolutions and matrix
/// products.
struct Int8Layers {
  int int8 = 0, all = 0;
};
Int8Layers int8_layers(const std::map<std::string, int>& executed);

}  // namespace evener::task
