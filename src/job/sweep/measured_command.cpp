#include "job/sweep/measured_command.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/names.h"
#include "job/detect/detection.h"
#include "job/faces/faces_flags.h"
#include "job/infer/inference.h"
#include "job/matmul/matmul_job.h"
#include "job/options/placement_flags.h"
#include "job/quantize/quantization.h"
#include "job/train/train_flags.h"
#include "placement/placement.h"

namespace evener::job {
namespace {

/// A command whose options need no completing.
template <typename Flags>
MeasuredCommand plain_command(const char* name) {
  const auto flags = std::make_shared<Flags>();
  return {.name = name, .options = flags->options(), .complete = [flags] {}, .check = [] {}};
}

template <typename Flags>
MeasuredCommand completed_command(const char* name) {
  const auto flags = std::make_shared<Flags>();
  return {.name = name, .options = flags->options(), .complete = [flags] { complete(*flags); }, .check = [] {}};
}

MeasuredCommand train_measured() {
  const auto flags = std::make_shared<TrainFlags>();
  return {.name = "train",
          .options = flags->options(),
          .complete = [flags] { complete(*flags); },
          .check = [flags] { check_placement(*flags); }};
}

const std::vector<std::pair<std::string, std::function<MeasuredCommand()>>>& measured_commands() {
  static const std::vector<std::pair<std::string, std::function<MeasuredCommand()>>> commands = {
      {"train", train_measured},
      {"infer", [] { return completed_command<InferCommandFlags>("infer"); }},
      {"faces", [] { return plain_command<FacesCommandFlags>("faces"); }},
      {"detect", [] { return plain_command<DetectFlags>("detect"); }},
      {"quantize", [] { return completed_command<QuantizeFlags>("quantize"); }},
      {"matmul", [] { return plain_command<MatmulFlags>("matmul"); }}};
  return commands;
}

}  // namespace

MeasuredCommand measured_command(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [of, make] : measured_commands()) {
    if (of == name) return make();
    known.push_back(of);
  }
  const std::string nearest = nearest_name(name, known);
  throw UsageError(fmt::format("'{}' is no command that leaves a record of what it measured; a sweep runs {}{}{}",
                               printable(name), fmt::join(known, ", "),
                               nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest),
                               name.ends_with(".toml") ? "; no such file is here" : ""));
}

}  // namespace evener::job
