// The grammar of --on: which devices compute, as how many replicas, in which pipeline stages.
//   placement := "auto" | replica ("+" replica)*     replica := [N "x"] stage (".." stage)*
//   stage := device ["/t" THREADS] ["@" F]           device := cpu | cuda[:K] | cuda:all | opencl[:K] | intel[:K] | npu
// make_plan() (placement/plan.h) resolves a placement on a given machine.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/error.h"

namespace evener::placement {

struct Stage {
  DeviceKind kind = DeviceKind::kCpu;
  std::optional<int> index;      // of "cuda:1"; absent = 0, or counted up over the replicas of "N x"
  bool all = false;              // cuda:all
  std::optional<int> threads;    // of "/t8"
  std::optional<double> factor;  // of "@0.5": emulates a device of that fraction of its speed
  std::size_t column = 0;        // its place in the text, from 0
};

/// `count` replicas, each of which is this chain of stages.
struct ReplicaGroup {
  int count = 1;
  std::vector<Stage> stages;
  std::size_t column = 0;
};

struct Placement {
  std::string text;        // as given
  bool automatic = false;  // "auto"; then there are no replicas
  std::vector<ReplicaGroup> replicas;
};

/// Limits that catch typing errors; no machine comes near them.
constexpr int kMostReplicas = 1024;
constexpr int kMostThreads = 4096;
constexpr int kMostDevices = 1024;

/// Parses the argument of --on. Throws a UsageError that shows the text and points at the wrong character.
Placement parse(const std::string& text);

/// The text in its shortest form: "1xcuda+cpu/t02" becomes "cuda+cpu/t2".
std::string to_text(const Placement& placement);

/// A UsageError of three lines: what is wrong, the text, and '^' below the character at `column`.
UsageError placement_error(const std::string& text, std::size_t column, const std::string& summary,
                           const std::string& reason);

}  // namespace evener::placement
